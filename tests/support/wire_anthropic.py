"""Anthropic's Messages API, as the scripted model speaks it."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.model_wire import SeenRequest, call_id_of, completion_tokens, prompt_tokens
from tests.support.script import Call, Line, Speech, Thought, argument_pieces, words

from remanence.kit import json
from remanence.kit.json import JsonObject

_REASONS = {"length": "max_tokens", "content_filter": "refusal"}


class AnthropicMessages:
    path = "/v1/messages"

    def read(self, body: JsonObject, headers: Mapping[str, str], path: str) -> SeenRequest:
        system: list[JsonObject] = body.get("system") or []
        return SeenRequest(
            body=body,
            headers=headers,
            path=path,
            messages=[flat for message in body["messages"] for flat in _flat(message)],
            tools=[{"type": "function", "function": tool} for tool in body.get("tools") or ()],
            system="".join(block["text"] for block in system),
        )

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        usage = _usage(line, request)
        start = self._message(request, serial) | {"usage": usage | {"output_tokens": 1}}
        head = _event("message_start", message=start) + _event("ping")
        for index, piece in enumerate(line.pieces):
            opening, deltas = _block(piece, line, serial)
            head += _event("content_block_start", index=index, content_block=opening)
            for delta in deltas:
                yield head + _event("content_block_delta", index=index, delta=delta)
                head = b""
            head += _event("content_block_stop", index=index)
        ending = {"stop_reason": _reason(line), "stop_sequence": None}
        last = _event("message_delta", delta=ending, usage={"output_tokens": usage["output_tokens"]})
        yield head + last + _event("message_stop")

    def whole(self, line: Line, request: SeenRequest, serial: int) -> bytes:
        content: list[JsonObject] = []
        for piece in line.pieces:
            block, _ = _block(piece, line, serial)
            match piece:
                case Speech(text):
                    block["text"] = text
                case Thought(text, signature, False):
                    block |= {"thinking": text, "signature": signature or ""}
                case Call():
                    block["input"] = json.decode(piece.arguments)
                case _:
                    pass
            content.append(block)
        body = self._message(request, serial)
        return json.encode(
            body | {"content": content, "stop_reason": _reason(line), "usage": _usage(line, request)}
        )

    def _message(self, request: SeenRequest, serial: int) -> JsonObject:
        return {
            "id": f"msg_{serial}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }


def _block(piece: Thought | Speech | Call, line: Line, serial: int) -> tuple[JsonObject, list[JsonObject]]:
    match piece:
        case Speech(text):
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": word} for word in words(text)
            ]
        case Thought(text, _, True):
            return {"type": "redacted_thinking", "data": text}, []
        case Thought(text, signature):
            deltas: list[JsonObject] = [{"type": "thinking_delta", "thinking": word} for word in words(text)]
            if signature is not None:
                deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Call():
            id = call_id_of(piece, line.calls.index(piece), serial)
            opening: JsonObject = {"type": "tool_use", "id": id, "name": piece.name, "input": {}}
            pieces = ["", *argument_pieces(piece.arguments)] if piece.arguments != "{}" else [""]
            return opening, [{"type": "input_json_delta", "partial_json": each} for each in pieces]


def _event(kind: str, **fields: Any) -> bytes:
    data = json.encode({"type": kind} | fields)
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def _reason(line: Line) -> str:
    if line.finish_reason is not None:
        return _REASONS.get(line.finish_reason, line.finish_reason)
    return "tool_use" if line.calls else "end_turn"


def _usage(line: Line, request: SeenRequest) -> JsonObject:
    counts = line.counts
    beside = (counts.cached or 0) + (counts.written or 0)
    usage: JsonObject = {
        "input_tokens": prompt_tokens(line, request) - beside,
        "output_tokens": completion_tokens(line),
    }
    if counts.cached is not None:
        usage["cache_read_input_tokens"] = counts.cached
    if counts.written is not None:
        usage["cache_creation_input_tokens"] = counts.written
    if counts.reasoning is not None:
        usage["output_tokens_details"] = {"thinking_tokens": counts.reasoning}
    return usage


def _flat(message: JsonObject) -> Iterator[JsonObject]:
    """A turn as Chat Completions would have it."""
    content: Any = message["content"]
    blocks: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results = [block for block in blocks if block["type"] == "tool_result"]
    for block in results:
        yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
    texts = [block for block in blocks if block["type"] == "text"]
    if texts or not results:
        yield {"role": message["role"], "content": texts}
