"""From JSON to what a function's annotations ask for: enums, dataclasses, pydantic models, dates."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

_FROM_TEXT: dict[Any, Callable[[Any], Any]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    uuid.UUID: uuid.UUID,
    pathlib.Path: pathlib.Path,
    decimal.Decimal: lambda value: decimal.Decimal(str(value)),
}


def convert(value: Any, hint: Any, name: str) -> Any:
    """Raises ValueError that names the argument."""
    try:
        return _convert(value, hint)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the argument {name} does not fit: {error}") from None


def _make(kind: Any, *args: Any, **named: Any) -> Any:
    return kind(*args, **named)


def _convert(value: Any, hint: Any) -> Any:
    if value is None or hint is None or hint is Any:
        return value
    origin: Any = typing.get_origin(hint)
    inner: tuple[Any, ...] = typing.get_args(hint)
    if origin is typing.Annotated:
        return _convert(value, inner[0])
    if origin in (typing.Union, types.UnionType):
        return _first_that_fits(value, inner)
    if origin in (list, set, frozenset, tuple) or (origin is not None and isinstance(value, list)):
        return _convert_items(value, origin, inner)
    if origin is dict and isinstance(value, dict) and len(inner) == 2:
        return {key: _convert(each, inner[1]) for key, each in typing.cast(dict[str, Any], value).items()}
    if hint in (set, frozenset, tuple) and isinstance(value, list):
        return _make(hint, typing.cast(Any, value))
    return _convert_plain(value, hint) if isinstance(hint, type) else typing.cast(Any, value)


def _convert_plain(value: Any, hint: Any) -> Any:
    if hint in _FROM_TEXT:
        return _FROM_TEXT[hint](value)
    if issubclass(hint, enum.Enum):
        return value if isinstance(value, hint) else hint(value)
    if hasattr(hint, "model_validate") and isinstance(value, dict):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        given = typing.cast(dict[str, Any], value)
        return _make(hint, **{key: _convert(each, hints.get(key)) for key, each in given.items()})
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _convert_items(value: Any, origin: Any, inner: tuple[Any, ...]) -> Any:
    if not isinstance(value, list) or not inner:
        return typing.cast(Any, value)
    items = typing.cast(list[Any], value)
    if origin is tuple and inner[-1] is not ...:
        return tuple(_convert(each, hint) for each, hint in zip(items, inner, strict=False))
    converted = [_convert(each, inner[0]) for each in items]
    return _make(origin, converted) if origin in (set, frozenset, tuple) else converted


def _first_that_fits(value: Any, options: tuple[Any, ...]) -> Any:
    for option in options:
        if option is type(value):
            return value
    for option in options:
        try:
            converted = _convert(value, option)
        except Exception:
            continue
        if converted is not value:
            return converted
    return value
