"""Google's Gemini API, as the scripted model speaks it."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.model_wire import SeenRequest, call_id_of, completion_tokens, prompt_tokens
from tests.support.script import Call, Line, Speech, Thought, words

from remanence.kit import json
from remanence.kit.json import JsonObject

_REASONS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


class Gemini:
    path = "/v1beta/models/{model}:streamGenerateContent"

    def read(self, body: JsonObject, headers: Mapping[str, str], path: str) -> SeenRequest:
        system: JsonObject = body.get("systemInstruction") or {"parts": []}
        declared = [each for tool in body.get("tools") or () for each in tool["functionDeclarations"]]
        return SeenRequest(
            body=body,
            headers=headers,
            path=path,
            messages=[flat for content in body["contents"] for flat in _flat(content)],
            tools=[{"type": "function", "function": each} for each in declared],
            system="".join(part["text"] for part in system["parts"]),
        )

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        for piece in line.pieces:
            for part in _parts(piece, line, serial):
                yield _frame(
                    {"candidates": [{"content": _content([part]), "index": 0}]} | _head(request, serial)
                )
        yield _frame(_last(line, request, serial, []))

    def whole(self, line: Line, request: SeenRequest, serial: int) -> bytes:
        parts = [part for piece in line.pieces for part in _parts(piece, line, serial)]
        return json.encode(_last(line, request, serial, parts))


def _parts(piece: Thought | Speech | Call, line: Line, serial: int) -> list[JsonObject]:
    match piece:
        case Speech(text):
            return [{"text": word} for word in words(text)]
        case Thought(text, signature):
            parts: list[JsonObject] = [{"text": word, "thought": True} for word in words(text)]
            if signature is not None:
                parts[-1]["thoughtSignature"] = signature
            return parts
        case Call():
            call_id = call_id_of(piece, line.calls.index(piece), serial)
            call = {"id": call_id, "name": piece.name, "args": json.decode(piece.arguments)}
            signed = {"thoughtSignature": piece.signature} if piece.signature is not None else {}
            return [{"functionCall": call, **signed}]


def _last(line: Line, request: SeenRequest, serial: int, parts: list[JsonObject]) -> JsonObject:
    counts = line.counts
    prompt, completion = prompt_tokens(line, request), completion_tokens(line)
    thoughts = counts.reasoning
    usage: JsonObject = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": completion - (thoughts or 0),
        "totalTokenCount": prompt + completion,
    }
    if counts.cached is not None:
        usage["cachedContentTokenCount"] = counts.cached
    if thoughts is not None:
        usage["thoughtsTokenCount"] = thoughts
    reason = _REASONS.get(line.finish_reason or "", line.finish_reason or "STOP")
    candidate: JsonObject = {"content": _content(parts), "finishReason": reason, "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage} | _head(request, serial)


def _content(parts: list[JsonObject]) -> JsonObject:
    return {"role": "model", "parts": parts or [{"text": ""}]}


def _head(request: SeenRequest, serial: int) -> JsonObject:
    return {"modelVersion": request.model, "responseId": f"response-{serial}"}


def _frame(body: JsonObject) -> bytes:
    return b"data: " + json.encode(body) + b"\r\n\r\n"


def _flat(content: JsonObject) -> Iterator[JsonObject]:
    """A turn as Chat Completions would have it."""
    texts: list[JsonObject] = []
    parts: list[Any] = content["parts"]
    for part in parts:
        if "functionResponse" in part:
            answer = part["functionResponse"]
            text = json.encode_text(answer["response"])
            yield {"role": "tool", "tool_call_id": answer.get("id", ""), "content": text}
        elif "text" in part and not part.get("thought"):
            texts.append({"type": "text", "text": part["text"]})
    if texts or not any("functionResponse" in part for part in parts):
        yield {"role": "assistant" if content["role"] == "model" else "user", "content": texts}
