"""Types for what comes from outside and is to be stored.

PostgreSQL can hold neither a NUL character in text nor what is no JSON of its own; SQLite could. So that
both behave alike, and bad input is a 422 and not an error of the database, it stops here. No HTTP in it.
"""

from typing import Annotated, Any

from pydantic import AfterValidator

from remanence.kit import json
from remanence.kit.json import JsonObject


def check_text(text: str) -> str:
    if "\x00" in text:
        raise ValueError("text must not contain the NUL character (U+0000)")
    return text


def check_json(value: JsonObject) -> JsonObject:
    try:
        json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:  # half a surrogate pair, a number beyond 64 bits
        raise ValueError(f"this cannot be stored as JSON: {error}") from None
    _check_strings(value)
    return value


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
