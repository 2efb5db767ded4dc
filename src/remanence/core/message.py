"""Messages as they are stored: who said what, which tools were called, what came back.

This module knows neither the REST wire (`messages/schemas.py`) nor any provider's format (`llm/`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Discriminator

from remanence.core.frozen import Frozen
from remanence.kit.ids import AgentId, ConversationId, MessageId, RunId, StepId

Role = Literal["system", "user", "assistant", "tool", "approval", "summary"]


class TextPart(Frozen):
    type: Literal["text"] = "text"
    text: str
    signature: str | None = None


class UrlImage(Frozen):
    type: Literal["url"] = "url"
    url: str


class Base64Image(Frozen):
    type: Literal["base64"] = "base64"
    media_type: str
    data: str
    detail: str | None = None


class StoredImage(Frozen):
    """An image kept by the server; on the wire its type is `letta`."""

    type: Literal["letta"] = "letta"
    file_id: str
    media_type: str | None = None
    data: str | None = None
    detail: str | None = None


ImageSource = Annotated[UrlImage | Base64Image | StoredImage, Discriminator("type")]


class ImagePart(Frozen):
    type: Literal["image"] = "image"
    source: ImageSource


class ReasoningPart(Frozen):
    """Thinking shown by the model. `is_native` is false for inner thoughts written as text or arguments."""

    type: Literal["reasoning"] = "reasoning"
    is_native: bool
    reasoning: str
    signature: str | None = None


class RedactedReasoningPart(Frozen):
    type: Literal["redacted_reasoning"] = "redacted_reasoning"
    data: str


class OmittedReasoningPart(Frozen):
    type: Literal["omitted_reasoning"] = "omitted_reasoning"
    signature: str | None = None


class ReasoningSummary(Frozen):
    index: int
    text: str


class SummarizedReasoningPart(Frozen):
    """Thinking that the provider keeps to itself: what it tells of it, and the whole in a form only it can read."""

    type: Literal["summarized_reasoning"] = "summarized_reasoning"
    id: str
    summary: tuple[ReasoningSummary, ...] = ()
    encrypted_content: str | None = None

    @property
    def text(self) -> str:
        return "\n\n".join(each.text for each in self.summary)


Part = Annotated[
    TextPart
    | ImagePart
    | ReasoningPart
    | RedactedReasoningPart
    | OmittedReasoningPart
    | SummarizedReasoningPart,
    Discriminator("type"),
]
ReturnPart = Annotated[TextPart | ImagePart, Discriminator("type")]


class ToolCall(Frozen):
    id: str
    name: str
    arguments: str
    """JSON text, as the model wrote it."""
    gate: Literal["approval", "client"] | None = None
    """Who must answer before the call has a result: a person, or the client that runs the tool."""
    signature: str | None = None
    """A mark of the provider's that must go back with the call."""


class ToolReturn(Frozen):
    """The outcome of one call. `content` is the packed text (see `core/packing.py`) or parts with images."""

    tool_call_id: str
    name: str
    status: Literal["success", "error"]
    content: str | tuple[ReturnPart, ...]
    stdout: tuple[str, ...] | None = None
    stderr: tuple[str, ...] | None = None


class Approval(Frozen):
    """A person's answer to one gated call."""

    tool_call_id: str
    approve: bool
    reason: str | None = None


class Message(Frozen):
    id: MessageId
    agent_id: AgentId
    role: Role
    content: tuple[Part, ...] = ()
    created_at: datetime
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_returns: tuple[ToolReturn, ...] = ()
    approvals: tuple[Approval | ToolReturn, ...] = ()
    """Only on a person's answer (role approval, no tool calls)."""
    approval_request_id: MessageId | None = None
    conversation_id: ConversationId | None = None
    run_id: RunId | None = None
    step_id: StepId | None = None
    otid: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None
    model: str | None = None
    is_err: bool = False

    @property
    def text(self) -> str:
        """The words of the message, without thinking and images."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


def text_parts(text: str) -> tuple[Part, ...]:
    return (TextPart(text=text),)


def pending_request(history: Sequence[Message]) -> Message | None:
    """The request at the end of a history that somebody has yet to answer."""
    last = history[-1] if history else None
    return last if last is not None and last.role == "approval" and last.tool_calls else None
