"""Runs cancelled while a tool is at work: what is done stands, what is not is said to be cancelled."""

import asyncio
from dataclasses import replace

from tests.support.loop_world import World, message, plan_of, returns_of, state_of, tool

from remanence.core.agent import AgentState
from remanence.core.approval import CANCELLED, Answer
from remanence.core.block import ValueSet
from remanence.core.event import Event, RunFinished
from remanence.core.history import is_well_formed
from remanence.core.message import Approval, Message, ToolCall
from remanence.kit.ids import BlockId, new_step_id
from remanence.runs.loop import run_agent
from remanence.runs.plan import RunPlan
from remanence.tools.executor import ToolResult

BOTH = (tool("quick"), tool("slow"))


class Slow:
    """One tool is done at once, the other never."""

    def __init__(self, quick: ToolResult) -> None:
        self.is_slow = asyncio.Event()
        self.quick = quick

    async def __call__(self, name: str) -> ToolResult:
        if name == "slow":
            self.is_slow.set()
            await asyncio.Event().wait()
        return self.quick


DONE = ToolResult("Done.", succeeded=True)


async def run_and_cancel(
    state: AgentState, plan: RunPlan, quick: ToolResult = DONE
) -> tuple[World, list[Event]]:
    slow = Slow(quick)
    world = World(state, slow, has_other_writers=True)
    events: list[Event] = []

    async def listen() -> None:
        async for event in run_agent(plan, world.doors()):
            events.append(event)

    running = asyncio.create_task(listen())
    async with asyncio.timeout(5):
        await slow.is_slow.wait()
        running.cancel()
        await running
    return world, events


WHAT_WAS_DONE = [("call-0", "success", "Done."), ("call-1", "error", CANCELLED)]


async def test_cancelled_in_a_tool_the_step_is_kept_with_a_return_for_every_call() -> None:
    world, events = await run_and_cancel(state_of(BOTH), plan_of(message("user", "Do both.")))
    (record,) = world.saved
    assert record.stop_reason == "cancelled"
    assert returns_of(record) == WHAT_WAS_DONE
    assert is_well_formed((*record.inputs, *record.messages))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].stop_reason == "cancelled"


async def test_cancelled_among_tools_at_once_what_is_done_stands_in_the_order_of_the_calls() -> None:
    at_once = [tool(name, enable_parallel_execution=True, tags=("idempotent",)) for name in ("slow", "quick")]
    world, _ = await run_and_cancel(state_of(at_once), plan_of(message("user", "Do both.")))
    (record,) = world.saved
    assert returns_of(record) == [("call-0", "error", CANCELLED), ("call-1", "success", "Done.")]


async def test_cancelled_in_an_approved_tool_the_request_is_answered() -> None:
    request, further = an_approved_call()
    world, events = await run_and_cancel(state_of(BOTH, message("user", "Do both."), request), further)
    (record,) = world.saved
    assert record.stop_reason == "cancelled"
    assert returns_of(record) == WHAT_WAS_DONE
    assert is_well_formed((request, *record.messages))
    assert [each.text for each in record.postponed] == ["And then?"]
    assert isinstance(events[-1], RunFinished)


REMEMBERED = replace(DONE, edits=(ValueSet(block_id=BlockId("block-1"), value="Likes tea."),))
WHAT_IS_GIVEN_UP = [("call-0", "error", CANCELLED), ("call-1", "error", CANCELLED)]


async def test_cancelled_after_an_edit_that_somebody_else_overtook_the_edit_is_given_up() -> None:
    plan = plan_of(message("user", "Do both."))
    world, events = await run_and_cancel(state_of(BOTH), plan, quick=REMEMBERED)
    (record,) = world.saved
    assert (record.stop_reason, record.edits) == ("cancelled", ())
    assert returns_of(record) == WHAT_IS_GIVEN_UP
    assert isinstance(events[-1], RunFinished)


async def test_cancelled_after_an_approved_edit_that_was_overtaken_no_call_is_made_again() -> None:
    request, further = an_approved_call()
    state = state_of(BOTH, message("user", "Do both."), request)
    world, _ = await run_and_cancel(state, further, quick=REMEMBERED)
    (record,) = world.saved
    assert (record.stop_reason, record.edits) == ("cancelled", ())
    assert returns_of(record) == WHAT_IS_GIVEN_UP


def an_approved_call() -> tuple[Message, RunPlan]:
    calls = (
        ToolCall(id="call-0", name="quick", arguments="{}"),
        ToolCall(id="call-1", name="slow", arguments="{}", gate="approval"),
    )
    request = message("approval", "May I?", tool_calls=calls, step_id=new_step_id())
    answer = Answer((Approval(tool_call_id="call-1", approve=True),))
    return request, replace(plan_of(message("user", "And then?")), answer=answer)
