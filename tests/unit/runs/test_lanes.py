"""Who may write to a history within one process: everybody in order of arrival, and nobody twice."""

import asyncio
from datetime import UTC, datetime, timedelta

from remanence.runs.lanes import Arrival, Lanes, Ticket

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def came(second: int) -> Arrival:
    return _BEGIN + timedelta(seconds=second), f"run-{second}"


class Line:
    """People who note the order in which they had their turns."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.served: list[str] = []

    async def wait(self, ticket: Ticket, name: str) -> None:
        async with ticket.held():
            await ticket.wait()
            self.served.append(name)

    def join(self, second: int) -> "asyncio.Task[None]":
        ticket = self.lanes.take("agent-1", came(second))
        return asyncio.create_task(self.wait(ticket, f"{second}"))


async def test_turns_come_in_order_of_arrival_whoever_joined_the_line_first() -> None:
    line = Line()
    first = line.lanes.take("agent-1", came(0))
    async with first.held():
        waiting = [line.join(second) for second in (3, 1, 2)]
        await asyncio.sleep(0)
        assert not first.must_wait
    await asyncio.gather(*waiting)
    assert line.served == ["1", "2", "3"]
    assert line.lanes.is_free("agent-1")


async def test_whoever_steps_back_lets_those_through_who_came_earlier_and_no_others() -> None:
    line = Line()
    ticket = line.lanes.take("agent-1", came(2))
    async with ticket.held():
        waiting = [line.join(second) for second in (3, 1)]
        await ticket.step_back()
        assert line.served == ["1"]
        await ticket.step_back()
        line.served.append("2")
    await asyncio.gather(*waiting)
    assert line.served == ["1", "2", "3"]
    assert line.lanes.is_free("agent-1")


async def test_one_who_gives_up_is_passed_over() -> None:
    line = Line()
    ticket = line.lanes.take("agent-1", came(2))
    async with ticket.held():
        gone, last = line.join(1), line.join(3)
        await asyncio.sleep(0)
        gone.cancel()
        await ticket.step_back()
        line.served.append("2")
    await last
    assert line.served == ["2", "3"]
    assert line.lanes.is_free("agent-1")


async def test_all_who_wait_give_up_while_the_turn_is_passed_on() -> None:
    line = Line()
    ticket = line.lanes.take("agent-1", came(0))
    async with ticket.held():
        tasks = [line.join(second) for second in (1, 2)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert line.served == []
    assert line.lanes.is_free("agent-1")
