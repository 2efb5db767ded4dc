"""What a run was asked to do, and the hands it works with."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from remanence.core.actor import Actor
from remanence.core.agent import AgentState, StopReason
from remanence.core.approval import Answer
from remanence.core.block import MemoryEdit
from remanence.core.budget import ContextLimits
from remanence.core.event import RunUsage
from remanence.core.journal import Journal
from remanence.core.llm import Delta, InContext, LLMConfig, ModelRequest, Tape, ToolSpec, Usage
from remanence.core.memory_notes import Told
from remanence.core.message import Message
from remanence.core.rules import CallRecord
from remanence.core.run import Run, Step
from remanence.core.tokenizer import TokenFactors
from remanence.core.tool import Tool
from remanence.errors import AppError
from remanence.kit.ids import OrgId, RunId, StepId
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
    is_patient: bool = True
    """Waits for its turn; otherwise a history that is busy refuses it."""
    answer: Answer | None = None
    """To the request that the history ends with."""
    client_tools: tuple[ToolSpec, ...] = ()
    override_config: LLMConfig | None = None
    override_system: str | None = None
    skills: str = ""
    """What the client says that it knows how to do, for this run's prompts."""
    request: JsonObject | None = None
    """Kept with a background run, so that another process can carry it on."""
    otids: tuple[str, ...] = ()
    """Message ids that the client gave, by which it may ask for this run again."""
    earlier_calls: tuple[CallRecord, ...] = ()
    """Made before another process took the run over."""
    earlier_steps: int = 0
    earlier_usage: RunUsage = field(default_factory=RunUsage)
    is_resumed: bool = False
    """It had begun when its process died: those who wait, wait for it."""
    approval_expiry_s: float | None = None
    """How long a request waits for its answer before the next message may pass it by."""
    journal: Journal | None = None
    """What it had begun outside when its process died."""
    ended: StopReason | None = None
    """Its last step was saved, and its process died while it made room for the next run."""
    is_over: bool = False
    """Its client is gone: what it had begun is put on record, and that is all."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """All that one step leaves behind, to be saved together or not at all."""

    step: Step | None
    """None where an answer is taken: the step was recorded when it was asked."""
    inputs: tuple[Message, ...]
    """Already stored; they enter the window with this step."""
    messages: tuple[Message, ...]
    edits: tuple[MemoryEdit, ...]
    tools_used: tuple[str, ...]
    """By all steps of the run so far."""
    stop_reason: StopReason | None
    ttft_ns: int | None
    duration_ns: int
    replaces_window: bool = False
    """Only the system message stays before these: the agent keeps no buffer of messages."""
    notes: tuple[Message, ...] = ()
    """What the agent was told of its memory before the inputs; not stored yet."""
    told: Told | None = None
    """What it knows of its memory after this; None if that is as before."""
    postponed: tuple[Message, ...] = ()
    """Inputs that are said after this, stamped anew to stand behind it."""
    tape: Tape | None = None
    """What was sent to the model and what came back."""
    strikes_journal: bool = False
    """What the journal says of this run is now in the history."""
    makes_room: bool = False
    """The window is full: the run goes on, even after its last step, until that is mended."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended whose last step is saved."""

    stop_reason: StopReason
    ttft_ns: int | None
    duration_ns: int
    tools_used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """What a window becomes, to be saved together or not at all. The system message is compiled anew."""

    window: tuple[InContext, ...]
    summary: Message | None = None
    """New, and in the window."""
    step: Step | None = None
    """Where making room is all that the run does."""
    paid_by: StepId | None = None
    """The saved step whose usage grows by this."""
    usage: Usage = field(default_factory=Usage)
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What a step has led to."""

    state: AgentState
    followed_by: tuple[RunId, ...] = ()
    """Runs of other agents that the end of the turn has brought about."""


class AlreadyStarted(Exception):
    """The same message ids were sent before: this is the run that they started."""

    def __init__(self, run_id: RunId) -> None:
        super().__init__(run_id)
        self.run_id = run_id


class RunCancelled(Exception):
    """Somebody cancelled the run before it could ask for an answer; nothing was saved."""


class StaleWindow(Exception):
    """The window was changed by somebody else while a summary was written; nothing was saved."""


class StaleMemory(Exception):
    """A memory block was changed by somebody else since the tools read it; nothing was saved.

    `refused` has the results of calls whose edits can never be saved, by the ids of the calls.
    """

    def __init__(self, refused: Mapping[str, ToolResult] | None = None) -> None:
        super().__init__()
        self.refused = refused or {}


@dataclass(frozen=True, slots=True)
class LoopDoors:
    """All that the loop may touch."""

    load: Callable[[RunPlan], Awaitable[AgentState]]
    reload: Callable[[RunPlan, AgentState], Awaitable[AgentState]]
    stream: Callable[[ModelRequest], AsyncGenerator[Sequence[Delta]]]
    execute: Callable[[Tool, JsonObject, ToolContext], Awaitable[ToolResult]]
    journal: Callable[[RunPlan, Journal], Awaitable[None]]
    checkpoint: Callable[[RunPlan, AgentState, StepRecord], Coroutine[Any, Any, Saved]]
    fail: Callable[[RunPlan, Step, StopReason, AppError, Tape | None], Awaitable[None]]
    close: Callable[[RunPlan, StopReason, str | None, int], Coroutine[Any, Any, None]]
    resolve: Callable[[str, OrgId], Awaitable[LLMConfig]]
    """The configuration of a model by its handle."""
    compact: Callable[[RunPlan, AgentState, CompactionRecord], Coroutine[Any, Any, AgentState]]
    limits: ContextLimits = field(default_factory=ContextLimits)
    factors: TokenFactors = field(default_factory=TokenFactors)
