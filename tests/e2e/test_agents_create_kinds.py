"""Kinds of agents: the tools, rules and first messages that each begins with, and how to choose others."""

from typing import Any

import pytest
from tests.support.tenants import Tenant

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"

LOGIN = ["system", "assistant", "tool", "user"]
KINDS: dict[str, tuple[list[str], int, bool, bool]] = {
    "letta_v1_agent": (["conversation_search", "memory_insert", "memory_replace"], 1, False, False),
    "memgpt_agent": (
        [
            "conversation_search",
            "core_memory_append",
            "core_memory_replace",
            "memory",
            "memory_apply_patch",
            "send_message",
        ],
        4,
        True,
        False,
    ),
    "memgpt_v2_agent": (
        ["conversation_search", "memory_insert", "memory_replace", "send_message"],
        4,
        True,
        False,
    ),
    "react_agent": ([], 4, True, False),
    "workflow_agent": ([], 4, True, True),
    "sleeptime_agent": (
        ["memory_finish_edits", "memory_insert", "memory_replace", "memory_rethink"],
        1,
        True,
        False,
    ),
}
"""Tools, number of first messages, thoughts in arguments, forgets each turn."""


def rules_of(agent: dict[str, Any]) -> dict[str, str]:
    return {rule["tool_name"]: rule["type"] for rule in agent["tool_rules"]}


def names_of(agent: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in agent["tools"]]


def refuse(tenant: Tenant, status: int, **given: Any) -> str:
    response = tenant.http.post("/v1/agents/", json={"model": MODEL} | given)
    assert response.status_code == status, response.text[:500]
    assert tenant.http.get("/v1/agents/count").json() == 0
    return response.json()["detail"]


@pytest.mark.promise("agents.create.kinds")
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_agent_begins_with_its_own_tools_and_messages(tenant: Tenant, kind: str) -> None:
    tools, messages, thinks_in_arguments, forgets = KINDS[kind]
    agent = tenant.agent(agent_type=kind)
    assert agent["agent_type"] == kind
    assert names_of(agent) == tools
    assert len(agent["message_ids"]) == messages
    assert agent["llm_config"]["put_inner_thoughts_in_kwargs"] is thinks_in_arguments
    assert agent["message_buffer_autoclear"] is forgets
    assert agent["memory"]["agent_type"] == kind
    assert agent["system"]


@pytest.mark.promise("agents.create.kinds")
def test_each_kind_has_a_system_prompt_of_its_own(tenant: Tenant) -> None:
    kinds = [*KINDS, "voice_sleeptime_agent"]
    assert len({tenant.agent(agent_type=kind)["system"] for kind in kinds}) == len(kinds)


@pytest.mark.promise("agents.create.kinds")
def test_a_heartbeat_agent_begins_with_a_greeting_and_a_login(tenant: Tenant) -> None:
    agent = tenant.agent(agent_type="memgpt_agent")
    messages = tenant.http.get(f"/v1/agents/{agent['id']}/messages").json()
    kinds = [each["message_type"] for each in messages]
    assert kinds == ["system_message", "reasoning_message", "assistant_message", "user_message"]
    assert '"type": "login"' in messages[-1]["content"]
    raw = tenant.http.get(
        f"/v1/agents/{agent['id']}/messages", params={"use_assistant_message": False}
    ).json()
    assert [each["message_type"] for each in raw][2:4] == ["tool_call_message", "tool_return_message"]


@pytest.mark.promise("agents.create.kinds")
def test_kinds_that_lack_something_say_what_to_give(tenant: Tenant) -> None:
    assert "system" in refuse(tenant, 400, agent_type="split_thread_agent")
    assert "enable_sleeptime" in refuse(tenant, 422, agent_type="voice_convo_agent")
    refuse(tenant, 422, agent_type="nope")
    agent = tenant.agent(agent_type="split_thread_agent", system="You split threads.")
    assert agent["system"] == "You split threads."


@pytest.mark.promise("agents.create.base-rules")
def test_base_tools_bring_their_rules_where_the_kind_wants_them(tenant: Tenant) -> None:
    assert rules_of(tenant.agent()) == {}
    rules = rules_of(tenant.agent(agent_type="memgpt_agent"))
    assert rules.pop("send_message") == "exit_loop"
    assert set(rules.values()) == {"continue_loop"}
    assert set(rules) == set(KINDS["memgpt_agent"][0]) - {"send_message"}
    assert rules_of(tenant.agent(agent_type="sleeptime_agent"))["memory_finish_edits"] == "exit_loop"
    assert rules_of(tenant.agent(agent_type="react_agent")) == {}


