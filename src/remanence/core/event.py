"""What happens during a run, as past facts. Streams, JSON answers and background readers all read these."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.core.agent import StopReason
from remanence.core.compaction import Trigger
from remanence.core.llm import Delta, TokenData, Usage
from remanence.core.message import Message
from remanence.errors import AppError
from remanence.kit.ids import MessageId, RunId, StepId


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Tokens summed over the steps of a run."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    step_count: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nanos: int = 0
    context_tokens: int | None = None
    """What the last call took of the window; only where the loop keeps watch over it."""
    run_ids: tuple[RunId, ...] | None = None
    """Runs of other agents that this one has brought about."""

    def plus(self, usage: Usage, *, tracks_context: bool) -> "RunUsage":
        return replace(
            self,
            prompt_tokens=self.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.completion_tokens + usage.completion_tokens,
            total_tokens=self.total_tokens + usage.total_tokens,
            step_count=self.step_count + 1,
            cached_input_tokens=self.cached_input_tokens + (usage.cached_input_tokens or 0),
            cache_write_tokens=self.cache_write_tokens + (usage.cache_write_tokens or 0),
            reasoning_tokens=self.reasoning_tokens + (usage.reasoning_tokens or 0),
            cost_nanos=self.cost_nanos + (usage.cost_nanos or 0),
            context_tokens=usage.total_tokens if tracks_context else None,
        )

    def together(self, other: "RunUsage") -> "RunUsage":
        """What both used; the window is the other's."""
        return RunUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            step_count=self.step_count + other.step_count,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_nanos=self.cost_nanos + other.cost_nanos,
            context_tokens=other.context_tokens,
        )

    def plus_summary(self, usage: Usage, *, context_tokens: int) -> "RunUsage":
        """What it took to make room counts too, but is no step; less stands in the window after it."""
        summed = self.plus(usage, tracks_context=False)
        tracked = context_tokens if self.context_tokens is not None else None
        return replace(summed, step_count=self.step_count, context_tokens=tracked)


@dataclass(slots=True)
class Streamed:
    """The model said a little more. The ids are those the message will be stored under."""

    step_id: StepId
    message_id: MessageId
    at: datetime
    deltas: Sequence[Delta]
    gates: frozenset[str] = frozenset()
    """The tools whose calls somebody else must answer."""


@dataclass(slots=True)
class StepSaved:
    """A step is on disk: the model's message, what its tools returned, notices to the model."""

    step_id: StepId
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """What the model or a tool said in a turn, with its tokens where the provider gave them."""

    content: str
    tokens: TokenData | None = None
    tool_name: str | None = None


@dataclass(slots=True)
class CompactionStarted:
    """The window is full, and a summary is about to be written; it is saved as a part of the step."""

    run_id: RunId
    step_id: StepId
    at: datetime
    trigger: Trigger
    context_tokens: int
    context_window: int


@dataclass(slots=True)
class RunFinished:
    """The last event of every run, however it ended."""

    stop_reason: StopReason
    usage: RunUsage
    error: AppError | None = None
    turns: Sequence[TurnTokens] = ()
    """Only where tokens were asked for."""


Event = Streamed | StepSaved | CompactionStarted | RunFinished
