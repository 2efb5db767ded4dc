"""What a run was asked to do, and the hands it works with."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from remanence.core.actor import Actor
from remanence.core.agent import AgentState, StopReason
from remanence.core.block import BlockEdit
from remanence.core.event import RunUsage
from remanence.core.llm import Delta, LLMConfig, ModelRequest
from remanence.core.message import Message
from remanence.core.run import Run, Step
from remanence.core.tool import Tool
from remanence.errors import AppError
from remanence.kit.ids import StepId
from remanence.kit.json import JsonObject
from remanence.tools.executor import ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class RunPlan:
    actor: Actor
    run: Run
    inputs: tuple[Message, ...]
    """Stored with the run, but in no window before the first step is saved."""
    first_step_id: StepId
    max_steps: int
    override_config: LLMConfig | None = None
    override_system: str | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """All that one step leaves behind, to be saved together or not at all."""

    step: Step
    inputs: tuple[Message, ...]
    """Already stored; they enter the window with this step."""
    messages: tuple[Message, ...]
    edits: tuple[BlockEdit, ...]
    tools_used: tuple[str, ...]
    """By all steps of the run so far."""
    stop_reason: StopReason | None
    ttft_ns: int | None
    duration_ns: int
    replaces_window: bool = False
    """Only the system message stays before these: the agent keeps no buffer of messages."""


@dataclass(frozen=True, slots=True)
class LoopDoors:
    """All that the loop may touch."""

    load: Callable[[RunPlan], Awaitable[AgentState]]
    stream: Callable[[ModelRequest], AsyncIterator[Sequence[Delta]]]
    execute: Callable[[Tool, JsonObject, ToolContext], Awaitable[ToolResult]]
    checkpoint: Callable[[RunPlan, AgentState, StepRecord], Awaitable[AgentState]]
    fail: Callable[[RunPlan, Step, StopReason, AppError, RunUsage], Awaitable[None]]
