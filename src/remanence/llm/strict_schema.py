"""Whether a tool's parameters can be enforced letter by letter by a provider's `strict` mode.

Strict mode wants every property required and none beside them. Making an optional parameter
required would change what the tool receives, so a schema with one is left alone.
"""

from typing import Any, cast

from remanence.kit.json import JsonObject

_REFUSED = frozenset(
    {
        "$ref",
        "$defs",
        "allOf",
        "default",
        "dependentRequired",
        "else",
        "if",
        "not",
        "oneOf",
        "patternProperties",
    }
)
_DEEPEST = 8


class _DoesNotFit(Exception):
    pass


def find_strict_schema(parameters: JsonObject) -> JsonObject | None:
    """The same schema, closed; None if strict mode cannot express it."""
    try:
        return _close({"type": "object"} | parameters, 0)
    except _DoesNotFit:
        return None


def _close(schema: Any, depth: int) -> JsonObject:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        raise _DoesNotFit
    fields = dict(cast("JsonObject", schema))
    if _REFUSED & fields.keys():
        raise _DoesNotFit
    if fields.get("type") == "object":
        fields |= _close_object(fields, depth)
    if fields.get("type") == "array":
        fields["items"] = _close(fields.get("items"), depth + 1)
    if "anyOf" in fields:
        fields["anyOf"] = [_close(each, depth + 1) for each in fields["anyOf"]]
    return fields


def _close_object(fields: JsonObject, depth: int) -> JsonObject:
    properties: JsonObject = fields.get("properties") or {}
    required: list[str] = fields.get("required") or []
    if fields.get("additionalProperties") or set(properties) != set(required):
        raise _DoesNotFit
    closed = {name: _close(each, depth + 1) for name, each in properties.items()}
    return {"properties": closed, "required": list(properties), "additionalProperties": False}
