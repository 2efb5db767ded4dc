"""Kinds of agent as data: their tools, rules, prompts and limits."""

from typing import get_args

import pytest

from remanence.core.agent import AgentType, CompactionMode
from remanence.core.profile import (
    DEFAULT_BLOCK_DESCRIPTIONS,
    base_rules_for,
    compaction_prompt,
    default_system,
    default_tools,
    file_limits,
    greeting,
    profile_of,
    wants_base_rules,
    wants_line_numbers,
)
from remanence.core.prompt import PLACEHOLDER
from remanence.core.tool import ContinueLoop, ExitLoop
from remanence.errors import BadArgument

ALL_TYPES: tuple[AgentType, ...] = get_args(AgentType)
PROMPTED = tuple(each for each in ALL_TYPES if each != "split_thread_agent")


def wants(
    agent_type: AgentType,
    *,
    asked: bool | None = None,
    model: str = "gpt-4o",
    base_tools: bool = True,
    own_rules: bool = False,
    sleeptime: bool = False,
) -> bool:
    return wants_base_rules(
        profile_of(agent_type),
        asked=asked,
        model=model,
        has_base_tools=base_tools,
        has_own_rules=own_rules,
        has_sleeptime=sleeptime,
    )


@pytest.mark.parametrize("agent_type", PROMPTED)
def test_each_kind_has_a_prompt_of_a_modest_size(agent_type: AgentType):
    prompt = default_system(profile_of(agent_type))
    assert 600 < len(prompt) < 2_400
    assert PLACEHOLDER not in prompt


def test_a_split_thread_agent_needs_a_prompt_of_its_own():
    with pytest.raises(BadArgument):
        default_system(profile_of("split_thread_agent"))


@pytest.mark.parametrize("mode", get_args(CompactionMode))
def test_each_mode_of_compaction_has_a_prompt(mode: CompactionMode):
    assert len(compaction_prompt(mode)) > 400


@pytest.mark.parametrize("agent_type", PROMPTED)
def test_a_prompt_names_the_default_tools_that_make_it_answer(agent_type: AgentType):
    profile = profile_of(agent_type)
    prompt = default_system(profile)
    if profile.reply == "heartbeat":
        assert "request_heartbeat" in prompt
    if "send_message" in profile.default_tools:
        assert "`send_message`" in prompt


def test_only_two_kinds_answer_in_plain_text():
    native = {each for each in ALL_TYPES if profile_of(each).reply == "native"}
    assert native == {"letta_v1_agent", "sleeptime_agent"}


def test_default_tools_are_those_of_the_kind():
    assert default_tools(profile_of("letta_v1_agent"), has_sleeptime=False) == (
        "conversation_search",
        "memory_insert",
        "memory_replace",
    )
    assert default_tools(profile_of("react_agent"), has_sleeptime=False) == ()


def test_an_agent_with_a_helper_only_looks_things_up():
    for agent_type in ("letta_v1_agent", "memgpt_agent", "memgpt_v2_agent", "react_agent"):
        assert default_tools(profile_of(agent_type), has_sleeptime=True) == (
            "send_message",
            "conversation_search",
            "archival_memory_search",
        )


def test_base_rules_end_with_speech_and_go_on_after_memory():
    assert base_rules_for(("send_message", "memory", "roll_dice", "memory_finish_edits")) == (
        ExitLoop(tool_name="send_message"),
        ContinueLoop(tool_name="memory"),
        ExitLoop(tool_name="memory_finish_edits"),
    )


def test_whoever_asks_for_base_rules_or_against_them_is_heard():
    assert wants("letta_v1_agent", asked=True)
    assert not wants("memgpt_agent", asked=False)


def test_a_plain_native_agent_has_no_base_rules():
    assert not wants("letta_v1_agent")
    assert wants("letta_v1_agent", own_rules=True)
    assert wants("letta_v1_agent", base_tools=False)
    assert wants("letta_v1_agent", sleeptime=True)
    assert wants("memgpt_agent")


def test_models_that_steer_themselves_are_not_ruled():
    assert not wants("memgpt_agent", model="gpt-5.1")
    assert not wants("memgpt_agent", model="gemini-2.5-pro")
    assert wants("memgpt_agent", model="gpt-5-mini")
    assert wants("sleeptime_agent", model="gpt-5.1")


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (None, (5, 50_000)),
        (8_000, (3, 5_000)),
        (8_001, (5, 15_000)),
        (32_000, (5, 15_000)),
        (128_000, (10, 25_000)),
        (200_000, (10, 40_000)),
        (1_000_000, (15, 40_000)),
    ],
)
def test_files_may_be_open_as_the_window_allows(window: int | None, expected: tuple[int, int]):
    assert file_limits(window) == expected


def test_line_numbers_are_for_models_trained_on_them():
    assert wants_line_numbers(profile_of("letta_v1_agent"), "anthropic")
    assert not wants_line_numbers(profile_of("letta_v1_agent"), "openai")
    assert not wants_line_numbers(profile_of("memgpt_agent"), "anthropic")


def test_the_two_usual_blocks_have_descriptions():
    assert set(DEFAULT_BLOCK_DESCRIPTIONS) == {"human", "persona"}


def test_a_new_agent_has_a_thought_and_first_words():
    assert all(greeting())
