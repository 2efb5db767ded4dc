"""Does a JSON value fit a JSON schema? The part of the standard that tool schemas use.

Faults are told to a model, so each says where the value stands and what would be right there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from remanence.kit.json import JsonObject, readable

_MAX_DEPTH = 32
"""A schema may refer to itself; a value nested deeper than this is not looked into."""
_MAX_STEPS = 20_000
"""Of alternatives that refer to themselves there can be any number: what is beyond passes unchecked."""
_MAX_CHOICES, _MAX_MATCHING = 24, 10**7
_REPEATED_GROUP = re.compile(r"\)[*+{?]")


def as_object(value: object) -> JsonObject:
    """The value as an object, empty if it is none."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def resolve(schema: object, root: JsonObject) -> JsonObject:
    """The schema itself, or the one its `$ref` points to inside `root`."""
    found = as_object(schema)
    for _ in range(_MAX_DEPTH):
        ref = found.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return found
        target: object = root
        for key in ref.removeprefix("#/").split("/"):
            target = as_object(target).get(key)
        found = as_object(target)
    return {}


def types_of(schema: JsonObject) -> tuple[str, ...]:
    """The types the schema names; none means any."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,)
    return tuple(name for name in as_list(named) if isinstance(name, str))


def has_type(value: object, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return (isinstance(value, int) and not isinstance(value, bool)) or (
                isinstance(value, float) and value.is_integer()
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True  # a word this server does not know forbids nothing


def describe(schema: JsonObject) -> str:
    """What the schema asks for, in few words: `integer`, `one of "a", "b"`, `list of string`."""
    if "const" in schema:
        return readable(schema["const"])
    if options := as_list(schema.get("enum")):
        return "one of " + ", ".join(readable(option) for option in options)
    for key in ("anyOf", "oneOf"):
        if options := as_list(schema.get(key)):
            return " or ".join(dict.fromkeys(describe(as_object(option)) for option in options))
    names = types_of(schema)
    if names == ("array",) and types_of(as_object(schema.get("items"))):
        return f"list of {describe(as_object(schema['items']))}"
    return " or ".join(names) or "any value"


@dataclass(slots=True)
class _Walk:
    root: JsonObject
    steps_left: int = _MAX_STEPS


def find_faults(value: object, schema: object, *, at: str, root: JsonObject) -> Iterator[str]:
    """Everything that is wrong with `value`, each as one sentence without a full stop.

    Whoever wrote the schema may wish us ill, so that the work it makes is bounded.
    """
    return _find_faults(value, schema, at, _Walk(root), 0)


def _find_faults(value: object, schema: object, at: str, walk: _Walk, depth: int) -> Iterator[str]:
    rule = resolve(schema, walk.root)
    walk.steps_left -= 1
    if depth > _MAX_DEPTH or walk.steps_left < 0 or not rule:
        return
    names = types_of(rule)
    if names and not any(has_type(value, name) for name in names):
        yield f"{at} must be {describe(rule)}, not {_short(value)}"
        return
    if ("enum" in rule and value not in as_list(rule["enum"])) or (
        "const" in rule and value != rule["const"]
    ):
        yield f"{at} must be {describe(rule)}, not {_short(value)}"
        return
    yield from _find_bounds_faults(value, rule, at)
    yield from _find_branch_faults(value, rule, at, walk, depth)
    if isinstance(value, dict):
        yield from _find_object_faults(as_object(cast(object, value)), rule, at, walk, depth)
    elif isinstance(value, list) and "items" in rule:
        for index, item in enumerate(as_list(cast(object, value))):
            yield from _find_faults(item, rule["items"], f"{at}[{index}]", walk, depth + 1)


def fits(value: object, schema: object, root: JsonObject) -> bool:
    return next(find_faults(value, schema, at="", root=root), None) is None


def _find_object_faults(
    value: JsonObject, rule: JsonObject, at: str, walk: _Walk, depth: int
) -> Iterator[str]:
    properties = as_object(rule.get("properties"))
    for name in as_list(rule.get("required")):
        if name not in value:
            yield f"{at}.{name} is missing"
    extra = rule.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _find_faults(item, properties[name], f"{at}.{name}", walk, depth + 1)
        elif extra is False:
            yield f"{at}.{name} is not known"
        elif isinstance(extra, dict):
            yield from _find_faults(item, cast(object, extra), f"{at}.{name}", walk, depth + 1)


def _find_branch_faults(value: object, rule: JsonObject, at: str, walk: _Walk, depth: int) -> Iterator[str]:
    for part in as_list(rule.get("allOf")):
        yield from _find_faults(value, part, at, walk, depth + 1)
    for key in ("anyOf", "oneOf"):
        options = as_list(rule.get(key))
        found = [list(_find_faults(value, each, at, walk, depth + 1)) for each in options]
        if found and all(found):
            # One real alternative (the other being null) is worth the details of its faults.
            real = [
                faults
                for option, faults in zip(options, found, strict=True)
                if types_of(resolve(option, walk.root)) != ("null",)
            ]
            yield from real[0] if len(real) == 1 else [f"{at} must be {describe(rule)}, not {_short(value)}"]


def _find_bounds_faults(value: object, rule: JsonObject, at: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from _outside(len(value), rule.get("minLength"), rule.get("maxLength"), f"{at} in characters")
        pattern = rule.get("pattern")
        if isinstance(pattern, str) and not _matches(pattern, value):
            yield f"{at} must match the pattern {pattern}"
    elif isinstance(value, list):
        size = len(as_list(cast(object, value)))
        yield from _outside(size, rule.get("minItems"), rule.get("maxItems"), f"the length of {at}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _outside(value, rule.get("minimum"), rule.get("maximum"), at)


def _outside(size: float, low: object, high: object, what: str) -> Iterator[str]:
    if isinstance(low, int | float) and size < low:
        yield f"{what} must be at least {low}, not {size}"
    if isinstance(high, int | float) and size > high:
        yield f"{what} must be at most {high}, not {size}"


def _matches(pattern: str, value: str) -> bool:
    if not _is_quick(pattern, value):
        return True
    try:
        return re.search(pattern, value) is not None
    except (re.error, RecursionError, OverflowError):
        return True  # another dialect's pattern; the tool itself will say


def _is_quick(pattern: str, value: str) -> bool:
    """Whether matching must end soon: repetition inside repetition takes forever where it is meant to."""
    choices = sum(map(pattern.count, "*+{?|"))
    if choices > _MAX_CHOICES or _REPEATED_GROUP.search(pattern):
        return False
    return len(value) ** (choices + 1) <= _MAX_MATCHING


def _short(value: object) -> str:
    text = readable(value)
    return text if len(text) <= 60 else text[:57] + "…"
