"""Waiting for what another process does: asked again and again, within a bound."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(holds: Callable[[], Awaitable[bool]], timeout_s: float = 10) -> None:
    """Returns once the condition holds. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while not await holds():  # noqa: ASYNC110 - nobody there could set an event of ours
            await asyncio.sleep(0.01)
