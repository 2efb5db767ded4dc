"""Messages as the items that OpenAI's Responses API wants, each as JSON text of its own."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from remanence.core.llm import InContext
from remanence.core.message import (
    ImagePart,
    ImageSource,
    Message,
    Part,
    SummarizedReasoningPart,
    TextPart,
    ToolReturn,
)
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.encoding import (
    LOST_IMAGE,
    call_arguments,
    encode_each,
    image_url,
    plain_call_id,
    safe_name,
    split_return,
    thoughts_of,
)


def encode_items(messages: Sequence[InContext], *, model: str, thoughts_in_arguments: bool) -> bytes:
    """A JSON array."""
    key = f"responses:{thoughts_in_arguments:d}{model}"
    encode = partial(encode_message, model=model, thoughts_in_arguments=thoughts_in_arguments)
    return b"[" + b",".join(encode_each(messages, key, encode)) + b"]"


def encode_message(message: Message, *, model: str, thoughts_in_arguments: bool) -> tuple[bytes, ...]:
    match message.role:
        case "system":
            items = [{"role": "system", "content": message.text}]
        case "user" | "summary":
            items = [{"role": "user", "content": _content(message.content)}]
        case "assistant" | "approval":
            items = _spoken(message, model, thoughts_in_arguments=thoughts_in_arguments)
        case "tool":
            items = [_output(each) for each in message.tool_returns]
    return tuple(json.encode(item) for item in items)


def _spoken(message: Message, model: str, *, thoughts_in_arguments: bool) -> list[JsonObject]:
    items: list[JsonObject] = []
    is_own = message.model == model
    for part in message.content:
        if isinstance(part, TextPart) and part.text:
            items.append({"role": "assistant", "content": part.text})
        elif isinstance(part, SummarizedReasoningPart) and is_own and part.encrypted_content:
            items.append(_reasoning(part))
    thoughts = thoughts_of(message, is_native=False) if thoughts_in_arguments else ""
    for index, call in enumerate(message.tool_calls):
        items.append(
            {
                "type": "function_call",
                "call_id": plain_call_id(call.id),
                "name": safe_name(call.name) or "unknown",
                "arguments": call_arguments(call, thoughts if index == 0 else ""),
            }
        )
    while items and items[-1].get("type") == "reasoning":  # refused unless something follows it
        items.pop()
    return items


def _reasoning(part: SummarizedReasoningPart) -> JsonObject:
    return {
        "type": "reasoning",
        "id": part.id,
        "summary": [{"type": "summary_text", "text": each.text} for each in part.summary],
        "encrypted_content": part.encrypted_content,
    }


def _output(each: ToolReturn) -> JsonObject:
    text, images = split_return(each.content)
    output: Any = text
    if images:
        words = [{"type": "input_text", "text": text}] if text else []
        output = [*words, *(_image(part.source) for part in images)]
    return {"type": "function_call_output", "call_id": plain_call_id(each.tool_call_id), "output": output}


def _content(parts: Iterable[Part]) -> str | list[JsonObject]:
    shown = [part for part in parts if isinstance(part, TextPart | ImagePart)]
    if not any(isinstance(part, ImagePart) for part in shown):
        return "\n".join(part.text for part in shown if isinstance(part, TextPart))
    return [
        {"type": "input_text", "text": part.text} if isinstance(part, TextPart) else _image(part.source)
        for part in shown
    ]


def _image(source: ImageSource) -> JsonObject:
    url = image_url(source)
    if url is None:
        return {"type": "input_text", "text": LOST_IMAGE}
    detail = getattr(source, "detail", None)
    return {"type": "input_image", "image_url": url, "detail": detail or "auto"}