@pytest.mark.promise("agents.create.base-rules")
def test_base_rules_can_be_asked_for_and_declined(tenant: Tenant) -> None:
    assert rules_of(tenant.agent(include_base_tool_rules=True)) == {
        "conversation_search": "continue_loop",
        "memory_insert": "continue_loop",
        "memory_replace": "continue_loop",
    }
    assert rules_of(tenant.agent(agent_type="memgpt_agent", include_base_tool_rules=False)) == {}


@pytest.mark.promise("agents.create.base-rules")
def test_a_rule_of_ones_own_stands_beside_the_base_rules(tenant: Tenant) -> None:
    own = {"type": "continue_loop", "tool_name": "memory_insert"}
    agent = tenant.agent(agent_type="memgpt_v2_agent", tool_rules=[own])
    assert [rule["tool_name"] for rule in agent["tool_rules"]].count("memory_insert") == 1
    assert rules_of(agent)["send_message"] == "exit_loop"


@pytest.mark.promise("agents.create.base-tools")
def test_without_base_tools_an_agent_has_only_what_was_asked_for(tenant: Tenant) -> None:
    assert names_of(tenant.agent(include_base_tools=False)) == []
    agent = tenant.agent(agent_type="memgpt_agent", include_base_tools=False, tools=["send_message"])
    assert names_of(agent) == ["send_message"]


@pytest.mark.promise("agents.create.tools")
def test_tools_are_asked_for_by_name_and_by_id_and_held_once(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(
        model=MODEL,
        tools=["core_memory_append", "memory_insert"],
        tool_ids=[tenant.tool_id("memory"), tenant.tool_id("core_memory_append")],
    )
    assert [tool.name for tool in agent.tools] == [
        "conversation_search",
        "core_memory_append",
        "memory",
        "memory_insert",
        "memory_replace",
    ]


@pytest.mark.promise("agents.create.tools")
def test_tools_that_do_not_exist_are_named_in_the_refusal(tenant: Tenant) -> None:
    assert "no_such_tool" in refuse(tenant, 400, tools=["memory", "no_such_tool"])
    assert NOBODY in refuse(tenant, 400, tool_ids=[f"tool-{NOBODY}"])
    refuse(tenant, 422, tool_ids=["memory"])


NINE: list[dict[str, Any]] = [
    {"type": "run_first", "tool_name": "conversation_search", "args": {"query": "name"}},
    {"type": "exit_loop", "tool_name": "send_message"},
    {"type": "continue_loop", "tool_name": "memory_insert"},
    {
        "type": "constrain_child_tools",
        "tool_name": "memory_insert",
        "children": ["send_message"],
        "child_arg_nodes": [{"name": "send_message", "args": {"message": "Done."}}],
    },
    {
        "type": "conditional",
        "tool_name": "conversation_search",
        "default_child": "send_message",
        "child_output_mapping": {"none": "memory_insert"},
        "require_output_mapping": True,
    },
    {"type": "parent_last_tool", "tool_name": "memory_insert", "children": ["memory_replace"]},
    {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 2},
    {"type": "required_before_exit", "tool_name": "memory_insert"},
    {"type": "requires_approval", "tool_name": "memory_replace"},
]


@pytest.mark.promise("agents.create.rules")
def test_all_nine_kinds_of_rule_come_back_as_they_were_given(tenant: Tenant) -> None:
    agent = tenant.agent(
        agent_type="memgpt_v2_agent", tool_rules=NINE, include_base_tool_rules=False, tools=["send_message"]
    )
    expected = [{"prompt_template": None} | rule for rule in NINE]
    assert agent["tool_rules"] == expected
    assert tenant.state(agent["id"])["tool_rules"] == expected
    state = tenant.sdk.agents.retrieve(agent["id"])
    assert [rule.type for rule in state.tool_rules or []] == [rule["type"] for rule in NINE]


@pytest.mark.promise("agents.create.rules")
def test_rules_that_cannot_work_are_refused_and_say_why(tenant: Tenant) -> None:
    first = {"type": "run_first", "tool_name": "conversation_search"}
    assert "limit" in refuse(tenant, 400, tool_rules=[first | {"args": {"limit": "many"}}])
    assert "nonsense" in refuse(tenant, 400, tool_rules=[first | {"args": {"nonsense": 1}}])
    refuse(
        tenant,
        400,
        tool_rules=[{"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": -1}],
    )
    refuse(tenant, 422, tool_rules=[{"type": "no_such_rule", "tool_name": "memory_insert"}])
    refuse(tenant, 422, tool_rules=[{"type": "constrain_child_tools", "tool_name": "memory_insert"}])


@pytest.mark.promise("agents.create.sleeptime")
def test_an_agent_with_a_helper_leaves_memory_edits_to_it(tenant: Tenant) -> None:
    agent = tenant.agent(enable_sleeptime=True)
    assert agent["enable_sleeptime"] is True
    assert "memory_insert" not in names_of(agent)
    assert rules_of(agent)["send_message"] == "exit_loop"
