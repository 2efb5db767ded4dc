"""Tool arguments: read, mended where there is one meaning, checked against the tool's schema."""

from typing import Any

import pytest

from remanence.core.arguments import BadArguments, check_arguments, coerce_arguments, parse_arguments
from remanence.kit.json import JsonObject, readable

PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "score": {"type": "number"},
        "exact": {"type": "boolean"},
        "roles": {"type": "array", "items": {"type": "string", "enum": ["user", "assistant"]}},
        "where": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["query"],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": "```"}\n```', {"a": "```"}),
        ("{'a': 'it is \"quoted\"'}", {"a": 'it is "quoted"'}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a": "x"', {"a": "x"}),
        ('{"a": {"b": ["x"', {"a": {"b": ["x"]}}),
        ('{"a": ["x"}', {"a": ["x"]}),
        ('{"a": 1}}', {"a": 1}),
        ("{a: 1, b_2: 'x'}", {"a": 1, "b_2": "x"}),
        ('{"a": "\\d+ C:\\Users"}', {"a": "\\d+ C:\\Users"}),
        ('{"a": "\\u00e9\\ud83d\\ude00",}', {"a": "é😀"}),
        ('{"a": -1.5e3, "b": .5,}', {"a": -1500.0, "b": 0.5}),
        ('{"a": 123456789012345678901234567890,}', {"a": 123456789012345678901234567890}),
        ('{"a": "x", "a": "x",}', {"a": "x"}),
    ],
)
def test_almost_json_with_one_meaning_is_read(text: str, expected: JsonObject):
    assert parse_arguments(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "hello',  # cut short: the rest is unknown
        '{"limit": 1',  # 1, 10 or 100?
        '{"a": "x",',
        '{"a":',
        '{"a": "He said "hi" to me"}',
        "{'a': 'it's fine'}",
        '{"a": 1}{"a": 2}',
        '{"a": 1} and more',
        'Sure: {"a": 1}',
        "[1, 2]",
        "7",
        '"just words"',
        '{"a": yes}',
        '{"a" 1}',
        '{"a": 1, "a": 2,}',
        "{" * 200,
        '{"a": ' + "9" * 500 + ",}",
    ],
)
def test_what_could_mean_two_things_is_refused_with_advice(text: str):
    with pytest.raises(BadArguments, match="JSON"):
        parse_arguments(text)


def test_a_refusal_shows_where_the_trouble_is():
    with pytest.raises(
        BadArguments, match=r"never closed \(at character 13, near «\{\"message\": \"hello»\)"
    ):
        parse_arguments('{"message": "hello')


