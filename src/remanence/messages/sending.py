"""Wire bodies for what is said to an agent, and their way into core messages."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Discriminator, Field, model_validator

from remanence.core.conform import as_object
from remanence.core.message import ImagePart, Message, Part, ReasoningPart, Role, TextPart
from remanence.edge.fields import StoredText
from remanence.kit.ids import AgentId, ConversationId, RunId, StepId, new_message_id, new_otid

InputPart = Annotated[TextPart | ImagePart | ReasoningPart, Discriminator("type")]

MessageType = Literal[
    "system_message",
    "user_message",
    "assistant_message",
    "reasoning_message",
    "hidden_reasoning_message",
    "tool_call_message",
    "tool_return_message",
    "approval_request_message",
    "approval_response_message",
    "summary_message",
    "event_message",
]


class MessageCreate(BaseModel):
    type: Literal["message"] | None = "message"
    role: Literal["user", "system", "assistant"]
    content: StoredText | list[InputPart]
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None

    def parts(self) -> tuple[Part, ...]:
        if isinstance(self.content, str):
            return (TextPart(text=self.content),)
        return tuple(self.content)


class SendRequest(BaseModel):
    """The body of a send, in all its forms."""

    messages: list[MessageCreate] | None = None
    input: StoredText | list[InputPart] | None = None
    max_steps: Annotated[int, Field(ge=1)] = 50
    use_assistant_message: bool = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"
    include_return_message_types: list[MessageType] | None = None
    override_model: str | None = None
    override_system: Annotated[
        str | None, Field(validation_alias=AliasChoices("override_system", "system"))
    ] = None
    streaming: bool = False
    stream_tokens: bool = False
    include_pings: bool = True
    background: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_input(cls, body: Any) -> Any:
        given = as_object(body)
        if (given.get("messages") is not None) == (given.get("input") is not None):
            raise ValueError("give either `messages` (a list) or `input` (one user message), and only one")
        return body

    def inputs(self) -> list[MessageCreate]:
        if self.input is not None:
            return [MessageCreate(role="user", content=self.input)]
        return self.messages or []


def to_messages(
    inputs: list[MessageCreate],
    *,
    agent_id: AgentId,
    conversation_id: ConversationId | None,
    run_id: RunId,
    step_id: StepId,
    start: datetime,
) -> tuple[Message, ...]:
    """Core messages in the order given, each a moment after the one before."""

    def build() -> Iterator[Message]:
        for offset, each in enumerate(inputs):
            role: Role = each.role
            yield Message(
                id=new_message_id(),
                agent_id=agent_id,
                role=role,
                content=each.parts(),
                created_at=start + timedelta(microseconds=offset),
                name=each.name,
                conversation_id=conversation_id,
                run_id=run_id,
                step_id=step_id,
                otid=each.otid or new_otid(),
                sender_id=each.sender_id,
                group_id=each.group_id,
                batch_item_id=each.batch_item_id,
            )

    return tuple(build())
