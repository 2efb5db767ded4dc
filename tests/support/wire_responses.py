"""OpenAI's Responses API, as the scripted model speaks it."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.model_wire import SeenRequest, call_id_of, completion_tokens, prompt_tokens, text_of
from tests.support.script import Call, Line, Speech, Thought, argument_pieces, words

from remanence.kit import json
from remanence.kit.json import JsonObject


class Responses:
    path = "/v1/responses"

    def read(self, body: JsonObject, headers: Mapping[str, str], path: str) -> SeenRequest:
        items: list[JsonObject] = body["input"]
        messages = [flat for item in items if (flat := _flat(item)) is not None]
        is_led = bool(messages) and messages[0]["role"] == "system"
        return SeenRequest(
            body=body,
            headers=headers,
            path=path,
            messages=messages,
            tools=[{"type": "function", "function": tool} for tool in body.get("tools") or ()],
            system=text_of(messages[0]) if is_led else "",
        )

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        numbers = iter(range(1_000_000))

        def event(kind: str, **fields: Any) -> bytes:
            data = json.encode({"type": kind, "sequence_number": next(numbers)} | fields)
            return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"

        head = event("response.created", response=_response(request, serial, "in_progress", []))
        items = [_item(piece, index, line, serial) for index, piece in enumerate(line.pieces)]
        for index, (piece, item) in enumerate(zip(line.pieces, items, strict=True)):
            place: JsonObject = {"item_id": item["id"], "output_index": index}
            head += event("response.output_item.added", output_index=index, item=_opening(item))
            kind, pieces = _stream_of(piece)
            inner: JsonObject = {"content_index": 0}
            if isinstance(piece, Thought):
                inner = {"summary_index": 0}
                part: JsonObject = {"type": "summary_text", "text": ""}
                head += event("response.reasoning_summary_part.added", **place, **inner, part=part)
            elif isinstance(piece, Call):
                inner = {}
            else:
                inner["logprobs"] = []
            for each in pieces:
                yield head + event(kind, **place, **inner, delta=each)
                head = b""
            yield head + event("response.output_item.done", output_index=index, item=item)
            head = b""
        kind = "response.incomplete" if line.finish_reason else "response.completed"
        yield head + event(kind, response=_ended(line, request, serial, items))

    def whole(self, line: Line, request: SeenRequest, serial: int) -> bytes:
        items = [_item(piece, index, line, serial) for index, piece in enumerate(line.pieces)]
        return json.encode(_ended(line, request, serial, items))


def _stream_of(piece: Thought | Speech | Call) -> tuple[str, list[str]]:
    match piece:
        case Speech(text):
            return "response.output_text.delta", words(text)
        case Thought(text=text, is_redacted=is_redacted):
            return "response.reasoning_summary_text.delta", [] if is_redacted else words(text)
        case Call():
            return "response.function_call_arguments.delta", argument_pieces(piece.arguments)


def _item(piece: Thought | Speech | Call, index: int, line: Line, serial: int) -> JsonObject:
    match piece:
        case Speech(text):
            part: JsonObject = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            item: JsonObject = {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
            return {"id": f"msg_{serial}_{index}"} | item
        case Thought(text, signature, is_redacted):
            summary = [] if is_redacted else [{"type": "summary_text", "text": text}]
            secret = text if is_redacted else signature
            item = {"type": "reasoning", "summary": summary, "encrypted_content": secret}
            return {"id": f"rs_{serial}_{index}"} | item
        case Call():
            item = {"type": "function_call", "name": piece.name, "arguments": piece.arguments}
            call_id = call_id_of(piece, line.calls.index(piece), serial)
            return {"id": f"fc_{serial}_{index}", "call_id": call_id, "status": "completed"} | item


def _opening(item: JsonObject) -> JsonObject:
    """The item as it is when it is announced."""
    empty: JsonObject = {"content": [], "summary": [], "arguments": "", "encrypted_content": "unfinished"}
    return item | {key: value for key, value in empty.items() if key in item}


def _response(request: SeenRequest, serial: int, status: str, items: list[JsonObject]) -> JsonObject:
    return {
        "id": f"resp_{serial}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": request.model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _ended(line: Line, request: SeenRequest, serial: int, items: list[JsonObject]) -> JsonObject:
    counts = line.counts
    prompt, completion = prompt_tokens(line, request), completion_tokens(line)
    usage: JsonObject = {
        "input_tokens": prompt,
        "input_tokens_details": {
            "cached_tokens": counts.cached or 0,
            "cache_write_tokens": counts.written or 0,
        },
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning or 0},
        "total_tokens": prompt + completion,
    }
    ended = _response(request, serial, "completed", items) | {"usage": usage}
    if line.finish_reason:
        why = "max_output_tokens" if line.finish_reason == "length" else line.finish_reason
        ended |= {"status": "incomplete", "incomplete_details": {"reason": why}}
    return ended


def _flat(item: JsonObject) -> JsonObject | None:
    """An item as Chat Completions would have it."""
    match item.get("type", "message"):
        case "message":
            return {"role": item["role"], "content": item["content"]}
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            calls = [{"id": item["call_id"], "type": "function", "function": function}]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        case _:
            return None
