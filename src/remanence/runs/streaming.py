"""A run's events as a stream of bytes, with pings while nothing happens."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from typing import Any

from remanence.core.event import Event, RunFinished
from remanence.kit.ids import RunId
from remanence.messages.frames import StreamMode, Translator, ping_frame
from remanence.runs.service import Sent

PING_S = 20.0


async def stream_frames(
    sent: Sent,
    *,
    mode: StreamMode,
    wanted_types: Sequence[str] | None,
    has_pings: bool,
    ping_s: float = PING_S,
) -> AsyncGenerator[bytes]:
    """Frames until the run is over. A reader that leaves takes the run along."""
    translator = Translator(sent.run.id, sent.view, mode=mode, wanted_types=wanted_types)
    is_over = False
    try:
        if has_pings:
            yield ping_frame(sent.run.id).numbered(None)
        while not is_over:
            try:
                async with asyncio.timeout(ping_s if has_pings else None):
                    events = await sent.channel.next_batch()
            except TimeoutError:
                yield ping_frame(sent.run.id).numbered(None)
                continue
            is_over = any(isinstance(event, RunFinished) for event in events)
            frames = [frame.numbered(None) for event in events for frame in translator.frames(event)]
            if frames:
                # What arrived together is written together.
                yield b"".join(frames)
    finally:
        if not is_over:
            sent.task.cancel()


async def stream_replayed(
    run_id: RunId,
    events: Coroutine[Any, Any, Sequence[Event]],
    translator: Translator,
    *,
    has_pings: bool,
    ping_s: float = PING_S,
) -> AsyncIterator[bytes]:
    """A run that another request started: told in one piece once it is over."""
    telling = asyncio.create_task(events)
    try:
        if has_pings:
            yield ping_frame(run_id).numbered(None)
        while not (await asyncio.wait([telling], timeout=ping_s if has_pings else None))[0]:
            yield ping_frame(run_id).numbered(None)
        yield b"".join(
            frame.numbered(None) for event in telling.result() for frame in translator.frames(event)
        )
    finally:
        telling.cancel()
