"""Chat completions on the wire, and their way into a send."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from remanence.core.agent import StopReason
from remanence.core.event import RunUsage
from remanence.core.message import Base64Image, ImagePart, TextPart, ToolCall, UrlImage
from remanence.edge.errors import status_of
from remanence.edge.fields import StoredText
from remanence.errors import AppError, BadArgument, ProviderError
from remanence.kit.json import JsonObject
from remanence.messages.sending import (
    ClientTool,
    InputItem,
    MessageCreate,
    SendRequest,
    ToolReturnCreate,
    ToolReturnItem,
)

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_CUT_SHORT: frozenset[StopReason] = frozenset({"max_steps", "max_tokens_exceeded"})

FinishReason = Literal["stop", "length", "tool_calls"]


class ChatText(BaseModel):
    type: Literal["text"]
    text: StoredText


class ImageUrl(BaseModel):
    url: str


class ChatImage(BaseModel):
    type: Literal["image_url"]
    image_url: ImageUrl


class ChatOther(BaseModel):
    """A part that may stand in what was said before, but is nothing to say to an agent."""

    type: str


ChatPart = Annotated[ChatText | ChatImage | ChatOther, Field(union_mode="left_to_right")]


class ChatMessage(BaseModel):
    role: Literal["developer", "system", "user", "assistant", "tool", "function"]
    content: StoredText | list[ChatPart] | None = None
    name: StoredText | None = None
    tool_call_id: str | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content if isinstance(part, ChatText))
        return self.content or ""

    def as_input(self) -> MessageCreate:
        """Raises BadArgument for what no agent can hear."""
        if not isinstance(self.content, list):
            return MessageCreate(role="user", content=self.content or "", name=self.name)
        return MessageCreate(role="user", content=[_part(each) for each in self.content], name=self.name)

    def as_return(self) -> ToolReturnItem:
        if not self.tool_call_id:
            raise BadArgument("A message of the role `tool` needs the `tool_call_id` of the call it answers.")
        return ToolReturnItem(tool_call_id=self.tool_call_id, status="success", tool_return=self.text())


class ChatTool(BaseModel):
    type: Literal["function"] = "function"
    function: ClientTool


class StreamOptions(BaseModel):
    include_usage: bool | None = False


class ChatRequest(BaseModel):
    """What else clients send is about models, and the agent has its own: it is read over."""

    model: str
    messages: list[ChatMessage]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int | None, Field(ge=1)] = 1
    tools: list[ChatTool] | None = None

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def send_request(self) -> SendRequest:
        """What was said since the last answer. Raises BadArgument if that is nothing."""
        if self.n not in (None, 1):
            raise BadArgument("An agent gives one answer, and remembers it: leave `n` out, or set it to 1.")
        roles = [message.role for message in self.messages]
        answered = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
        new = self.messages[answered:]
        returns = [each.as_return() for each in new if each.role == "tool"]
        items: list[InputItem] = []
        if returns:
            items.append(ToolReturnCreate(type="tool_return", tool_returns=returns))
        items += [each.as_input() for each in new if each.role == "user"]
        if not items:
            raise BadArgument(
                "There is nothing new for the agent: `messages` must end with one of the role `user`, "
                "or with the results of its tool calls."
            )
        tools = [tool.function for tool in self.tools or ()]
        return SendRequest(messages=items, client_tools=tools or None)


def _part(part: ChatPart) -> TextPart | ImagePart:
    match part:
        case ChatText(text=text):
            return TextPart(text=text)
        case ChatImage(image_url=ImageUrl(url=url)):
            found = _DATA_URL.fullmatch(url)
            if found:
                return ImagePart(source=Base64Image(media_type=found["type"], data=found["data"]))
            return ImagePart(source=UrlImage(url=url))
        case ChatOther(type=kind):
            raise BadArgument(f"An agent takes parts of the types text and image_url, and not {kind!r}.")


def finish_reason(reason: StopReason, calls: Sequence[ToolCall]) -> FinishReason:
    if calls:
        return "tool_calls"
    return "length" if reason in _CUT_SHORT else "stop"


def completion_body(
    head: JsonObject, text: str, reason: FinishReason, calls: Sequence[ToolCall], usage: RunUsage
) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = [_call_body(call) for call in calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return head | {"object": "chat.completion", "choices": [choice], "usage": chat_usage(usage)}


def chunk_body(head: JsonObject, delta: JsonObject, reason: FinishReason | None = None) -> JsonObject:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return head | {"object": "chat.completion.chunk", "choices": [choice]}


def usage_chunk(head: JsonObject, usage: RunUsage) -> JsonObject:
    return head | {"object": "chat.completion.chunk", "choices": [], "usage": chat_usage(usage)}


def calls_delta(calls: Sequence[ToolCall]) -> JsonObject:
    return {"tool_calls": [{"index": index} | _call_body(call) for index, call in enumerate(calls)]}


def _call_body(call: ToolCall) -> JsonObject:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def chat_usage(usage: RunUsage) -> JsonObject:
    """Summed over all the steps that the answer took."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def chat_error(error: AppError) -> dict[str, Any]:
    """As OpenAI's clients read it."""
    if isinstance(error, ProviderError):
        kind = error.error_type
    else:
        kind = "server_error" if status_of(error) >= 500 else "invalid_request_error"
    return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code.lower()}}
