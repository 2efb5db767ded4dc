"""The stream of a background run, kept in the database so that any process can read it again.

Frames are numbered from 1 and shown only once they are stored: a reader that comes back with a
number, here or at another replica, gets every frame once and in order.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.event import RunFinished
from remanence.core.message import Message
from remanence.db.database import Database
from remanence.errors import LeaseLost
from remanence.kit.ids import RunId
from remanence.kit.worker import this_worker
from remanence.messages.frames import DONE, Frame, Translator, finish_frames, ping_frame
from remanence.runs import repository
from remanence.runs.replay import how_it_ended
from remanence.runs.supervisor import Channel
from remanence.runs.untold import untold_frames

CHANNEL = "remanence_runs"
_GATHER_S = 0.02
"""Frames are stored at most this often, so that many quick tokens are few commits."""
_DONE = DONE.before.decode()
_POLL_S = 0.25
"""How often a reader looks by itself, should word of news not reach it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    last_seq: int
    frames: bytes
    is_last: bool


class EventLog:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._news: dict[RunId, set[asyncio.Event]] = {}

    async def start(self) -> None:
        """Listens for what other processes store, where the database can tell."""
        await self._db.listen(CHANNEL, lambda payload: self._wake(RunId(payload)))

    async def record(
        self,
        run_id: RunId,
        channel: Channel,
        translator: Translator,
        *,
        has_pings: bool,
        stored: Sequence[Message] = (),
    ) -> None:
        """Stores what a run says, until it has said its last.

        `stored` is what it had saved in another process; what of this was never told, comes first.
        Raises LeaseLost once another process has the run: the rest of its stream is told there.
        """
        seq, told = await self._db.read(_look_back, run_id)
        if told.endswith(_DONE):
            return
        first = untold_frames(translator.bodies([each for each in stored if each.step_id is not None]), told)
        seq = await self._append(
            run_id, seq, [ping_frame(run_id), *first] if has_pings and not seq else first
        )
        while True:
            events = await channel.next_batch()
            for event in events:
                if isinstance(event, RunFinished) and isinstance(event.error, LeaseLost):
                    raise event.error
            frames = [frame for event in events for frame in translator.frames(event)]
            is_last = any(isinstance(event, RunFinished) for event in events)
            seq = await self._append(run_id, seq, frames, is_last=is_last)
            if is_last:
                return
            await asyncio.sleep(_GATHER_S)

    async def _append(
        self, run_id: RunId, seq: int, frames: Sequence[Frame], *, is_last: bool = False
    ) -> int:
        """The number of the last frame."""
        if frames:
            text = b"".join(frame.numbered(seq + n) for n, frame in enumerate(frames, 1)).decode()
            await self._db.write(
                repository.append_events,
                run_id,
                this_worker(),
                first_seq=seq + 1,
                last_seq=seq + len(frames),
                frames=text,
                channel=CHANNEL,
                is_last=is_last,
            )
            self._wake(run_id)
        return seq + len(frames)

    async def follow(
        self, actor: Actor, run_id: RunId, *, after: int, has_pings: bool, ping_s: float
    ) -> AsyncIterator[bytes]:
        """Frames beyond `after`, then live ones, to the end. Leaving does not disturb the run."""
        news = asyncio.Event()
        self._news.setdefault(run_id, set()).add(news)
        silent_s = 0.0
        try:
            while True:
                news.clear()
                chunks, ending = await self._db.read(_read, actor, run_id, after)
                for chunk in chunks:
                    after = chunk.last_seq
                    silent_s = 0.0
                    yield chunk.frames
                    if chunk.is_last:
                        return
                if not chunks and ending is not None:
                    if isinstance(ending, RunFinished):
                        yield b"".join(frame.numbered(None) for frame in finish_frames(run_id, ending))
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await news.wait()
                        continue
                silent_s += _POLL_S
                if has_pings and silent_s >= ping_s:
                    silent_s = 0.0
                    yield ping_frame(run_id).numbered(after or None)
        finally:
            readers = self._news.get(run_id)
            if readers is not None:
                readers.discard(news)
                if not readers:
                    del self._news[run_id]

    def _wake(self, run_id: RunId) -> None:
        for news in self._news.get(run_id, ()):
            news.set()


def _look_back(connection: Connection, run_id: RunId) -> tuple[int, str]:
    """How far the stream has come, and all that it has told."""
    seq = repository.last_event_seq(connection, run_id)
    return seq, repository.all_frames(connection, run_id) if seq else ""


def _read(
    connection: Connection, actor: Actor, run_id: RunId, after: int
) -> tuple[list[Chunk], RunFinished | Literal["told"] | None]:
    """What is new, and how the run ended if it did: `told` where its frames say so themselves."""
    run = repository.get_run(connection, actor, run_id)
    chunks: list[Chunk] = []
    ending: RunFinished | Literal["told"] | None = None
    if run.completed_at is not None:
        if repository.has_event_ending(connection, run_id, _DONE):
            ending = "told"
        elif not repository.is_held(connection, run_id):
            ending = how_it_ended(connection, run)  # nobody is left who could say so
    for row in repository.list_events(connection, run_id, after):
        frames = row.frames.encode().split(b"\n\n")[:-1]
        wanted = frames[max(0, after + 1 - row.first_seq) :]
        body = b"".join(frame + b"\n\n" for frame in wanted)
        chunks.append(Chunk(row.last_seq, body, frames[-1] == DONE.before.strip()))
    return chunks, ending
