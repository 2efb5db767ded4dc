"""Tool schemas are cut down to what the engine can hold: it ends its process at a pattern it cannot read."""

from typing import Any

import pytest

from remanence.llm.local.schema import closed_object, plain_parameters, plain_schema


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"type": "string", "pattern": "(((", "description": "x"}, {"type": "string"}),
        ({"type": "string", "enum": ["a", "b"], "title": "x"}, {"enum": ["a", "b"]}),
        ({"const": 3}, {"const": 3}),
        ({"type": ["integer", "null"]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "integer"}, {"type": "strange"}]}, {}),
        ({"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "number"}}}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "object"}, {"type": "object"}),
        ({"$ref": "#/$defs/gone"}, {}),
        ({"type": "wish"}, {}),
    ],
)  # fmt: skip
def test_what_a_grammar_cannot_hold_is_left_out(given: dict[str, Any], plain: dict[str, Any]) -> None:
    assert plain_schema(given) == plain


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    plain = plain_schema({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}})  # fmt: skip
    assert plain["properties"]["next"]["properties"]["next"] == {}


def test_the_arguments_of_the_loop_are_not_asked_for() -> None:
    parameters = {
        "type": "object",
        "properties": {"thinking": {"type": "string"}, "a": {"type": "integer"}, "request_heartbeat": {}},
        "required": ["thinking", "a", "request_heartbeat"],
    }
    assert plain_parameters(parameters) == closed_object({"a": {"type": "integer"}})


def test_optional_arguments_stay_optional() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert plain_parameters(parameters)["required"] == []
