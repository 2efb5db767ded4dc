"""JSON schemas in the part of the language that Gemini understands; the rest is refused, so it is left out."""

from typing import Any, cast

from remanence.kit.json import JsonObject

_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "prefixItems",
        "properties",
        "required",
        "title",
        "type",
    }
)
_SCHEMAS = ("items", "additionalProperties")
_LISTS = ("anyOf", "prefixItems")
_MAPS = ("properties", "$defs")
_FORMATS = frozenset({"date-time", "date", "time", "duration", "enum", "int32", "int64", "float", "double"})
_DEEPEST = 20


def gemini_schema(schema: JsonObject, depth: int = 0) -> JsonObject:
    if depth > _DEEPEST:
        return {}
    given = dict(schema)
    if "definitions" in given:
        given.setdefault("$defs", given.pop("definitions"))
    if "oneOf" in given:
        given.setdefault("anyOf", given.pop("oneOf"))
    if "const" in given:
        given.setdefault("enum", [given.pop("const")])
    for each in given.pop("allOf", ()):
        given = _merged(given, each)
    cleaned: JsonObject = {}
    for key, value in given.items():
        if key not in _KEPT or (key == "format" and value not in _FORMATS):
            continue
        if key in _SCHEMAS and isinstance(value, dict):
            value = gemini_schema(cast("JsonObject", value), depth + 1)
        elif key in _LISTS:
            value = [gemini_schema(each, depth + 1) for each in value]
        elif key in _MAPS:
            value = {name: gemini_schema(each, depth + 1) for name, each in value.items()}
        cleaned[key] = value
    if isinstance(cleaned.get("$ref"), str):
        cleaned["$ref"] = cleaned["$ref"].replace("#/definitions/", "#/$defs/")
    return cleaned


def _merged(one: JsonObject, other: Any) -> JsonObject:
    if not isinstance(other, dict):
        return one
    fields = cast("JsonObject", other)
    merged = {**fields, **one}
    for key in ("properties", "required"):
        if key in one and key in fields:
            merged[key] = fields[key] | one[key] if key == "properties" else [*fields[key], *one[key]]
    return merged
