"""Work that is not torn apart: whoever is cancelled while waiting for it learns how it ended."""

import asyncio

import pytest

from remanence.kit.tasks import unbroken


async def test_a_cancel_while_it_works_is_told_with_the_result() -> None:
    may_end = asyncio.Event()

    async def work() -> str:
        await may_end.wait()
        return "saved"

    waiting = asyncio.create_task(unbroken(work()))
    await asyncio.sleep(0)
    waiting.cancel()
    may_end.set()
    assert await waiting == ("saved", True)


async def test_a_cancel_between_the_end_and_the_taking_of_the_result_loses_nothing() -> None:
    """The loop had the result at hand when the cancel came: it was saved, and that must be known."""
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        result = await done
        # Runs after the one who waits was woken, and before it goes on.
        asyncio.get_running_loop().call_soon(waiting.cancel)
        return result

    waiting = asyncio.create_task(unbroken(work()))
    await asyncio.sleep(0)
    done.set_result("saved")
    assert await waiting == ("saved", True)


async def test_what_goes_wrong_is_raised_also_to_one_who_was_cancelled() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        raise ValueError("no")

    waiting = asyncio.create_task(unbroken(work()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(ValueError, match="no"):
        await waiting
