"""What the encodings of messages have in common, whatever the provider's format."""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, cast

import orjson

from remanence.core.llm import InContext
from remanence.core.message import (
    Base64Image,
    ImagePart,
    ImageSource,
    Message,
    ReasoningPart,
    ReturnPart,
    StoredImage,
    TextPart,
    ToolCall,
    UrlImage,
)
from remanence.kit import json
from remanence.kit.json import JsonObject

THOUGHTS_ARGUMENT = "thinking"
LOST_IMAGE = "[an image that is no longer available]"
IMAGE_FOLLOWS = "The image follows."

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST_NAME_CHARS = 64

Encode = Callable[[Message], tuple[bytes, ...]]


def encode_each(messages: Sequence[InContext], key: str, encode: Encode) -> list[bytes]:
    """The JSON text of every provider message, made once for each of ours and kept with it.

    `key` names the format and all that the encoding depends on beside the message.
    """
    pieces: list[bytes] = []
    for each in messages:
        if each.encoded_as != key:
            each.encoded = tuple(map(json.fitted, encode(each.message)))
            each.encoded_as = key
        pieces += each.encoded
    return pieces


def safe_name(name: str) -> str:
    """A name in the letters that providers allow; empty if nothing of it is left."""
    return _NOT_IN_NAMES.sub("_", name).strip("_")[:_LONGEST_NAME_CHARS]


def plain_call_id(call_id: str) -> str:
    """An id in letters that every provider takes; calls and their returns agree."""
    if len(call_id) <= _LONGEST_NAME_CHARS and call_id and not _NOT_IN_NAMES.search(call_id):
        return call_id
    return f"call_{blake2b(call_id.encode(), digest_size=12).hexdigest()}"


def valid_arguments(arguments: str) -> str:
    """The arguments of a past call as the text of a JSON object.

    Some servers read them and refuse the whole request if they cannot.
    """
    try:
        content: Any = json.decode(arguments) if arguments else {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return json.encode_text({"invalid_arguments": arguments})
    return arguments or "{}"


def call_arguments(call: ToolCall, thoughts: str) -> str:
    """The same, with the thoughts that led to the call put first where there are any."""
    arguments = valid_arguments(call.arguments)
    return with_first_argument(arguments, THOUGHTS_ARGUMENT, thoughts) if thoughts else arguments


def arguments_part(call: ToolCall, thoughts: str) -> orjson.Fragment:
    """The arguments as a JSON value to be put into another, without reading them twice."""
    return orjson.Fragment(call_arguments(call, thoughts))


def with_first_argument(arguments: str, name: str, value: str) -> str:
    """Puts an argument before the others, whose text stays as it is."""
    rest = arguments.lstrip()[1:].lstrip()
    separator = "" if rest.startswith("}") else ", "
    return f"{{{json.encode_text(name)}: {json.encode_text(value)}{separator}{rest}"


def thoughts_of(message: Message, *, is_native: bool) -> str:
    parts = (part for part in message.content if isinstance(part, ReasoningPart))
    return "".join(part.reasoning for part in parts if part.is_native is is_native)


def split_return(content: str | tuple[ReturnPart, ...]) -> tuple[str, list[ImagePart]]:
    """The words of a tool's return, and its images."""
    if isinstance(content, str):
        return content, []
    text = "\n".join(part.text for part in content if isinstance(part, TextPart))
    return text, [part for part in content if isinstance(part, ImagePart)]


def image_url(source: ImageSource) -> str | None:
    """The image as an address, with its bytes inside unless it is elsewhere; None if it is lost."""
    match source:
        case UrlImage():
            return source.url
        case Base64Image() | StoredImage():
            return f"data:{media_type_of(source)};base64,{source.data}" if source.data else None


def media_type_of(source: Base64Image | StoredImage) -> str:
    return source.media_type or "image/png"


def read_object(text: str) -> JsonObject | None:
    """The JSON object that a text is, if it is one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value: Any = json.decode(text)
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
