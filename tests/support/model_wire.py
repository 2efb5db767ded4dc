"""The providers' own formats, as the scripted model speaks them: requests in, answers out.

One `WireFormat` per format; the script and the journal are shared between them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from tests.support.script import Call, Line, Signal, Speech, Thought, argument_pieces, words

from remanence.kit import json
from remanence.kit.json import JsonObject


@dataclass(frozen=True)
class SeenToolReturn:
    """A tool's outcome as the model saw it, unpacked."""

    tool_call_id: str
    content: str
    status: Literal["success", "error"]
    message: str


@dataclass(eq=False)
class SeenRequest:
    """One request in the journal. `messages` and `tools` are as Chat Completions has them, in every format."""

    body: JsonObject
    headers: Mapping[str, str]
    path: str
    messages: list[JsonObject]
    tools: list[JsonObject]
    system: str
    hung_up: Signal = field(default_factory=Signal)
    """Set when the client closed the connection before the answer was complete."""
    answered: Signal = field(default_factory=Signal)
    """Set when the answer went out in full."""

    @property
    def model(self) -> str:
        """Google's stands in the path."""
        return str(self.body.get("model") or self.path.rpartition("/")[2].partition(":")[0])

    @property
    def is_stream(self) -> bool:
        endings = (":streamGenerateContent", "-with-response-stream")
        return bool(self.body.get("stream")) or self.path.endswith(endings)

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]

    @property
    def last_user(self) -> str:
        """The text of the last user message."""
        found = [message for message in self.messages if message["role"] == "user"]
        return text_of(found[-1]) if found else ""

    @property
    def tool_returns(self) -> list[SeenToolReturn]:
        return [_tool_return(message) for message in self.messages if message["role"] == "tool"]

    @property
    def last_tool_return(self) -> SeenToolReturn:
        return self.tool_returns[-1]


class WireFormat(Protocol):
    path: str

    def read(self, body: JsonObject, headers: Mapping[str, str], path: str) -> SeenRequest: ...

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        """The reply as a stream, one frame per token."""
        ...

    def whole(self, line: Line, request: SeenRequest, serial: int) -> bytes:
        """The reply as one JSON body."""
        ...


def text_of(message: JsonObject) -> str:
    content: Any = message.get("content")
    if isinstance(content, list):
        parts = cast("list[JsonObject]", content)
        return "".join(str(part.get("text", "")) for part in parts)
    return content or ""


def _tool_return(message: JsonObject) -> SeenToolReturn:
    content = text_of(message)
    try:
        packed = json.decode(content)
        failed, text = packed["status"] == "Failed", str(packed["message"])
    except (ValueError, KeyError, TypeError):
        failed, text = False, content
    return SeenToolReturn(message["tool_call_id"], content, "error" if failed else "success", text)


class ChatCompletions:
    """OpenAI Chat Completions."""

    path = "/v1/chat/completions"

    def read(self, body: JsonObject, headers: Mapping[str, str], path: str) -> SeenRequest:
        messages: list[JsonObject] = body["messages"]
        is_led = bool(messages) and messages[0]["role"] in ("system", "developer")
        return SeenRequest(
            body=body,
            headers=headers,
            path=path,
            messages=messages,
            tools=body.get("tools") or [],
            system=text_of(messages[0]) if is_led else "",
        )

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        head = f'data: {{"id":"chatcmpl-{serial}","object":"chat.completion.chunk","created":1,"model":{json.encode_text(request.model)},'
        count = 0
        has_role = False
        call_index = 0
        for piece in line.pieces:
            deltas: Iterator[JsonObject]
            match piece:
                case Thought(text=text):
                    deltas = ({"reasoning_content": word} for word in words(text))
                case Speech(text):
                    deltas = ({"content": word} for word in words(text))
                case Call():
                    deltas = _call_deltas(piece, call_index, serial)
                    call_index += 1
            for delta in deltas:
                if not has_role:
                    delta = {"role": "assistant", **delta}
                    has_role = True
                count += 1
                choice = {"index": 0, "delta": delta, "finish_reason": None}
                yield f'{head}"choices":[{json.encode_text(choice)}]}}\n\n'.encode()
        finish: JsonObject = {"index": 0, "delta": {}, "finish_reason": _finish_reason(line)}
        last = f'{head}"choices":[{json.encode_text(finish)}]}}\n\n'
        stream_options: JsonObject = request.body.get("stream_options") or {}
        if stream_options.get("include_usage"):
            last += f'{head}"choices":[],"usage":{json.encode_text(_usage(line, request, count))}}}\n\n'
        yield (last + "data: [DONE]\n\n").encode()

    def whole(self, line: Line, request: SeenRequest, serial: int) -> bytes:
        message: JsonObject = {"role": "assistant", "content": line.text or None}
        if line.thinking:
            message["reasoning_content"] = line.thinking
        if line.calls:
            message["tool_calls"] = [
                {
                    "id": call_id_of(call, index, serial),
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for index, call in enumerate(line.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(line)}
        count = sum(
            len(words(text)) for text in (line.text, line.thinking, *(call.arguments for call in line.calls))
        )
        return json.encode(
            {
                "id": f"chatcmpl-{serial}",
                "object": "chat.completion",
                "created": 1,
                "model": request.model,
                "choices": [choice],
                "usage": _usage(line, request, count),
            }
        )


def _call_deltas(call: Call, index: int, serial: int) -> Iterator[JsonObject]:
    opening = {"name": call.name, "arguments": ""}
    yield {
        "tool_calls": [
            {"index": index, "id": call_id_of(call, index, serial), "type": "function", "function": opening}
        ]
    }
    for piece in argument_pieces(call.arguments):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def call_id_of(call: Call, index: int, serial: int) -> str:
    return call.id if call.id is not None else f"call_{serial}_{index}"


def _finish_reason(line: Line) -> str:
    return line.finish_reason or ("tool_calls" if line.calls else "stop")


def prompt_tokens(line: Line, request: SeenRequest) -> int:
    if line.counts.prompt is not None:
        return line.counts.prompt
    return sum(len(text_of(message)) for message in request.messages) // 4 + 1


def completion_tokens(line: Line) -> int:
    if line.counts.completion is not None:
        return line.counts.completion
    texts = (line.text, line.thinking, *(call.arguments for call in line.calls))
    return sum(len(words(text)) for text in texts)


def _usage(line: Line, request: SeenRequest, produced: int) -> JsonObject:
    counts = line.counts
    prompt = prompt_tokens(line, request)
    completion = produced if counts.completion is None else counts.completion
    usage: JsonObject = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if counts.cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": counts.cached}
    if counts.written is not None:
        usage.setdefault("prompt_tokens_details", {})["cache_write_tokens"] = counts.written
    if counts.reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": counts.reasoning}
    return usage
