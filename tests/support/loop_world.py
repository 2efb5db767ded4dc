"""The loop alone, with a world to act upon that a test holds in its hands."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState, StopReason
from remanence.core.approval import Answer
from remanence.core.journal import Journal, read_journal, write_journal
from remanence.core.llm import (
    Delta,
    Finished,
    InContext,
    LLMConfig,
    ModelRequest,
    Tape,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from remanence.core.message import Message, text_parts
from remanence.core.packing import unpack_tool_return
from remanence.core.run import Run, Step
from remanence.core.tool import Tool
from remanence.errors import AppError, NotFound
from remanence.kit.ids import (
    DEFAULT_ORG_ID,
    DEFAULT_USER_ID,
    AgentId,
    MessageId,
    OrgId,
    ToolId,
    new_run_id,
    new_step_id,
)
from remanence.kit.json import JsonObject
from remanence.runs.plan import CompactionRecord, LoopDoors, RunPlan, Saved, StaleMemory, StepRecord
from remanence.tools.executor import ToolContext, ToolResult

_MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
_AGENT = AgentId("agent-1")


def message(role: str, text: str, **fields: Any) -> Message:
    given = {"id": MessageId(f"message-{text}"), "agent_id": _AGENT, "role": role, "created_at": _MOMENT}
    return Message.model_validate(given | {"content": text_parts(text)} | fields)


def tool(name: str, **fields: Any) -> Tool:
    schema: JsonObject = {"name": name, "parameters": {"type": "object", "properties": {}}}
    given = {"id": ToolId(f"tool-{name}"), "organization_id": DEFAULT_ORG_ID, "name": name}
    return Tool.model_validate(given | {"json_schema": schema} | fields)


def state_of(tools: Sequence[Tool], *messages: Message) -> AgentState:
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
        tools=tuple(tools),
        window=tuple(map(InContext, window)),
        conversation_id=None,
        agent_version=1,
        window_version=1,
        next_position=len(window),
        last_message_at=_MOMENT,
    )


Execute = Callable[[str], Awaitable[str | ToolResult]]


@dataclass
class World:
    """A model that calls each tool once, in order, and then says "Done."; tools that do as they are told."""

    state: AgentState
    execute: Execute
    """What a tool does, by its name."""
    saved: list[StepRecord] = field(default_factory=list[StepRecord])
    journal: list[Journal] = field(default_factory=list[Journal])
    asked: int = 0
    has_other_writers: bool = False
    """Somebody else writes to each block before an edit of it can be saved."""

    def doors(self) -> LoopDoors:
        return LoopDoors(
            load=self._load,
            reload=self._reload,
            stream=self._stream,
            execute=self._execute,
            journal=self._journal,
            checkpoint=self._checkpoint,
            fail=self._fail,
            close=self._close,
            resolve=self._resolve,
            compact=self._compact,
        )

    async def _load(self, _: RunPlan) -> AgentState:
        return self.state

    async def _reload(self, _: RunPlan, state: AgentState) -> AgentState:
        return state

    async def _stream(self, _: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        self.asked += 1
        if self.saved:
            yield [TextDelta("Done."), Finished(reason="stop", usage=Usage())]
            return
        for index, each in enumerate(self.state.tools):
            yield [ToolCallDelta(index=index, id=f"call-{index}", name=each.name, arguments="{}")]
        yield [Finished(reason="tool_calls", usage=Usage())]

    async def _execute(self, tool: Tool, _: JsonObject, __: ToolContext) -> ToolResult:
        result = await self.execute(tool.name)
        return result if isinstance(result, ToolResult) else ToolResult(result, succeeded=True)

    async def _journal(self, _: RunPlan, journal: Journal) -> None:
        self.journal.append(read_journal(write_journal(journal)))

    async def _checkpoint(self, _: RunPlan, state: AgentState, record: StepRecord) -> Saved:
        if record.edits and self.has_other_writers:
            raise StaleMemory
        self.saved.append(record)
        return Saved(state.with_messages(*record.inputs, *record.messages))

    async def _fail(
        self, _: RunPlan, __: Step, reason: StopReason, error: AppError, ___: Tape | None
    ) -> None:
        raise AssertionError(f"{reason}: {error}")

    async def _close(self, _: RunPlan, reason: StopReason, __: str | None, ___: int) -> None:
        raise AssertionError(f"closed as {reason} without a step")

    async def _resolve(self, handle: str, _: OrgId) -> LLMConfig:
        raise NotFound(f"There is no model {handle}.")

    async def _compact(self, _: RunPlan, __: AgentState, ___: CompactionRecord) -> AgentState:
        raise AssertionError("there is room enough in this world")


def plan_of(*inputs: Message, answer: Answer | None = None, background: bool = True) -> RunPlan:
    run = Run(
        id=new_run_id(),
        organization_id=DEFAULT_ORG_ID,
        agent_id=_AGENT,
        created_at=_MOMENT,
        background=background,
    )
    actor = Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID)
    return RunPlan(
        actor=actor, run=run, inputs=inputs, first_step_id=new_step_id(), max_steps=5, answer=answer
    )


def returns_of(record: StepRecord) -> list[tuple[str, str, str]]:
    return [
        (each.tool_call_id, each.status, unpack_tool_return(str(each.content)))
        for message in record.messages
        for each in message.tool_returns
    ]
