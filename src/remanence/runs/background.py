"""Runs that outlive whoever started them: recorded as they go, carried on after a crash, announced at the end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from remanence.core.actor import Actor
from remanence.core.message import Message
from remanence.core.run import Run
from remanence.db.database import Database
from remanence.errors import BadArgument, Gone, LeaseLost
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId
from remanence.messages.frames import Translator
from remanence.messages.sending import SendRequest
from remanence.runs import repository
from remanence.runs.callback import Callbacks
from remanence.runs.event_log import EventLog
from remanence.runs.service import Sent
from remanence.runs.streaming import PING_S

log = logging.getLogger(__name__)


class Background:
    def __init__(self, db: Database, events: EventLog, callbacks: Callbacks) -> None:
        self._db = db
        self._events = events
        self._callbacks = callbacks
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, actor: Actor, sent: Sent, request: SendRequest, *, stored: Sequence[Message] = ()) -> None:
        """From now on the run is recorded, whoever listens. `stored` is what it had saved before."""
        task = asyncio.create_task(self._record(actor, sent, request, stored))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=10)

    async def _record(
        self, actor: Actor, sent: Sent, request: SendRequest, stored: Sequence[Message]
    ) -> None:
        translator = Translator(
            sent.run.id,
            sent.view,
            mode="tokens" if request.stream_tokens else "steps",
            wanted_types=request.include_return_message_types,
        )
        try:
            await self._events.record(
                sent.run.id, sent.channel, translator, has_pings=request.include_pings, stored=stored
            )
            await self._callbacks.send(actor, sent.run.id)
        except LeaseLost:
            log.info("run %s goes on in another process", sent.run.id)
        except Exception:
            log.exception("the stream of run %s could not be recorded", sent.run.id)

    async def follow(
        self, actor: Actor, run_id: str, *, after: int, has_pings: bool, ping_s: float = PING_S
    ) -> AsyncIterator[bytes]:
        """The stream of a run beyond a frame. Raises NotFound, BadArgument, Gone."""
        run = await self._db.read(repository.get_run, actor, run_id)
        _check_can_be_read(run)
        return self._events.follow(actor, RunId(run_id), after=after, has_pings=has_pings, ping_s=ping_s)


def _check_can_be_read(run: Run) -> None:
    if not run.background:
        raise BadArgument(f"Run {run.id} was not started in the background; only such streams are kept.")
    if run.completed_at is not None and utc_now() - run.completed_at > repository.OTID_KEPT:
        raise Gone(f"The stream of run {run.id} is no longer kept; its messages are.")
