"""Cuts a tool's JSON schema down to what a grammar can hold and a small model can fill in."""

from typing import Any, cast

from remanence.kit.json import JsonObject

LOOP_ARGUMENTS = ("thinking", "request_heartbeat")
"""What the loop adds to every tool of a heartbeat agent; the model is never asked for it."""

_MAX_DEPTH = 5
_SCALARS = ("string", "integer", "number", "boolean", "null")


def closed_object(properties: JsonObject, required: list[str] | None = None) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def plain_schema(schema: JsonObject) -> JsonObject:
    """Without references, patterns and texts: an engine that cannot read a pattern ends its process."""
    return _plain(schema, _definitions(schema), _MAX_DEPTH)


def plain_parameters(parameters: JsonObject) -> JsonObject:
    """The arguments of a tool, without those that the loop adds."""
    plain = plain_schema(parameters)
    properties = {
        name: schema
        for name, schema in _object(plain.get("properties")).items()
        if name not in LOOP_ARGUMENTS
    }
    required = [name for name in _list(plain.get("required")) if name in properties]
    return closed_object(properties, required)


def _plain(schema: object, definitions: JsonObject, depth: int) -> JsonObject:
    """An unknown or too deep part becomes `{}`: any JSON value."""
    if not isinstance(schema, dict) or depth == 0:
        return {}
    node = cast("JsonObject", schema)
    if isinstance(node.get("$ref"), str):
        return _plain(definitions.get(node["$ref"].rsplit("/", 1)[-1]), definitions, depth - 1)
    if isinstance(node.get("enum"), list):
        return {"enum": node["enum"]}
    if "const" in node:
        return {"const": node["const"]}
    for union in ("anyOf", "oneOf"):
        if isinstance(node.get(union), list):
            options = [_plain(option, definitions, depth - 1) for option in node[union]]
            return {"anyOf": options} if all(options) else {}
    return _plain_type(node, definitions, depth)


def _plain_type(node: JsonObject, definitions: JsonObject, depth: int) -> JsonObject:
    kind: Any = node.get("type")
    if isinstance(kind, list):
        options = [_plain({**node, "type": each}, definitions, depth) for each in cast("list[Any]", kind)]
        return {"anyOf": options} if all(options) else {}
    if kind == "array":
        return {"type": "array", "items": _plain(node.get("items"), definitions, depth - 1)}
    if kind == "object" or "properties" in node:
        properties = _object(node.get("properties"))
        if not properties:
            return {"type": "object"}
        plain = {name: _plain(each, definitions, depth - 1) for name, each in properties.items()}
        required = [name for name in _list(node.get("required")) if name in plain]
        return closed_object(plain, required)
    return {"type": kind} if kind in _SCALARS else {}


def _definitions(schema: JsonObject) -> JsonObject:
    return _object(schema.get("definitions")) | _object(schema.get("$defs"))


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
