"""Awaiting what must not be torn apart."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unbroken(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Runs to the end even if the caller is cancelled meanwhile; the flag says whether it was.

    A commit that is under way either stands or not: only waiting for it tells which.
    """
    task = asyncio.ensure_future(work)
    was_cancelled = False
    while True:
        try:
            return await asyncio.shield(task), was_cancelled
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            was_cancelled = True  # perhaps after it was done, and before the result was taken
            swallow_cancel()


def swallow_cancel() -> None:
    """Tells asyncio that the cancellation was taken notice of, so that awaiting works again."""
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()
