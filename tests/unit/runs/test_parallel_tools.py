"""Several calls in one step: those that may run at once do, and their returns keep the order of the calls."""

import asyncio

from tests.support.loop_world import World, message, plan_of, returns_of, state_of, tool

from remanence.core.event import Event
from remanence.runs.loop import run_agent


async def run(world: World) -> list[Event]:
    async with asyncio.timeout(5):
        return [event async for event in run_agent(plan_of(message("user", "Go.")), world.doors())]


async def test_calls_that_may_run_at_once_meet_and_return_in_order() -> None:
    second_is_done = asyncio.Event()

    async def execute(name: str) -> str:
        if name == "first":
            await second_is_done.wait()  # for ever, if they were run one after the other
        else:
            second_is_done.set()
        return name

    tools = [tool(name, enable_parallel_execution=True) for name in ("first", "second")]
    world = World(state_of(tools), execute)
    await run(world)
    assert returns_of(world.saved[0]) == [("call-0", "success", "first"), ("call-1", "success", "second")]


async def test_calls_that_must_not_run_at_once_follow_each_other() -> None:
    at_work: list[str] = []
    most = 0

    async def execute(name: str) -> str:
        nonlocal most
        at_work.append(name)
        most = max(most, len(at_work))
        await asyncio.sleep(0)
        at_work.remove(name)
        return name

    world = World(state_of([tool("first"), tool("second"), tool("third")]), execute)
    await run(world)
    assert most == 1
    assert [text for _, _, text in returns_of(world.saved[0])] == ["first", "second", "third"]