def test_a_reply_cut_at_the_output_limit_is_never_taken_for_a_whole_call():
    call = {"query": "tea 'n' \"cake\"", "limit": 100, "roles": ["user", "assistant"], "where": {"page": 2}}
    for text in (readable(call), readable(call, indent=2)):
        assert parse_arguments(text, is_cut=True) == call
        for end in range(1, len(text)):
            with pytest.raises(BadArguments):
                parse_arguments(text[:end], is_cut=True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limit": "5"}, {"limit": 5}),
        ({"limit": 5.0}, {"limit": 5}),
        ({"limit": "five"}, {"limit": "five"}),
        ({"limit": "5.5"}, {"limit": "5.5"}),
        ({"limit": True}, {"limit": True}),
        ({"score": "0.5"}, {"score": 0.5}),
        ({"exact": "True"}, {"exact": True}),
        ({"exact": "yes"}, {"exact": "yes"}),
        ({"query": 42}, {"query": "42"}),
        ({"query": True}, {"query": True}),
        ({"query": None}, {"query": None}),
        ({"limit": None}, {}),
        ({"maybe": None}, {"maybe": None}),
        ({"maybe": "3"}, {"maybe": 3}),
        ({"roles": "user"}, {"roles": ["user"]}),
        ({"roles": "User"}, {"roles": ["user"]}),
        ({"roles": "nobody"}, {"roles": "nobody"}),
        ({"roles": '["user", "assistant"]'}, {"roles": ["user", "assistant"]}),
        ({"roles": ["USER"]}, {"roles": ["user"]}),
        ({"where": '{"page": 2}'}, {"where": {"page": 2}}),
        ({"where": {"page": "2"}}, {"where": {"page": 2}}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_harmless_slips_are_mended_and_the_rest_left_alone(given: JsonObject, expected: JsonObject):
    found = coerce_arguments(given, PARAMETERS)
    assert found == expected
    assert [type(each) for each in found.values()] == [type(each) for each in expected.values()]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({}, "query is missing"),
        ({"query": "x", "limit": "many"}, 'limit must be integer, not "many"'),
        ({"query": "x", "limit": 0}, "limit must be at least 1, not 0"),
        ({"query": "x", "limit": True}, "limit must be integer, not true"),
        ({"query": "x", "roles": ["user", "me"]}, 'roles[1] must be one of "user", "assistant", not "me"'),
        ({"query": "x", "where": {}}, "where.page is missing"),
        ({"query": "x", "maybe": "no"}, 'maybe must be integer, not "no"'),
        ({"query": "x", "colour": 1}, "colour is not an argument of this tool"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(args: JsonObject, fault: str):
    text = check_arguments(args, PARAMETERS)
    assert text is not None
    assert text.startswith(
        f"The call was not run: {fault}. It takes: query (string), limit (integer, optional)"
    )


def test_a_right_call_passes():
    args: dict[str, Any] = {
        "query": "x",
        "limit": 3,
        "roles": [],
        "where": {"page": 1, "extra": 2},
        "maybe": None,
    }
    assert check_arguments(args, PARAMETERS) is None


def test_a_tool_without_parameters_says_so():
    parameters: JsonObject = {"type": "object", "properties": {}, "required": []}
    assert check_arguments({"x": 1}, parameters) == (
        "The call was not run: x is not an argument of this tool. It takes no arguments."
    )


def test_a_tool_whose_schema_is_open_takes_anything():
    assert check_arguments({"x": 1}, {"type": "object"}) is None
    assert (
        check_arguments({"x": 1}, {"type": "object", "properties": {}, "additionalProperties": True}) is None
    )


def test_references_are_followed_even_in_circles():
    parameters: JsonObject = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}, "loop": {"$ref": "#/$defs/Loop"}},
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "child": {"$ref": "#/$defs/Node"}},
                "additionalProperties": False,
            },
            "Loop": {"$ref": "#/$defs/Loop"},
        },
    }
    assert check_arguments({"tree": {"size": 1, "child": {"size": 2}}, "loop": 1}, parameters) is None
    wrong = check_arguments({"tree": {"child": {"size": "x", "leaf": 1}}}, parameters)
    assert wrong is not None
    assert 'tree.child.size must be integer, not "x"; tree.child.leaf is not known' in wrong
    assert coerce_arguments({"tree": {"child": {"size": "2"}}}, parameters) == {
        "tree": {"child": {"size": 2}}
    }


def test_alternatives_are_described_together():
    parameters: JsonObject = {"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}
    wrong = check_arguments({"x": []}, parameters)
    assert wrong is not None
    assert "x must be string or integer, not []" in wrong


def test_many_faults_are_counted_not_recited():
    parameters: JsonObject = {"properties": {}}
    wrong = check_arguments({f"x{number}": 1 for number in range(9)}, parameters)
    assert wrong is not None
    assert "; and 4 more." in wrong


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "a*" * 20 + "b",
        "a?" * 40 + "b",
        "(a|aa)" * 40 + "b",
        "(" * 30_000,
        "^(a{1,9}){1,9}$",
    ],
    ids=range(7),
)
def test_a_pattern_that_would_take_forever_is_left_to_the_tool(pattern: str):
    parameters: JsonObject = {"properties": {"x": {"type": "string", "pattern": pattern}}}
    assert check_arguments({"x": "a" * 40 + "!"}, parameters) is None


def test_an_ordinary_pattern_is_checked():
    parameters: JsonObject = {"properties": {"day": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}}}
    assert check_arguments({"day": "2026-03-15"}, parameters) is None
    assert "must match" in (check_arguments({"day": "tomorrow"}, parameters) or "")


@pytest.mark.timeout(10)
def test_alternatives_that_lead_back_to_themselves_come_to_an_end():
    loop = {"$ref": "#/$defs/Loop"}
    parameters: JsonObject = {
        "properties": {"x": loop},
        "$defs": {"Loop": {"anyOf": [loop, loop, {"allOf": [loop, loop]}]}},
    }
    assert check_arguments({"x": 1}, parameters) is None
    assert coerce_arguments({"x": "1"}, parameters) == {"x": "1"}
