"""The arguments of a tool call: from the model's text to values that fit the tool.

In the order of use: `parse_arguments`, `coerce_arguments`, `check_arguments`. Error texts are
read by the model that made the call, so each says how to call properly.
"""

import re
from collections.abc import Iterator
from typing import Any

from remanence.core.almost_json import NotJson, parse_almost_json
from remanence.core.conform import (
    as_list,
    as_object,
    describe,
    find_faults,
    fits,
    has_type,
    resolve,
    types_of,
)
from remanence.kit import json
from remanence.kit.json import JsonObject

_MAX_FAULTS = 5
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and halves of surrogate pairs: JSON can spell them, databases cannot hold them."""


class BadArguments(ValueError):
    """The text of a call's arguments cannot be understood; the message is for the model."""


def parse_arguments(text: str, *, is_cut: bool = False) -> JsonObject:
    """The arguments as an object; a call without any may leave the text empty. Raises BadArguments.

    `is_cut`: the reply ended at the output limit, so brackets missing at its end are not supplied.
    """
    if not text.strip():
        return {}
    try:
        value = json.decode(text)
    except ValueError:
        value = _repair(text, is_cut)
    if isinstance(value, str):
        # Some models encode twice.
        value = _repair(value, is_cut)
    if value is None:
        return {}
    if not has_type(value, "object"):
        raise BadArguments('The arguments must be one JSON object, like {"name": "value"}.')
    args = as_object(value)
    if "\\u" in text and any(_UNSTORABLE.search(each) for each in _texts(args)):
        raise BadArguments("The arguments hold characters that no text may have: \\u0000 or half a letter.")
    return args


def coerce_arguments(args: JsonObject, parameters: JsonObject) -> JsonObject:
    """The same arguments with harmless slips mended: `"5"` for 5, null for an argument left out.

    Only a value that does not fit is touched, and only if what it becomes does.
    """
    return _coerce_object(args, parameters, parameters)


def check_arguments(args: JsonObject, parameters: JsonObject) -> str | None:
    """What is wrong with a call and how to make it right; none if it fits the tool's schema."""
    known = as_object(parameters.get("properties"))
    faults = [f"{name} is missing" for name in as_list(parameters.get("required")) if name not in args]
    # A tool function would refuse a name it does not have, so the schema is closed unless it says otherwise.
    is_open = bool(parameters.get("additionalProperties")) or "properties" not in parameters
    for name, value in args.items():
        if name in known:
            faults += find_faults(value, known[name], at=name, root=parameters)
        elif not is_open:
            faults.append(f"{name} is not an argument of this tool")
    if not faults:
        return None
    more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
    return f"The call was not run: {'; '.join(faults[:_MAX_FAULTS])}{more}. {_usage(parameters)}"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif has_type(value, "object"):
        for name, item in as_object(value).items():
            yield name
            yield from _texts(item)
    elif has_type(value, "array"):
        for item in as_list(value):
            yield from _texts(item)


def _repair(text: str, is_cut: bool) -> Any:
    try:
        return parse_almost_json(text, is_cut=is_cut)
    except NotJson as fault:
        raise BadArguments(
            f"The arguments are not valid JSON: {fault}. Give one JSON object with double quotes, "
            "and a backslash before each quote inside a text."
        ) from None


def _usage(parameters: JsonObject) -> str:
    known = as_object(parameters.get("properties"))
    if not known:
        return "It takes no arguments."
    required = as_list(parameters.get("required"))
    shown = (
        f"{name} ({describe(resolve(schema, parameters))}{'' if name in required else ', optional'})"
        for name, schema in known.items()
    )
    return f"It takes: {', '.join(shown)}."


def _coerce_object(args: JsonObject, schema: JsonObject, root: JsonObject) -> JsonObject:
    known = as_object(schema.get("properties"))
    required = as_list(schema.get("required"))
    coerced: JsonObject = {}
    for name, value in args.items():
        rule = resolve(known.get(name), root)
        if value is None and name in known and name not in required and not fits(None, rule, root):
            continue
        coerced[name] = _coerce(value, rule, root)
    return coerced


def _coerce(value: object, schema: JsonObject, root: JsonObject) -> object:
    """The value in the schema's type if there is one way to read it so; else unchanged."""
    if has_type(value, "object") and "properties" in schema:
        return _coerce_object(as_object(value), schema, root)
    if has_type(value, "array") and "items" in schema:
        items = resolve(schema["items"], root)
        return [_coerce(item, items, root) for item in as_list(value)]
    if fits(value, schema, root):
        return _whole(value, schema)
    branches = as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))
    for option in branches or [schema]:
        branch = resolve(option, root)
        for name in types_of(branch):
            candidate = _read_as(value, name, branch)
            if candidate is not None and fits(candidate, branch, root):
                return candidate
    return value


def _whole(value: object, schema: JsonObject) -> object:
    """JSON knows one kind of number, Python two: 5.0 is handed to an integer parameter as 5."""
    return int(value) if isinstance(value, float) and types_of(schema) == ("integer",) else value


def _read_as(value: object, name: str, schema: JsonObject) -> object:
    """The value read as the named type, or None if it cannot be."""
    match name:
        case "integer" if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value):
            return int(value)
        case "number" if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}(\.\d{1,18})?\s*", value):
            return float(value)
        case "boolean" if isinstance(value, str):
            return {"true": True, "false": False}.get(value.strip().lower())
        case "string" if isinstance(value, int | float) and not isinstance(value, bool):
            return json.readable(value)
        case "string" if isinstance(value, str):
            return _option(value, schema)
        case "array" | "object" if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            return _decoded(value, name)
        case "array" if isinstance(value, str) and value:
            return [_option(value, as_object(schema.get("items"))) or value]
        case _:
            return None


def _option(value: str, schema: JsonObject) -> str | None:
    """The option that was meant, if it differs in case or blanks alone."""
    options = [each for each in as_list(schema.get("enum")) if isinstance(each, str)]
    alike = [each for each in options if each.casefold() == value.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def _decoded(text: str, name: str) -> object:
    try:
        value = parse_almost_json(text)
    except NotJson:
        return None
    return value if has_type(value, name) else None
