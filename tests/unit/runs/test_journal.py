"""What reaches outside is written down before it starts, and after a crash it is never made twice unawares."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.loop_world import World, message, plan_of, returns_of, state_of, tool

from remanence.core.event import Event, RunFinished
from remanence.core.history import is_well_formed
from remanence.core.journal import NOT_RUN, UNKNOWN, Journal
from remanence.core.tool import Tool
from remanence.runs.loop import run_agent
from remanence.runs.plan import RunPlan

ASKED = message("user", "Send all three.")


class Post:
    """Tools that send something; the process dies in the one that is named."""

    def __init__(self, dies_in: str = "") -> None:
        self.dies_in = dies_in
        self.sent: list[str] = []

    async def __call__(self, name: str) -> str:
        self.sent.append(name)
        if name == self.dies_in:
            raise KeyboardInterrupt
        return f"{name} was sent."


async def run(world: World, plan: RunPlan) -> list[Event]:
    async with asyncio.timeout(5):
        return [event async for event in run_agent(plan, world.doors())]


async def crash(tools: Sequence[Tool], dies_in: str, plan: RunPlan) -> tuple[Journal | None, list[str]]:
    post = Post(dies_in)
    world = World(state_of(tools), post)
    with pytest.raises(KeyboardInterrupt):
        await run(world, plan)
    assert world.saved == []
    return (world.journal[-1] if world.journal else None), post.sent


async def take_over(tools: Sequence[Tool], plan: RunPlan) -> tuple[World, Post, list[Event]]:
    post = Post()
    world = World(state_of(tools), post)
    return world, post, await run(world, plan)


LETTERS = [tool("letter"), tool("card"), tool("parcel")]


async def test_a_call_under_way_at_a_crash_is_not_made_again_and_the_model_learns_why() -> None:
    plan = plan_of(ASKED)
    journal, sent = await crash(LETTERS, "card", plan)
    assert sent == ["letter", "card"]
    world, post, events = await take_over(LETTERS, replace(plan, journal=journal))
    assert post.sent == ["parcel"]
    record = world.saved[0]
    assert record.strikes_journal
    assert returns_of(record) == [
        ("call-0", "success", "letter was sent."),
        ("call-1", "error", UNKNOWN),
        ("call-2", "success", "parcel was sent."),
    ]
    assert is_well_formed((*record.inputs, *record.messages))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].stop_reason == "end_turn"
    assert world.asked == 1  # the reply before the crash was not asked for again


async def test_a_run_whose_client_is_gone_is_only_put_on_record() -> None:
    plan = plan_of(ASKED, background=False)
    journal, _ = await crash(LETTERS, "card", plan)
    world, post, events = await take_over(LETTERS, replace(plan, journal=journal, is_over=True))
    assert post.sent == []
    (record,) = world.saved
    assert [text for _, _, text in returns_of(record)] == ["letter was sent.", UNKNOWN, NOT_RUN]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].stop_reason == "error"


async def test_calls_made_at_once_are_all_written_down_before_they_start() -> None:
    at_once = [tool(each.name, enable_parallel_execution=True) for each in LETTERS]
    post = Post()
    world = World(state_of(at_once), post)
    await run(world, plan_of(ASKED))
    (entry,) = world.journal
    assert entry.started == ("call-0", "call-1", "call-2")


async def test_tools_that_may_be_repeated_leave_no_entry_and_are_run_again() -> None:
    harmless = [tool(each.name, tags=("idempotent",)) for each in LETTERS]
    plan = plan_of(ASKED)
    journal, _ = await crash(harmless, "card", plan)
    assert journal is None
    world, post, _ = await take_over(harmless, plan)
    assert post.sent == ["letter", "card", "parcel"]
    assert not world.saved[0].strikes_journal
