"""Types for what comes from outside and is to be stored. No HTTP in it.

What a database cannot hold stops here, on both alike, so that it is a 422 and not an error of the server.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator

from remanence.kit import json
from remanence.kit.json import JsonObject

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""PostgreSQL has no NUL in text, and half a surrogate pair has no UTF-8; JSON can spell both."""

MAX_NUMBER = 2**31 - 1
"""The largest number that an integer column holds."""


def check_text(text: str) -> str:
    found = _UNSTORABLE.search(text)
    if found:
        raise ValueError(f"text must not contain the character U+{ord(found[0]):04X}")
    return text


def check_json(value: JsonObject) -> JsonObject:
    try:
        json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:  # such as a number beyond 64 bits
        raise ValueError(f"this cannot be stored as JSON: {error}") from None
    _check_strings(value)
    return value


def as_utc(moment: datetime) -> datetime:
    """A moment without a zone is one in UTC."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("this moment lies outside the calendar") from None


def _check_strings(value: Any) -> None:
    match value:
        case str():
            check_text(value)
        case dict():
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                check_text(key)  # pyright: ignore[reportUnknownArgumentType]
                _check_strings(item)
        case list():
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                _check_strings(item)
        case _:
            pass


StoredText = Annotated[str, AfterValidator(check_text)]
StoredJson = Annotated[JsonObject, AfterValidator(check_json)]
StoredMoment = Annotated[datetime, AfterValidator(as_utc)]
