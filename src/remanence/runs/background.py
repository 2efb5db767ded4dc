"""Runs that outlive whoever started them: recorded as they go, carried on after a crash, announced at the end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.event import RunFinished
from remanence.core.message import Message
from remanence.core.run import Run
from remanence.db.database import Database
from remanence.errors import AppError, BadArgument, Gone, LeaseLost
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId
from remanence.kit.worker import this_worker
from remanence.messages import repository as messages
from remanence.messages.frames import Translator
from remanence.messages.schemas import View
from remanence.messages.sending import SendRequest
from remanence.runs import repository
from remanence.runs.callback import Callbacks
from remanence.runs.event_log import EventLog
from remanence.runs.replay import how_it_ended
from remanence.runs.service import Sent, view_of, who_asked
from remanence.runs.streaming import PING_S
from remanence.runs.supervisor import Channel

log = logging.getLogger(__name__)


class Background:
    def __init__(self, db: Database, events: EventLog, callbacks: Callbacks, telling: set[RunId]) -> None:
        self._db = db
        self._events = events
        self._callbacks = callbacks
        self._telling = telling
        """Runs whose end is told here, so that nobody takes them over meanwhile."""
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, actor: Actor, sent: Sent, request: SendRequest, *, stored: Sequence[Message] = ()) -> None:
        """From now on the run is recorded, whoever listens. `stored` is what it had saved before."""
        self._start(self._record(actor, sent.run.id, sent.view, sent.channel, request, stored))

    async def conclude(self, found: repository.HeldRun) -> None:
        """Tells the end of a run that is over, and whose process died before it had."""
        claim = await self._db.write(repository.claim_run, found, this_worker())
        if claim is None:
            return
        actor, request = who_asked(claim)
        try:
            agent, stored, ending = await self._db.read(_what_is_known, actor, claim.run)
        except AppError as error:  # its agent was deleted, say
            log.warning("nobody is told how run %s ended: %s", found.id, error)
            await self._db.write(repository.dismiss, found.id)
            return
        channel = Channel()
        channel.put(ending)
        self._start(
            self._record(actor, found.id, view_of(agent, request, claim.run), channel, request, stored)
        )

    def _start(self, recording: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(recording)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=10)

    async def _record(
        self,
        actor: Actor,
        run_id: RunId,
        view: View,
        channel: Channel,
        request: SendRequest,
        stored: Sequence[Message],
    ) -> None:
        translator = Translator(
            run_id,
            view,
            mode="tokens" if request.stream_tokens else "steps",
            wanted_types=request.include_return_message_types,
        )
        self._telling.add(run_id)
        try:
            await self._events.record(
                run_id, channel, translator, has_pings=request.include_pings, stored=stored
            )
            await self._callbacks.send(actor, run_id)
        except LeaseLost:
            log.info("run %s goes on in another process", run_id)
        except Exception:
            log.exception("the stream of run %s could not be recorded", run_id)
        finally:
            self._telling.discard(run_id)

    async def follow(
        self, actor: Actor, run_id: str, *, after: int, has_pings: bool, ping_s: float = PING_S
    ) -> AsyncIterator[bytes]:
        """The stream of a run beyond a frame. Raises NotFound, BadArgument, Gone."""
        run = await self._db.read(repository.get_run, actor, run_id)
        _check_can_be_read(run)
        return self._events.follow(actor, RunId(run_id), after=after, has_pings=has_pings, ping_s=ping_s)


def _what_is_known(
    connection: Connection, actor: Actor, run: Run
) -> tuple[Agent, list[Message], RunFinished]:
    agent = agents.get_agent(connection, actor, run.agent_id)
    return agent, messages.list_run_messages(connection, run.id), how_it_ended(connection, run)


def _check_can_be_read(run: Run) -> None:
    if not run.background:
        raise BadArgument(f"Run {run.id} was not started in the background; only such streams are kept.")
    if run.completed_at is not None and utc_now() - run.completed_at > repository.OTID_KEPT:
        raise Gone(f"The stream of run {run.id} is no longer kept; its messages are.")
