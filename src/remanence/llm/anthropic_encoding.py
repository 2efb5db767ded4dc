"""Messages as Anthropic's Messages API wants them, each as JSON text of its own.

Every message is a list of blocks, so that it ends in `}]}` and a cache mark can be put into its last
block without encoding it again.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from remanence.core.llm import InContext
from remanence.core.message import (
    ImagePart,
    ImageSource,
    Message,
    OmittedReasoningPart,
    Part,
    ReasoningPart,
    RedactedReasoningPart,
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
    safe_name,
    split_return,
    thoughts_of,
)

_END = b"}]}"
_MARK = b',"cache_control":{"type":"ephemeral"}'
_ASSISTANT = b'{"role":"assistant"'
# Turns that a history may lack at its ends, and the API insists on.
_BEFORE = b'{"role":"user","content":[{"type":"text","text":"(The conversation begins.)"}]}'
_AFTER = b'{"role":"user","content":[{"type":"text","text":"(Please go on.)"}]}'
_NOTHING_SAID = "(no text)"


def encode_history(
    messages: Sequence[InContext], *, model: str, thoughts_in_arguments: bool
) -> tuple[bytes | None, bytes]:
    """The system prompt as a JSON array, if there is one, and the messages as another; both marked for the cache."""
    system: bytes | None = None
    if messages and messages[0].message.role == "system":
        text = messages[0].message.text
        messages = messages[1:]
        if text.strip():
            system = b'[{"type":"text","text":' + json.encode(text) + _MARK + b"}]"
    key = f"anthropic:{thoughts_in_arguments:d}{model}"
    encode = partial(encode_message, model=model, thoughts_in_arguments=thoughts_in_arguments)
    pieces = encode_each(messages, key, encode)
    if not pieces or pieces[0].startswith(_ASSISTANT):
        pieces.insert(0, _BEFORE)
    if pieces[-1].startswith(_ASSISTANT):
        pieces.append(_AFTER)
    _mark(pieces)
    return system, b"[" + b",".join(pieces) + b"]"


def _mark(pieces: list[bytes]) -> None:
    """The end is what the next request begins with; the user's turn before it was the end of the last one."""
    marked = 0
    for place in range(len(pieces) - 1, -1, -1):
        if not pieces[place].startswith(_ASSISTANT):
            pieces[place] = pieces[place][: -len(_END)] + _MARK + _END
            marked += 1
            if marked == 2:
                return


def encode_message(message: Message, *, model: str, thoughts_in_arguments: bool) -> tuple[bytes, ...]:
    match message.role:
        case "system":
            return _turn("user", [{"type": "text", "text": f"<system>\n{message.text}\n</system>"}])
        case "user" | "summary":
            return _turn("user", _shown(message.content) or [{"type": "text", "text": _NOTHING_SAID}])
        case "assistant" | "approval":
            return _turn("assistant", _spoken(message, model, thoughts_in_arguments=thoughts_in_arguments))
        case "tool":
            return _turn("user", [_result(each) for each in message.tool_returns])


def starts_with_thought(message: Message, model: str) -> bool:
    """Whether the model finds its own thoughts before what it did."""
    return message.model == model and bool(message.content) and _is_kept(message.content[0])


def _turn(role: str, blocks: list[JsonObject]) -> tuple[bytes, ...]:
    return (json.encode({"role": role, "content": blocks}),) if blocks else ()


def _spoken(message: Message, model: str, *, thoughts_in_arguments: bool) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    is_own = message.model == model
    for part in message.content:
        if isinstance(part, TextPart):
            if part.text.strip():
                blocks.append({"type": "text", "text": part.text})
        elif is_own and _is_kept(part):  # signatures hold for the model that gave them
            blocks.append(_thought(part))
    thoughts = thoughts_of(message, is_native=False) if thoughts_in_arguments else ""
    has_deeds = any(block["type"] == "text" for block in blocks) or bool(message.tool_calls)
    if not has_deeds:
        return []
    for index, call in enumerate(message.tool_calls):
        blocks.append(
            {
                "type": "tool_use",
                "id": plain_call_id(call.id),
                "name": safe_name(call.name) or "unknown",
                "input": arguments_part(call, thoughts if index == 0 else ""),
            }
        )
    return blocks


def _is_kept(part: Part) -> bool:
    match part:
        case ReasoningPart():
            return part.is_native and part.signature is not None
        case OmittedReasoningPart():
            return part.signature is not None
        case RedactedReasoningPart():
            return True
        case _:
            return False


def _thought(part: Part) -> JsonObject:
    match part:
        case RedactedReasoningPart(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ReasoningPart(reasoning=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case OmittedReasoningPart(signature=signature):
            return {"type": "thinking", "thinking": "", "signature": signature}
        case _:
            raise AssertionError("not a thought")


def _result(each: ToolReturn) -> JsonObject:
    text, images = split_return(each.content)
    content: Any = text
    if images:
        words = [{"type": "text", "text": text}] if text.strip() else []
        content = [*words, *(_image(part.source) for part in images)]
    result: JsonObject = {"type": "tool_result", "tool_use_id": plain_call_id(each.tool_call_id)}
    if each.status == "error" and not images:  # errors must be text alone
        result["is_error"] = True
    return result | {"content": content}


def _shown(parts: Iterable[Part]) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for part in parts:
        if isinstance(part, TextPart):
            if part.text.strip():
                blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            blocks.append(_image(part.source))
    return blocks


def _image(source: ImageSource) -> JsonObject:
    if isinstance(source, UrlImage):
        return {"type": "image", "source": {"type": "url", "url": source.url}}
    if not source.data:
        return {"type": "text", "text": LOST_IMAGE}
    inside = {"type": "base64", "media_type": media_type_of(source), "data": source.data}
    return {"type": "image", "source": inside}
