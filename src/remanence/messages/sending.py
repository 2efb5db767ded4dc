"""Wire bodies for what is said to an agent, and their way into core messages."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Discriminator, Field, Tag, model_validator

from remanence.core.approval import Answer
from remanence.core.conform import as_object
from remanence.core.llm import ToolSpec
from remanence.core.message import (
    Approval,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    ReturnPart,
    Role,
    TextPart,
    ToolReturn,
)
from remanence.edge.fields import StoredText
from remanence.errors import Invalid
from remanence.kit.ids import AgentId, ConversationId, RunId, StepId, new_message_id, new_otid
from remanence.kit.json import JsonObject

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


class ApprovalItem(BaseModel):
    type: Literal["approval"] = "approval"
    tool_call_id: str
    approve: bool
    reason: StoredText | None = None


class ToolReturnItem(BaseModel):
    type: Literal["tool"] = "tool"
    tool_call_id: str
    status: Literal["success", "error"]
    tool_return: StoredText | list[ReturnPart]
    stdout: list[StoredText] | None = None
    stderr: list[StoredText] | None = None


AnswerItem = Annotated[ApprovalItem | ToolReturnItem, Discriminator("type")]


class ApprovalCreate(BaseModel):
    """A person's answer; the older form has `approve` for all calls at once."""

    type: Literal["approval"]
    approvals: list[AnswerItem] | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    reason: StoredText | None = None
    otid: str | None = None
    group_id: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ApprovalCreate":
        if not self.approvals and self.approve is None:
            raise ValueError("give `approvals`, a list with an answer for each call")
        return self


class ToolReturnCreate(BaseModel):
    type: Literal["tool_return"]
    tool_returns: Annotated[list[ToolReturnItem], Field(min_length=1)]
    otid: str | None = None
    group_id: str | None = None


def _kind_of_item(item: Any) -> str:
    if isinstance(item, BaseModel):
        return str(getattr(item, "type", "message") or "message")
    fields = as_object(item)
    kind = fields.get("type")
    if kind is None and ("approve" in fields or "approval_request_id" in fields):
        return "approval"
    return str(kind or "message")


def _with_kind(item: Any) -> Any:
    fields = as_object(item)
    return {**fields, "type": _kind_of_item(item)} if fields else item


InputItem = Annotated[
    Annotated[MessageCreate, Tag("message")]
    | Annotated[ApprovalCreate, Tag("approval")]
    | Annotated[ToolReturnCreate, Tag("tool_return")],
    Discriminator(_kind_of_item),
    BeforeValidator(_with_kind),
]


class ClientTool(BaseModel):
    """A tool that the client runs itself."""

    name: Annotated[str, Field(min_length=1)]
    description: str | None = None
    parameters: JsonObject | None = None


class ClientSkill(BaseModel):
    """Something the client knows how to do, and where its instructions are."""

    name: str
    description: str
    location: str


class SendRequest(BaseModel):
    """The body of a send, in all its forms."""

    messages: list[InputItem] | None = None
    input: StoredText | list[InputPart] | None = None
    max_steps: Annotated[int, Field(ge=1)] = 50
    use_assistant_message: bool = True
    assistant_message_tool_name: str = "send_message"
    assistant_message_tool_kwarg: str = "message"
    include_return_message_types: list[MessageType] | None = None
    client_tools: list[ClientTool] | None = None
    override_model: str | None = None
    override_system: Annotated[
        str | None, Field(validation_alias=AliasChoices("override_system", "system"))
    ] = None
    client_skills: list[ClientSkill] | None = None
    return_logprobs: bool = False
    top_logprobs: Annotated[int | None, Field(ge=0, le=20)] = None
    return_token_ids: bool = False
    streaming: bool = False
    stream_tokens: bool = False
    include_pings: bool = True
    include_compaction_messages: bool = False
    background: bool = False
    callback_url: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_input(cls, body: Any) -> Any:
        given = as_object(body)
        if (given.get("messages") is not None) == (given.get("input") is not None):
            raise ValueError("give either `messages` (a list) or `input` (one user message), and only one")
        return body

    def inputs(self) -> list[MessageCreate]:
        """What is said to the agent, without answers to its requests."""
        if self.input is not None:
            return [MessageCreate(role="user", content=self.input)]
        return [item for item in self.messages or () if isinstance(item, MessageCreate)]

    def answer(self) -> Answer | None:
        """The answer to an open request, if this is one. Raises Invalid for two at once."""
        answers = [item for item in self.messages or () if not isinstance(item, MessageCreate)]
        if not answers:
            return None
        if len(answers) > 1 or isinstance((self.messages or [None])[0], MessageCreate):
            raise Invalid("An answer to a request comes first and alone; further messages may follow it.")
        first = answers[0]
        if isinstance(first, ToolReturnCreate):
            return Answer(tuple(_core_item(item) for item in first.tool_returns), otid=first.otid)
        if first.approvals:
            return Answer(tuple(_core_item(item) for item in first.approvals), otid=first.otid)
        return Answer(
            approves_all=first.approve,
            request_id=first.approval_request_id,
            reason=first.reason,
            otid=first.otid,
        )

    def skills(self) -> str:
        """A section for the prompt; empty if the client named none."""
        if not self.client_skills:
            return ""
        lines = [f"- {each.name} ({each.location}): {each.description}" for each in self.client_skills]
        return "\n".join(
            (
                "<client_skills>",
                "Read the instructions at a skill's location before you use it.",
                *lines,
                "</client_skills>",
            )
        )

    def otids(self) -> tuple[str, ...]:
        """The message ids that the client gave itself."""
        return tuple(item.otid for item in self.messages or () if item.otid)

    def kept(self) -> JsonObject:
        """What a background run keeps of its request; the messages are stored on their own."""
        answers = [item for item in self.messages or () if not isinstance(item, MessageCreate)]
        body = self.model_dump(mode="json", exclude={"messages", "input"})
        return body | {"messages": [answer.model_dump(mode="json") for answer in answers]}

    def client_specs(self) -> tuple[ToolSpec, ...]:
        empty: JsonObject = {"type": "object", "properties": {}}
        return tuple(
            ToolSpec(tool.name, tool.description or "", tool.parameters or empty)
            for tool in self.client_tools or ()
        )


def _core_item(item: ApprovalItem | ToolReturnItem) -> Approval | ToolReturn:
    if isinstance(item, ApprovalItem):
        return Approval(tool_call_id=item.tool_call_id, approve=item.approve, reason=item.reason)
    content = item.tool_return if isinstance(item.tool_return, str) else tuple(item.tool_return)
    return ToolReturn(
        tool_call_id=item.tool_call_id,
        name="",
        status=item.status,
        content=content,
        stdout=None if item.stdout is None else tuple(item.stdout),
        stderr=None if item.stderr is None else tuple(item.stderr),
    )


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
