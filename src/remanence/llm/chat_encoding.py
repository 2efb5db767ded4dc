"""Messages as OpenAI Chat Completions wants them, each as JSON text of its own.

A message is encoded without looking at its neighbours, so that the encoding can be kept with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from remanence.core.llm import InContext
from remanence.core.message import (
    ImagePart,
    ImageSource,
    Message,
    OmittedReasoningPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolReturn,
    UrlImage,
)
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.encoding import (
    IMAGE_FOLLOWS,
    LOST_IMAGE,
    call_arguments,
    encode_each,
    image_url,
    safe_name,
    split_return,
    thoughts_of,
)
from remanence.llm.vendors import Quirks

_BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class EncodingStyle:
    """All that the encoding of a message depends on beside the message."""

    takes_names: bool
    sends_reasoning_back: bool
    call_id_chars: int
    thoughts_in_arguments: bool
    details_of: str = ""
    """The model whose `reasoning_details` go back to it."""

    @property
    def key(self) -> str:
        """The mark under which an encoding is kept: equal marks, equal encodings."""
        return (
            f"chat:{self.takes_names:d}{self.sends_reasoning_back:d}"
            f"{self.thoughts_in_arguments:d}{self.call_id_chars}{self.details_of}"
        )


def style_of(quirks: Quirks, *, model: str = "", thoughts_in_arguments: bool) -> EncodingStyle:
    return EncodingStyle(
        takes_names=quirks.takes_names,
        sends_reasoning_back=quirks.sends_reasoning_back,
        call_id_chars=quirks.call_id_chars,
        thoughts_in_arguments=thoughts_in_arguments,
        details_of=model if quirks.keeps_details else "",
    )


def encode_messages(messages: Sequence[InContext], style: EncodingStyle, key: str) -> bytes:
    """A JSON array. `key` is `style.key`, made once by the caller: this runs over whole histories."""
    pieces = encode_each(messages, key, lambda message: encode_message(message, style))
    return b"[" + b",".join(pieces) + b"]"


def encode_message(message: Message, style: EncodingStyle) -> tuple[bytes, ...]:
    match message.role:
        case "system":
            return (json.encode({"role": "system", "content": message.text}),)
        case "user" | "summary":
            return (json.encode(_user(message, style)),)
        case "assistant" | "approval":
            # A person's answer to an approval has no calls: it speaks through the tool returns that follow.
            encoded = _assistant(message, style)
            return (json.encode(encoded),) if encoded else ()
        case "tool":
            return tuple(json.encode(each) for each in _returns(message.tool_returns, style))


def _user(message: Message, style: EncodingStyle) -> JsonObject:
    encoded: JsonObject = {"role": "user", "content": _content(message.content)}
    if style.takes_names and message.name and (name := safe_name(message.name)):
        encoded["name"] = name
    return encoded


def _content(parts: Iterable[Part]) -> str | list[JsonObject]:
    """Plain text where there are no images: every vendor takes that."""
    shown = [part for part in parts if isinstance(part, TextPart | ImagePart)]
    if not any(isinstance(part, ImagePart) for part in shown):
        return "\n".join(part.text for part in shown if isinstance(part, TextPart))
    return [
        {"type": "text", "text": part.text} if isinstance(part, TextPart) else _image(part.source)
        for part in shown
    ]


def _image(source: ImageSource) -> JsonObject:
    url = image_url(source)
    if url is None:
        return {"type": "text", "text": LOST_IMAGE}
    detail = None if isinstance(source, UrlImage) else source.detail
    return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}


def _assistant(message: Message, style: EncodingStyle) -> JsonObject | None:
    text = message.text
    if not text and not message.tool_calls:
        return None
    encoded: JsonObject = {"role": "assistant", "content": text or None}
    if style.sends_reasoning_back:
        encoded["reasoning_content"] = thoughts_of(message, is_native=True)
    if style.details_of and message.model == style.details_of and (details := _details(message)):
        encoded["reasoning_details"] = details
    if message.tool_calls:
        thoughts = thoughts_of(message, is_native=False) if style.thoughts_in_arguments else ""
        encoded["tool_calls"] = [
            _call(call, thoughts if index == 0 else "", style)
            for index, call in enumerate(message.tool_calls)
        ]
    return encoded


def _details(message: Message) -> list[JsonObject]:
    """What a provider gave in the place of signatures, together."""
    sealed = [
        part.signature
        for part in message.content
        if isinstance(part, ReasoningPart | OmittedReasoningPart) and part.signature
    ]
    return [detail for each in sealed if each.startswith("[") for detail in json.decode(each)]


def _call(call: ToolCall, thoughts: str, style: EncodingStyle) -> JsonObject:
    return {
        "id": provider_call_id(call.id, style.call_id_chars),
        "type": "function",
        # A name that a model made up may hold letters which the provider then refuses to be sent.
        "function": {"name": safe_name(call.name) or "unknown", "arguments": call_arguments(call, thoughts)},
    }


def provider_call_id(call_id: str, limit_chars: int) -> str:
    """An id of another provider may be too long, or of the wrong shape, for this one; calls and returns agree."""
    if limit_chars == 9:
        if len(call_id) == 9 and call_id.isalnum() and call_id.isascii():
            return call_id
        number = int.from_bytes(blake2b(call_id.encode(), digest_size=8).digest())
        letters = [_BASE_62[(number // 62**place) % 62] for place in range(9)]
        return "".join(letters)
    if len(call_id) <= limit_chars:
        return call_id
    return f"call_{blake2b(call_id.encode(), digest_size=12).hexdigest()}"


def _returns(returns: Sequence[ToolReturn], style: EncodingStyle) -> Iterable[JsonObject]:
    """One message per return. Images follow in a user message: tool messages carry text alone."""
    images: list[JsonObject] = []
    for each in returns:
        text, found = split_return(each.content)
        yield {
            "role": "tool",
            "tool_call_id": provider_call_id(each.tool_call_id, style.call_id_chars),
            "content": text or (IMAGE_FOLLOWS if found else ""),
        }
        if found:
            images.append({"type": "text", "text": f"What {each.name} returned:"})
            images += (_image(part.source) for part in found)
    if images:
        yield {"role": "user", "content": images}
