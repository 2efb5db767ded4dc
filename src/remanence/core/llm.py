"""The vocabulary between the loop and a model: what is asked, and the pieces in which it answers.

Deltas are plain slotted dataclasses, not pydantic models: there is one per token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from remanence.core.frozen import Frozen
from remanence.core.message import Message
from remanence.kit.json import JsonObject

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class ResponseFormat(Frozen):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JsonObject | None = None


class LLMConfig(Frozen):
    """Everything needed to reach a model, as it is stored with the agent."""

    model: str
    display_name: str | None = None
    model_endpoint_type: str
    model_endpoint: str | None = None
    provider_name: str | None = None
    provider_category: Literal["base", "byok"] | None = None
    model_wrapper: str | None = None
    context_window: int = Field(ge=1, le=2**31 - 1)
    """Each step records it, in an integer column."""
    put_inner_thoughts_in_kwargs: bool | None = False
    handle: str | None = None
    temperature: float = 1.0
    max_tokens: int | None = None
    enable_reasoner: bool = True
    reasoning_effort: ReasoningEffort | None = None
    max_reasoning_tokens: int = 0
    effort: Literal["low", "medium", "high", "max", "xhigh"] | None = None
    frequency_penalty: float | None = None
    compatibility_type: Literal["gguf", "mlx"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    tier: str | None = None
    parallel_tool_calls: bool | None = False
    response_format: ResponseFormat | None = None
    strict: bool = False
    return_logprobs: bool = False
    top_logprobs: int | None = None
    return_token_ids: bool = False
    tool_call_parser: str | None = None
    fallback_models: tuple[str, ...] | None = Field(default=None, exclude_if=lambda handles: not handles)
    """Handles of models that are asked in turn when this one is overloaded or out of reach.

    Not part of the contract, so that it is only shown where it is set.
    """


class EmbeddingConfig(Frozen):
    embedding_endpoint_type: str
    embedding_endpoint: str | None = None
    embedding_model: str
    embedding_dim: int
    embedding_chunk_size: int | None = 300
    handle: str | None = None
    batch_size: int = 32
    azure_endpoint: str | None = None
    azure_version: str | None = None
    azure_deployment: str | None = None


@dataclass(slots=True)
class InContext:
    """A message in the window, with the provider encoding an adapter last made of it.

    The encoding is kept because a message never changes once stored: a long history is
    encoded once, not at each step. `encoded_as` names the format and its options.
    """

    message: Message
    encoded_as: str = ""
    encoded: tuple[bytes, ...] = ()
    """One JSON text per provider message (a tool message may hold several returns)."""
    tokens: int = 0
    """What it takes of a window (`core/budget.py`); 0 until it was counted."""
    is_counted_exactly: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(slots=True)
class Tape:
    """What went over the wire for one step, as it was: no headers, and so no keys."""

    request: bytes = b""
    response: list[bytes] = field(default_factory=list[bytes])
    secret: str | None = field(default=None, repr=False)
    """The provider's key, which an answer may echo."""
    answered_by: "LLMConfig | None" = None
    """The model that stepped in, from the moment when it is asked."""

    def start(self, request: bytes, secret: str | None = None) -> None:
        """Begins anew: of several tries the last one counts."""
        self.request = request
        self.response.clear()
        self.secret = secret

    def text(self) -> bytes:
        whole = b"".join(self.response)
        return whole.replace(self.secret.encode(), b"[key]") if self.secret else whole


@dataclass(frozen=True, slots=True)
class ModelRequest:
    config: LLMConfig
    messages: Sequence[InContext]
    tools: Sequence[ToolSpec] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    forced_tool: str | None = None
    """The one tool that must be called; only with `tool_choice="required"`."""
    parallel_tool_calls: bool = False
    response_format: ResponseFormat | None = None
    thoughts_in_arguments: bool = False
    """Inner thoughts of earlier messages go back into their calls as the `thinking` argument."""
    cache_key: str = ""
    """Stable per conversation; providers use it to route to a warm prompt cache."""
    tape: Tape | None = None
    """Records the exchange, if anybody wants it."""


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_nanos: int | None = None
    """Billionths of a US dollar, where the price is known."""

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.total_tokens + other.total_tokens,
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cost_nanos, other.cost_nanos),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


@dataclass(slots=True)
class TextDelta:
    text: str
    signature: str | None = None


@dataclass(slots=True)
class ReasoningDelta:
    text: str
    signature: str | None = None
    is_redacted: bool = False
    """`text` is then an opaque blob to be sent back, not words."""
    item_id: str | None = None
    """Given at the end of a thought that is an item of its own; `signature` is then its encrypted whole."""


@dataclass(slots=True)
class ToolCallDelta:
    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    signature: str | None = None


FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(slots=True)
class TokenData:
    """The tokens of an answer as the provider numbers and weighs them, for those who asked."""

    logprobs: list[JsonObject] = field(default_factory=list[JsonObject])
    """In OpenAI's form: token, bytes, logprob, top_logprobs."""
    ids: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class Finished:
    reason: FinishReason
    usage: Usage = field(default_factory=Usage)
    request_id: str | None = None
    tokens: TokenData | None = None
    answered_by: LLMConfig | None = None
    """The model that stepped in, where it is not the one that was asked."""


Delta = TextDelta | ReasoningDelta | ToolCallDelta | Finished
