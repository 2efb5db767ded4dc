"""The extra arguments of heartbeat agents."""

import pytest

from remanence.core.heartbeat import take_heartbeat_arguments, with_heartbeat_arguments
from remanence.kit.json import JsonObject

PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["label"],
}


def test_thought_comes_first_and_the_wish_to_go_on_last():
    found = with_heartbeat_arguments(PARAMETERS, thinking=True, heartbeat=True)
    assert list(found["properties"]) == ["thinking", "label", "n", "request_heartbeat"]
    assert found["required"] == ["thinking", "label", "request_heartbeat"]
    assert found["properties"]["request_heartbeat"]["type"] == "boolean"


def test_a_tool_that_ends_the_turn_does_not_ask_for_more():
    found = with_heartbeat_arguments(PARAMETERS, thinking=True, heartbeat=False)
    assert list(found["properties"]) == ["thinking", "label", "n"]


def test_the_tools_own_schema_is_left_untouched():
    with_heartbeat_arguments(PARAMETERS, thinking=True, heartbeat=True)
    assert list(PARAMETERS["properties"]) == ["label", "n"]
    assert with_heartbeat_arguments(PARAMETERS, thinking=False, heartbeat=False) == PARAMETERS


def test_a_tool_without_parameters_gets_them_too():
    found = with_heartbeat_arguments({"type": "object"}, thinking=True, heartbeat=True)
    assert found["required"] == ["thinking", "request_heartbeat"]


def test_a_tools_own_parameter_of_that_name_stays_its_own():
    own: JsonObject = {"type": "object", "properties": {"thinking": {"type": "integer"}}, "required": []}
    assert with_heartbeat_arguments(own, thinking=True, heartbeat=False)["properties"] == own["properties"]
    assert take_heartbeat_arguments({"thinking": 3}, own).arguments == {"thinking": 3}


@pytest.mark.parametrize(
    ("wish", "expected"), [(True, True), (False, False), ("true", True), ("False", False), (None, False)]
)
def test_the_extra_arguments_are_taken_out_of_a_call(wish: object, expected: bool):
    call = {"thinking": "hm", "label": "x", "request_heartbeat": wish}
    found = take_heartbeat_arguments(call, PARAMETERS)
    assert (found.arguments, found.thinking, found.requested_heartbeat) == ({"label": "x"}, "hm", expected)


def test_a_call_without_them_asks_for_nothing():
    found = take_heartbeat_arguments({"label": "x"}, PARAMETERS)
    assert (found.arguments, found.thinking, found.requested_heartbeat) == ({"label": "x"}, None, False)
