"""Waiting for what another process does: asked again and again, within a bound."""

import asyncio
import time
from collections.abc import Awaitable, Callable


def until_sync(holds: Callable[[], bool], timeout_s: float = 10) -> None:
    """The same for tests that block."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for did not come about")
        time.sleep(0.01)


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = 10) -> None:
    """Returns once the condition holds. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while not await holds():  # noqa: ASYNC110 - nobody there could set an event of ours
            await asyncio.sleep(0.01)
