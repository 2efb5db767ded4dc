"""How a group answers over HTTP: the runs of a round, one after the other, as one body or one stream."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection
from starlette.responses import Response

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.agent import Agent, StopReason
from remanence.core.event import RunFinished, RunUsage
from remanence.core.run import Run
from remanence.db.database import Database
from remanence.edge.responses import JsonBytes
from remanence.errors import AppError, Conflict, NotFound, ProviderCredits, ProviderError
from remanence.groups import repository
from remanence.groups.repository import Turn
from remanence.groups.rounds import Rounds
from remanence.kit.ids import RunId
from remanence.messages.frames import Collected, finish_frames, is_ending
from remanence.messages.schemas import Body, View
from remanence.messages.sending import SendRequest
from remanence.runs import repository as runs
from remanence.runs.background import Background
from remanence.runs.replay import replay
from remanence.runs.schemas import run_body
from remanence.runs.service import view_of
from remanence.runs.speaking import event_stream

_KINDS: dict[StopReason, type[AppError]] = {
    "llm_api_error": ProviderError,
    "invalid_llm_response": ProviderError,
    "insufficient_credits": ProviderCredits,
}


@dataclass(slots=True)
class _Ending:
    """How a round ended: as its last turn did, with what all of them used."""

    run_id: RunId
    finished: RunFinished = field(default_factory=lambda: RunFinished("error", RunUsage()))
    run_ids: tuple[RunId, ...] = ()

    def add(self, run: Run, finished: RunFinished) -> None:
        self.run_id = run.id
        self.run_ids = (*self.run_ids, run.id)
        summed = self.finished.usage.together(finished.usage)
        self.finished = replace(finished, usage=replace(summed, run_ids=self.run_ids))


class GroupSpeaker:
    def __init__(self, db: Database, rounds: Rounds, background: Background) -> None:
        self._db = db
        self._rounds = rounds
        self._background = background
        self._leaving: set[asyncio.Task[None]] = set()

    async def answer(self, actor: Actor, group_id: str, body: SendRequest) -> JsonBytes:
        """Waits for the end of the round. A turn that failed is its error; what was said before stands."""
        first = await self._rounds.begin(actor, group_id, body)
        said: list[Body] = []
        ending = _Ending(first.run_id)
        async for run, agent in self._runs(actor, first):
            async for _ in await self._background.follow(actor, run.id, after=0, has_pings=False):
                pass
            collected = Collected(view_of(agent, body, run), body.include_return_message_types)
            for event in await replay(self._db, actor, run.id):
                collected.add(event)
            assert collected.finished is not None
            said += collected.messages
            ending.add(run, collected.finished)
            if collected.finished.error is not None:
                raise _failure(agent, collected.finished)
        return JsonBytes(Collected(View(), messages=said, finished=ending.finished).body())

    async def start(self, actor: Actor, group_id: str, body: SendRequest) -> JsonBytes:
        """The run of the first turn, at once."""
        first = await self._rounds.begin(actor, group_id, body)
        return JsonBytes(run_body(await self._db.read(runs.get_run, actor, first.run_id)))

    async def stream(self, actor: Actor, group_id: str, body: SendRequest) -> Response:
        first = await self._rounds.begin(actor, group_id, body)
        return event_stream(self._frames(actor, first, body))

    async def _frames(self, actor: Actor, first: Turn, body: SendRequest) -> AsyncGenerator[bytes]:
        """Frames of all turns, and one end. A reader that leaves takes the round along, or its background."""
        ending = _Ending(first.run_id)
        is_over = False
        try:
            async for run, _ in self._runs(actor, first):
                chunks = await self._background.follow(actor, run.id, after=0, has_pings=body.include_pings)
                async for chunk in chunks:
                    frames = [each + b"\n\n" for each in chunk.split(b"\n\n") if each and not is_ending(each)]
                    if frames:
                        yield b"".join(frames)
                events = await replay(self._db, actor, run.id)
                assert isinstance(events[-1], RunFinished)
                ending.add(run, events[-1])
            is_over = True
            yield b"".join(frame.numbered(None) for frame in finish_frames(ending.run_id, ending.finished))
        finally:
            if not is_over and not body.background:
                # The task of a reader that has left is cancelled, and can wait for nothing more.
                leaving = asyncio.create_task(self._leave(actor, first))
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)

    async def _leave(self, actor: Actor, first: Turn) -> None:
        try:
            await self._rounds.cancel(actor, first.group_id)
        except Conflict:  # it was over just then
            return

    async def _runs(self, actor: Actor, first: Turn) -> AsyncIterator[tuple[Run, Agent]]:
        """The turns of a round in order. Whoever asks for another has seen the end of the one before."""
        number = first.number - 1
        while True:
            turns = await self._db.read(repository.list_turns, first.group_id, first.round_id, number)
            if not turns:
                return
            number = turns[0].number
            try:
                run, agent = await self._db.read(_run_of, actor, turns[0])
            except NotFound:  # the agent was deleted meanwhile
                return
            yield run, agent


def _run_of(connection: Connection, actor: Actor, turn: Turn) -> tuple[Run, Agent]:
    run = runs.get_run(connection, actor, turn.run_id)
    return run, agents.get_agent(connection, actor, run.agent_id)


def _failure(agent: Agent, finished: RunFinished) -> AppError:
    told = finished.error.message if finished.error else finished.stop_reason
    message = f"{agent.name} could not take its turn: {told} What was said before it is kept."
    return _KINDS.get(finished.stop_reason, AppError)(message)
