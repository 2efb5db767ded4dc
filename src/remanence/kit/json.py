"""JSON in and out. One encoder for the wire, one for texts that people and models read."""

import json
from typing import Any

import orjson

JsonObject = dict[str, Any]
"""A JSON object from outside; whoever takes one validates it or passes it on untouched."""


def encode(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_UTC_Z)
    except TypeError:  # a key that is no string; to allow for those costs half as much again
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z)


def encode_indented(value: object) -> bytes:
    """For files that people look into."""
    return orjson.dumps(value, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | orjson.OPT_INDENT_2)


def fitted(text: bytes) -> bytes:
    """An encoded text to be kept, without the kilobytes that the encoder leaves reserved behind it."""
    return bytes(memoryview(text))


def encode_part(value: object) -> object:
    """Encoded now, to stand in several values that are encoded later."""
    return orjson.Fragment(encode(value))


def encode_text(value: object) -> str:
    return encode(value).decode()


def decode(text: str | bytes) -> Any:
    """Raises ValueError when the text is not JSON."""
    return orjson.loads(text)


def readable(value: object, indent: int | None = None) -> str:
    """JSON with spaces and unescaped letters, as it stands in prompts and tool arguments."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
