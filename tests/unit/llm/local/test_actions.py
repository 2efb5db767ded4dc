"""Which actions the small model has, and what they become."""

from typing import Any

import pytest
from tests.support.local_talk import DICE, HEARTBEAT_TOOLS, V1_TOOLS, request, tool

from remanence.llm.local.actions import PastCall, Vocabulary, plan_vocabulary, quotable, spoken_call
from remanence.llm.local.blocks import MemoryBlock

HUMAN = MemoryBlock("human", "Name: Chad\nHome: Bonn")


def verbs(vocabulary: Vocabulary) -> list[str]:
    return [action.verb for action in vocabulary.allowed]


def value_schema(vocabulary: Vocabulary, verb: str) -> Any:
    action = vocabulary.find(verb)
    assert action is not None
    return action.value_schema


def test_both_kinds_of_agent_have_the_same_verbs() -> None:
    native = plan_vocabulary(request(tools=V1_TOOLS), [HUMAN], [])
    heartbeat = plan_vocabulary(request(tools=HEARTBEAT_TOOLS, tool_choice="required"), [HUMAN], [])
    assert verbs(native) == verbs(heartbeat) == ["reply", "remember", "correct", "search"]


def test_a_correction_can_only_quote_what_is_there() -> None:
    vocabulary = plan_vocabulary(request(), [HUMAN, MemoryBlock("rules", "Be kind.", is_read_only=True)], [])
    (option,) = value_schema(vocabulary, "correct")["anyOf"]
    assert option["properties"]["label"] == {"const": "human"}
    assert option["properties"]["old"] == {"enum": ["Name: Chad", "Home: Bonn"]}
    assert value_schema(vocabulary, "remember")["properties"]["label"] == {"enum": ["human"]}


def test_an_empty_memory_cannot_be_corrected_but_is_spoken_of() -> None:
    vocabulary = plan_vocabulary(request(), [MemoryBlock("human", "")], [])
    assert "correct" not in verbs(vocabulary)
    assert "correct" in [action.verb for action in vocabulary.known]


def test_sentences_are_quoted_one_by_one_and_only_if_unique() -> None:
    assert quotable("Likes tea. Has a dog.\nHas a dog.\nLives in Rome!") == ["Likes tea.", "Lives in Rome!"]


@pytest.mark.parametrize(
    ("tools", "verb", "value", "name", "arguments"),
    [
        (V1_TOOLS, "correct", {"label": "human", "old": "a", "new": "b"}, "memory_replace", {"label": "human", "old_string": "a", "new_string": "b"}),
        (HEARTBEAT_TOOLS, "remember", {"label": "human", "text": "a"}, "core_memory_append", {"label": "human", "content": "a", "request_heartbeat": True}),
        (HEARTBEAT_TOOLS, "reply", "Hi", "send_message", {}),
        ((*V1_TOOLS, DICE), "roll_dice", {"sides": 6}, "roll_dice", {"sides": 6}),
    ],
)  # fmt: skip
def test_an_action_becomes_a_call_of_the_agents_own_tool(
    tools: Any, verb: str, value: Any, name: str, arguments: Any
) -> None:
    action = plan_vocabulary(request(tools=tools), [HUMAN], []).find(verb)
    assert action is not None
    assert action.tool is not None
    assert action.tool.name == name
    assert action.arguments(value) == arguments


def test_past_calls_are_told_in_the_same_words() -> None:
    assert spoken_call("core_memory_replace", {"label": "human", "old_content": "a", "new_content": "b"}) == (
        "correct",
        {"label": "human", "old": "a", "new": "b"},
    )
    assert spoken_call("send_message", {"message": "Hi"}) == ("reply", "Hi")
    assert spoken_call("roll_dice", {"sides": 6, "request_heartbeat": True}) == ("roll_dice", {"sides": 6})


def test_a_forced_tool_is_the_only_action() -> None:
    forced = request(tools=HEARTBEAT_TOOLS, tool_choice="required", forced_tool="memory")
    assert verbs(plan_vocabulary(forced, [HUMAN], [])) == ["memory"]


def test_where_a_call_is_required_text_is_no_answer() -> None:
    assert verbs(plan_vocabulary(request(tools=[DICE], tool_choice="required"), [], [])) == ["roll_dice"]


def test_a_tool_may_have_the_name_of_a_verb() -> None:
    vocabulary = plan_vocabulary(request(tools=[*V1_TOOLS, tool("search", "text")]), [HUMAN], [])
    action = vocabulary.find("search_tool")
    assert action is not None
    assert action.tool is not None
    assert action.tool.name == "search"
    assert spoken_call("search", {"text": "a"}) == ("search_tool", {"text": "a"})


def test_a_built_in_verb_comes_once_a_turn() -> None:
    done = [PastCall("memory_insert", {"label": "human"})]
    assert verbs(plan_vocabulary(request(), [HUMAN], done)) == ["reply", "correct", "search"]


def test_the_same_call_is_not_made_a_third_time() -> None:
    done = [PastCall("roll_dice", {"sides": 6})] * 2
    assert "roll_dice" not in verbs(plan_vocabulary(request(tools=[*V1_TOOLS, DICE]), [HUMAN], done))


def test_after_three_calls_only_the_reply_is_left() -> None:
    done = [PastCall("roll_dice", {"sides": sides}) for sides in (4, 6, 8)]
    assert verbs(plan_vocabulary(request(tools=[*V1_TOOLS, DICE]), [HUMAN], done)) == ["reply"]


def test_an_agent_that_only_edits_memory_can_finish() -> None:
    tools = (*V1_TOOLS, tool("memory_rethink", "label", "new_memory"), tool("memory_finish_edits"))
    done = [PastCall("memory_rethink", {})] * 3
    vocabulary = plan_vocabulary(request(tools=tools, tool_choice="required"), [HUMAN], done)
    assert verbs(vocabulary) == ["finish"]
