"""Turns in one process are passed on once, whoever gives up in between."""

import asyncio

import pytest

from remanence.runs.lanes import Lanes, Ticket


async def waiting(ticket: Ticket) -> None:
    async with ticket.held():
        await ticket.wait()


async def test_one_who_gives_up_while_the_turn_is_passed_on_takes_nobodys_turn() -> None:
    lanes = Lanes()
    first = lanes.take("a")
    tasks = [asyncio.create_task(waiting(lanes.take("a"))) for _ in range(2)]
    await asyncio.sleep(0)
    async with first.held():
        for task in tasks:
            task.cancel()
    for task in tasks:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert lanes.is_free("a")


async def test_the_turn_passes_over_those_who_gave_up() -> None:
    lanes = Lanes()
    first, second, third = (lanes.take("a") for _ in range(3))
    gone, left = asyncio.create_task(waiting(second)), asyncio.create_task(waiting(third))
    await asyncio.sleep(0)
    gone.cancel()
    async with first.held():
        pass
    await left
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert lanes.is_free("a")
