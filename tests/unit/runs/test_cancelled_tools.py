"""Runs cancelled while a tool is at work: what is done stands, what is not is said to be cancelled."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState, StopReason
from remanence.core.approval import CANCELLED, Answer
from remanence.core.event import Event, RunFinished
from remanence.core.history import is_well_formed
from remanence.core.llm import Delta, Finished, InContext, LLMConfig, ModelRequest, ToolCallDelta, Usage
from remanence.core.message import Approval, Message, ToolCall, text_parts
from remanence.core.packing import unpack_tool_return
from remanence.core.run import Run, Step
from remanence.core.tool import Tool
from remanence.errors import AppError
from remanence.kit.ids import (
    DEFAULT_ORG_ID,
    DEFAULT_USER_ID,
    AgentId,
    MessageId,
    ToolId,
    new_run_id,
    new_step_id,
)
from remanence.kit.json import JsonObject
from remanence.runs.loop import run_agent
from remanence.runs.plan import LoopDoors, RunPlan, StepRecord
from remanence.tools.executor import ToolContext, ToolResult

_MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
_AGENT = AgentId("agent-1")


def message(role: str, text: str, **fields: Any) -> Message:
    given = {"id": MessageId(f"message-{text}"), "agent_id": _AGENT, "role": role, "created_at": _MOMENT}
    return Message.model_validate(given | {"content": text_parts(text)} | fields)


def tool(name: str) -> Tool:
    schema: JsonObject = {"name": name, "parameters": {"type": "object", "properties": {}}}
    return Tool(id=ToolId(f"tool-{name}"), organization_id=DEFAULT_ORG_ID, name=name, json_schema=schema)


def state_of(*messages: Message) -> AgentState:
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=8000, parallel_tool_calls=True)
    agent = Agent.model_validate(
        {
            "id": _AGENT,
            "organization_id": DEFAULT_ORG_ID,
            "name": "Ada",
            "agent_type": "letta_v1_agent",
            "system": "Be kind.",
            "llm_config": config,
            "created_at": _MOMENT,
            "updated_at": _MOMENT,
        }
    )
    window = (message("system", "Be kind."), *messages)
    return AgentState(
        agent=agent,
        blocks=(),
        tools=(tool("quick"), tool("slow")),
        window=tuple(map(InContext, window)),
        conversation_id=None,
        agent_version=1,
        window_version=1,
        next_position=len(window),
        last_message_at=_MOMENT,
    )


@dataclass
class World:
    """All that the loop touches: a model that calls both tools, and a tool that never ends."""

    state: AgentState
    is_slow: asyncio.Event = field(default_factory=asyncio.Event)
    saved: list[StepRecord] = field(default_factory=list[StepRecord])

    def doors(self) -> LoopDoors:
        return LoopDoors(
            load=self._load,
            reload=self._reload,
            stream=self._stream,
            execute=self._execute,
            checkpoint=self._checkpoint,
            fail=self._fail,
            close=self._close,
        )

    async def _load(self, _: RunPlan) -> AgentState:
        return self.state

    async def _reload(self, _: RunPlan, state: AgentState) -> AgentState:
        return state

    async def _stream(self, _: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        yield [ToolCallDelta(index=0, id="call-0", name="quick", arguments="{}")]
        yield [ToolCallDelta(index=1, id="call-1", name="slow", arguments="{}")]
        yield [Finished(reason="tool_calls", usage=Usage())]

    async def _execute(self, tool: Tool, _: JsonObject, __: ToolContext) -> ToolResult:
        if tool.name == "slow":
            self.is_slow.set()
            await asyncio.Event().wait()
        return ToolResult("Done.", succeeded=True)

    async def _checkpoint(self, _: RunPlan, state: AgentState, record: StepRecord) -> AgentState:
        self.saved.append(record)
        return state.with_messages(*record.inputs, *record.messages)

    async def _fail(self, _: RunPlan, __: Step, reason: StopReason, error: AppError) -> None:
        raise AssertionError(f"{reason}: {error}")

    async def _close(self, _: RunPlan, reason: StopReason, __: str | None, ___: int) -> None:
        raise AssertionError(f"closed as {reason} without a step")


def plan_of(*inputs: Message, answer: Answer | None = None) -> RunPlan:
    run = Run(id=new_run_id(), organization_id=DEFAULT_ORG_ID, agent_id=_AGENT, created_at=_MOMENT)
    actor = Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID)
    return RunPlan(
        actor=actor, run=run, inputs=inputs, first_step_id=new_step_id(), max_steps=5, answer=answer
    )


async def run_and_cancel(world: World, plan: RunPlan) -> list[Event]:
    events: list[Event] = []

    async def listen() -> None:
        async for event in run_agent(plan, world.doors()):
            events.append(event)

    running = asyncio.create_task(listen())
    async with asyncio.timeout(5):
        await world.is_slow.wait()
        running.cancel()
        await running
    return events


def returns_of(record: StepRecord) -> list[tuple[str, str, str]]:
    return [
        (each.tool_call_id, each.status, unpack_tool_return(str(each.content)))
        for each in record.messages[-1].tool_returns
    ]


WHAT_WAS_DONE = [("call-0", "success", "Done."), ("call-1", "error", CANCELLED)]


async def test_cancelled_in_a_tool_the_step_is_kept_with_a_return_for_every_call() -> None:
    world = World(state_of())
    events = await run_and_cancel(world, plan_of(message("user", "Do both.")))
    (record,) = world.saved
    assert record.stop_reason == "cancelled"
    assert returns_of(record) == WHAT_WAS_DONE
    assert is_well_formed((*record.inputs, *record.messages))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].stop_reason == "cancelled"


async def test_cancelled_in_an_approved_tool_the_request_is_answered() -> None:
    calls = (
        ToolCall(id="call-0", name="quick", arguments="{}"),
        ToolCall(id="call-1", name="slow", arguments="{}", gate="approval"),
    )
    request = message("approval", "May I?", tool_calls=calls, step_id=new_step_id())
    answer = Answer((Approval(tool_call_id="call-1", approve=True),))
    world = World(state_of(message("user", "Do both."), request))
    further = replace(plan_of(message("user", "And then?")), answer=answer)
    events = await run_and_cancel(world, further)
    (record,) = world.saved
    assert record.stop_reason == "cancelled"
    assert returns_of(record) == WHAT_WAS_DONE
    assert is_well_formed((request, *record.messages))
    assert [each.text for each in record.postponed] == ["And then?"]
    assert isinstance(events[-1], RunFinished)
