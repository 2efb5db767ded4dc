"""Messages as Google's Gemini API wants them, each as JSON text of its own."""

from collections.abc import Iterable, Sequence
from functools import partial

from remanence.core.llm import InContext
from remanence.core.message import (
    ImagePart,
    ImageSource,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolReturn,
    UrlImage,
)
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.encoding import (
    LOST_IMAGE,
    arguments_part,
    encode_each,
    media_type_of,
    plain_call_id,
    read_object,
    safe_name,
    split_return,
    thoughts_of,
)

_MODEL = b'{"role":"model"'
# Turns that a history may lack at its ends, and the API insists on.
_BEFORE = b'{"role":"user","parts":[{"text":"(The conversation begins.)"}]}'
_AFTER = b'{"role":"user","parts":[{"text":"(Please go on.)"}]}'
_NOTHING_SAID = "(no text)"
_UNSIGNED = "skip_thought_signature_validator"
"""What Google asks for in the place of a signature that another model's call cannot have."""


def encode_history(
    messages: Sequence[InContext], *, model: str, thoughts_in_arguments: bool
) -> tuple[bytes | None, bytes]:
    """The system instruction, if there is one, and the contents as a JSON array."""
    system: bytes | None = None
    if messages and messages[0].message.role == "system":
        text = messages[0].message.text
        messages = messages[1:]
        if text.strip():
            system = json.encode({"parts": [{"text": text}]})
    key = f"gemini:{thoughts_in_arguments:d}{model}"
    encode = partial(encode_message, model=model, thoughts_in_arguments=thoughts_in_arguments)
    pieces = encode_each(messages, key, encode)
    if not pieces or pieces[0].startswith(_MODEL):
        pieces.insert(0, _BEFORE)
    if pieces[-1].startswith(_MODEL):
        pieces.append(_AFTER)
    return system, b"[" + b",".join(pieces) + b"]"


def encode_message(message: Message, *, model: str, thoughts_in_arguments: bool) -> tuple[bytes, ...]:
    match message.role:
        case "system":
            return _turn("user", [{"text": f"<system>\n{message.text}\n</system>"}])
        case "user" | "summary":
            return _turn("user", _shown(message.content) or [{"text": _NOTHING_SAID}])
        case "assistant" | "approval":
            return _turn("model", _spoken(message, model, thoughts_in_arguments=thoughts_in_arguments))
        case "tool":
            return _returned(message.tool_returns)


def needs_signatures(model: str) -> bool:
    """Gemini 3 and later refuse calls without the signatures that they came with."""
    number = model.rpartition("/")[2].removeprefix("gemini-")[:1]
    return number.isdigit() and int(number) >= 3


def _turn(role: str, parts: list[JsonObject]) -> tuple[bytes, ...]:
    return (json.encode({"role": role, "parts": parts}),) if parts else ()


def _spoken(message: Message, model: str, *, thoughts_in_arguments: bool) -> list[JsonObject]:
    is_own = message.model == model
    parts: list[JsonObject] = []
    for part in message.content:
        if isinstance(part, TextPart) and part.text:
            parts.append({"text": part.text} | _signed(part.signature if is_own else None))
        elif isinstance(part, ReasoningPart) and is_own and part.signature is not None:
            parts.append({"text": part.reasoning, "thought": True} | _signed(part.signature))
    thoughts = thoughts_of(message, is_native=False) if thoughts_in_arguments else ""
    for index, call in enumerate(message.tool_calls):
        signature = call.signature if is_own else None
        if signature is None and index == 0 and needs_signatures(model):
            signature = _UNSIGNED
        function = {
            "id": plain_call_id(call.id),
            "name": safe_name(call.name) or "unknown",
            "args": arguments_part(call, thoughts if index == 0 else ""),
        }
        parts.append({"functionCall": function} | _signed(signature))
    return parts


def _signed(signature: str | None) -> JsonObject:
    return {"thoughtSignature": signature} if signature is not None else {}


def _returned(returns: Sequence[ToolReturn]) -> tuple[bytes, ...]:
    """One part per call, as many as there were calls. Images follow in a turn of their own."""
    parts: list[JsonObject] = []
    images: list[JsonObject] = []
    for each in returns:
        text, found = split_return(each.content)
        key = "error" if each.status == "error" else "output"
        parts.append(
            {
                "functionResponse": {
                    "id": plain_call_id(each.tool_call_id),
                    "name": safe_name(each.name) or "unknown",
                    "response": read_object(text) or {key: text},
                }
            }
        )
        if found:
            images.append({"text": f"What {each.name} returned:"})
            images += (_image(part.source) for part in found)
    return (*_turn("user", parts), *_turn("user", images))


def _shown(parts: Iterable[Part]) -> list[JsonObject]:
    shown: list[JsonObject] = []
    for part in parts:
        if isinstance(part, TextPart):
            if part.text:
                shown.append({"text": part.text})
        elif isinstance(part, ImagePart):
            shown.append(_image(part.source))
    return shown


def _image(source: ImageSource) -> JsonObject:
    if isinstance(source, UrlImage):
        return {"fileData": {"fileUri": source.url}}
    if not source.data:
        return {"text": LOST_IMAGE}
    return {"inlineData": {"mimeType": media_type_of(source), "data": source.data}}
