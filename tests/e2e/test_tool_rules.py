"""Tool rules at work: what the model is offered, what is refused, and when a turn may end."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.script import calls, says
from tests.support.talks import Talk, kinds, stop_reason

from remanence.kit.json import JsonObject

INSERT = calls("memory_insert", label="human", new_string="Likes figs.")
REPLACE = calls("memory_replace", label="human", old_string="Eve", new_string="Ada")
RETHINK = calls("memory_rethink", label="human", new_memory="Nothing is known.")
SEARCH = calls("conversation_search", query="figs")
SPEAK = calls("send_message", thinking="So be it.", message="Hello!")
TOOLS = ["memory_insert", "memory_replace", "memory_rethink"]


def ruled(talk: Talk, *rules: JsonObject, agent_type: str = "letta_v1_agent", **options: Any) -> JsonObject:
    given: JsonObject = {
        "tools": TOOLS,
        "include_base_tools": False,
        "include_base_tool_rules": False,
        "tool_rules": list(rules),
        **options,
    }
    return talk.agent(agent_type, **given)


def rule(kind: str, tool: str, **fields: Any) -> JsonObject:
    return {"type": kind, "tool_name": tool, **fields}


def offers(talk: Talk) -> list[tuple[list[str], Any]]:
    """Of each request to the model: the tools it held, and what was to be called of them."""
    return [(seen.tool_names, seen.body.get("tool_choice")) for seen in talk.model.journal]


def forced(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.promise("rules.run-first")
def test_run_first_offers_one_tool_and_forces_it_then_all(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "memory_insert"))
    answer = talk.say(agent, "Figs!", INSERT, says("Noted."))
    assert stop_reason(answer) == "end_turn"
    assert offers(talk) == [(["memory_insert"], forced("memory_insert")), (TOOLS, "auto")]


@pytest.mark.promise("rules.run-first")
def test_several_first_tools_leave_the_choice(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "memory_insert"), rule("run_first", "memory_replace"))
    talk.say(agent, "Figs!", REPLACE, says("Noted."))
    assert offers(talk) == [(["memory_insert", "memory_replace"], "required"), (TOOLS, "auto")]


@pytest.mark.promise("rules.run-first")
def test_rules_begin_anew_with_every_message(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "memory_insert"))
    talk.say(agent, "Figs!", INSERT, says("Noted."))
    talk.say(agent, "Again!", INSERT, says("Noted."))
    assert [names for names, _ in offers(talk)] == [["memory_insert"], TOOLS, ["memory_insert"], TOOLS]


@pytest.mark.promise("rules.refusal")
def test_a_call_that_is_not_allowed_is_refused_and_the_loop_goes_on(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "memory_insert"))
    answer = talk.say(agent, "Figs!", REPLACE, INSERT, says("Noted."))
    refused = answer["messages"][1]
    assert (refused["status"], refused["tool_return"]) == snapshot(
        ("error", "memory_replace was not run: at this point you may only call memory_insert.")
    )
    assert [names for names, _ in offers(talk)] == [["memory_insert"], ["memory_insert"], TOOLS]
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."


@pytest.mark.promise("rules.prefill")
def test_prefilled_arguments_override_the_models(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "memory_insert", args={"label": "persona"}))
    talk.say(agent, "Figs!", INSERT, says("Noted."))
    assert talk.block(agent, "human") == "Name: Eve"
    assert talk.block(agent, "persona") == "I am calm.\nLikes figs."


@pytest.mark.promise("rules.prefill")
def test_prefilled_arguments_that_a_tool_does_not_take_are_refused_at_creation(talk: Talk) -> None:
    body = {
        "model": "openai/gpt-4o-mini",
        "tools": TOOLS,
        "tool_rules": [rule("run_first", "memory_insert", args={"colour": "red"})],
    }
    response = talk.http.post("/v1/agents/", json=body)
    assert (response.status_code, response.json()["detail"]) == snapshot(
        (
            400,
            "INVALID_ARGUMENT: The tool rules cannot work: run_first of memory_insert, arguments for memory_insert: colour is not a parameter of the tool.",
        )
    )


@pytest.mark.promise("rules.prefill")
def test_a_prefill_that_no_longer_fits_ends_the_turn(talk: Talk) -> None:
    agent = ruled(talk, rule("run_first", "conversation_search", args={"colour": "red"}))
    tool_id = talk.tenant.tool_id("conversation_search")
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/tools/attach/{tool_id}")
    answer = talk.say(agent, "Figs!", SEARCH)
    assert stop_reason(answer) == "invalid_tool_call"
    assert answer["messages"][1]["tool_return"] == snapshot(
        "The tool rules fix arguments of conversation_search that it cannot take: colour is not a parameter of the tool."
    )
    assert talk.run_of(answer)["status"] == "failed"


@pytest.mark.promise("rules.exit-loop")
def test_exit_loop_ends_the_turn_after_its_tool(talk: Talk) -> None:
    agent = ruled(talk, rule("exit_loop", "memory_insert"))
    answer = talk.say(agent, "Figs!", REPLACE, INSERT)
    assert kinds(answer["messages"]) == ["tool_call", "tool_return", "tool_call", "tool_return"]
    assert stop_reason(answer) == "tool_rule"


@pytest.mark.promise("rules.exit-loop")
def test_exit_loop_waits_for_a_call_that_works(talk: Talk) -> None:
    agent = ruled(talk, rule("exit_loop", "memory_insert"))
    wrong = calls("memory_insert", label="nobody", new_string="Likes figs.")
    answer = talk.say(agent, "Figs!", wrong, INSERT)
    assert [m["status"] for m in answer["messages"] if "status" in m] == ["error", "success"]
    assert stop_reason(answer) == "tool_rule"


@pytest.mark.promise("rules.continue-loop")
def test_continue_loop_goes_on_where_a_heartbeat_agent_would_stop(talk: Talk) -> None:
    tools = [*TOOLS, "send_message"]
    quiet = calls("memory_insert", label="human", new_string="Figs.", request_heartbeat=False)
    plain = ruled(talk, agent_type="memgpt_agent", tools=tools)
    assert talk.say(plain, "Figs!", quiet)["usage"]["step_count"] == 1
    bound = ruled(talk, rule("continue_loop", "memory_insert"), agent_type="memgpt_agent", tools=tools)
    assert talk.say(bound, "Figs!", quiet, SPEAK)["usage"]["step_count"] == 2


@pytest.mark.promise("rules.children")
def test_children_are_all_that_may_follow_their_parent(talk: Talk) -> None:
    agent = ruled(
        talk, rule("constrain_child_tools", "memory_insert", children=["memory_replace", "memory_rethink"])
    )
    talk.say(agent, "Figs!", INSERT, REPLACE, says("Noted."))
    assert offers(talk) == [
        (TOOLS, "auto"),
        (["memory_replace", "memory_rethink"], "required"),
        (TOOLS, "auto"),
    ]


@pytest.mark.promise("rules.prefill")
def test_arguments_of_children_can_be_prefilled(talk: Talk) -> None:
    agent = ruled(
        talk,
        rule(
            "constrain_child_tools",
            "memory_insert",
            children=["memory_rethink"],
            child_arg_nodes=[{"name": "memory_rethink", "args": {"label": "persona"}}],
        ),
    )
    talk.say(agent, "Figs!", INSERT, RETHINK, says("Noted."))
    assert offers(talk)[1] == (["memory_rethink"], forced("memory_rethink"))
    assert talk.block(agent, "persona") == "Nothing is known."


CONDITION = rule(
    "conditional",
    "memory_rethink",
    child_output_mapping={"yes": "memory_insert", "no": "memory_replace"},
    default_child="memory_rethink",
)


@pytest.mark.promise("rules.conditional")
@pytest.mark.parametrize(
    ("word", "child"), [("yes", "memory_insert"), ("no", "memory_replace"), ("perhaps", "memory_rethink")]
)
def test_a_condition_chooses_the_child_by_what_was_returned(talk: Talk, word: str, child: str) -> None:
    agent = ruled(talk, CONDITION, rule("exit_loop", "memory_insert"))
    answer = talk.say(agent, word, calls("memory_rethink", label="human", new_memory=word), says("?"))
    assert offers(talk) == [(TOOLS, "auto"), ([child], forced(child))]
    assert stop_reason(answer) == "end_turn"


@pytest.mark.promise("rules.conditional")
def test_a_strict_condition_without_a_branch_leaves_nothing_to_call(talk: Talk) -> None:
    strict = rule(
        "conditional",
        "memory_rethink",
        child_output_mapping={"yes": "memory_insert"},
        require_output_mapping=True,
    )
    spoken = ruled(talk, strict)
    talk.say(spoken, "Hm", RETHINK, says("Done."))
    assert offers(talk)[1] == (TOOLS, "auto")  # words are always left to an agent that speaks in words
    bound = ruled(talk, strict, agent_type="memgpt_agent", tools=[*TOOLS, "send_message"])
    answer = talk.say(bound, "Hm", RETHINK)
    assert stop_reason(answer) == "tool_rule"


@pytest.mark.promise("rules.parent")
def test_children_may_be_called_only_right_after_their_parent(talk: Talk) -> None:
    agent = ruled(talk, rule("parent_last_tool", "memory_insert", children=["memory_replace"]))
    talk.say(agent, "Figs!", INSERT, REPLACE, says("Noted."))
    assert offers(talk) == snapshot(
        [
            (["memory_insert", "memory_rethink"], "auto"),
            (["memory_replace"], {"type": "function", "function": {"name": "memory_replace"}}),
            (["memory_insert", "memory_rethink"], "auto"),
        ]
    )


@pytest.mark.promise("rules.max-count")
def test_a_tool_is_hidden_once_it_was_called_often_enough(talk: Talk) -> None:
    agent = ruled(talk, rule("max_count_per_step", "memory_insert", max_count_limit=2))
    answer = talk.say(agent, "Figs!", INSERT, INSERT, INSERT, says("Enough."))
    assert [len(names) for names, _ in offers(talk)] == [3, 3, 2, 2]
    assert answer["messages"][5]["status"] == "error"
    assert talk.block(agent, "human").count("figs") == 2


@pytest.mark.promise("rules.required")
def test_a_turn_cannot_end_before_what_is_required(talk: Talk) -> None:
    agent = ruled(talk, rule("required_before_exit", "memory_insert"))
    answer = talk.say(agent, "Figs!", says("Noted."), INSERT, says("Now it is."))
    assert kinds(answer["messages"]) == ["assistant", "tool_call", "tool_return", "assistant"]
    assert offers(talk) == [(TOOLS, "auto"), (TOOLS, "required"), (TOOLS, "auto")]
    reminder = talk.model.journal[1].messages[-1]
    assert reminder["role"] == "user"
    assert "memory_insert" in reminder["content"]


@pytest.mark.promise("rules.required")
def test_what_is_required_but_not_attached_holds_nobody_up(talk: Talk) -> None:
    agent = ruled(talk, rule("required_before_exit", "send_message"))
    assert stop_reason(talk.say(agent, "Figs!", says("Noted."))) == "end_turn"


@pytest.mark.promise("rules.required")
def test_speech_cannot_end_a_turn_before_what_is_required(talk: Talk) -> None:
    agent = ruled(
        talk,
        rule("required_before_exit", "memory_insert"),
        rule("exit_loop", "send_message"),
        agent_type="memgpt_agent",
        tools=[*TOOLS, "send_message"],
    )
    chained = calls("memory_insert", label="human", new_string="Likes figs.", request_heartbeat=True)
    answer = talk.say(agent, "Figs!", SPEAK, chained, SPEAK)
    assert answer["usage"]["step_count"] == 3
    assert stop_reason(answer) == "end_turn"


@pytest.mark.promise("rules.told")
def test_rules_are_told_to_the_model_in_the_system_message(talk: Talk) -> None:
    agent = ruled(
        talk,
        rule("run_first", "memory_insert"),
        rule("constrain_child_tools", "memory_insert", children=["memory_replace"]),
        rule("max_count_per_step", "memory_rethink", max_count_limit=2),
    )
    text = talk.ask("POST", f"/v1/agents/{agent['id']}/recompile")
    section = text[text.index("<tool_usage_rules>") : text.index("</tool_usage_rules>")]
    assert section == snapshot("""\
<tool_usage_rules>
The order in which tools may be called:
- Begin every turn by calling memory_insert.
- After memory_insert, call memory_replace next.
- Call memory_rethink at most twice in a turn.
""")


@pytest.mark.promise("rules.together")
def test_rules_about_order_forbid_parallel_calls(talk: Talk) -> None:
    agent = ruled(talk, rule("exit_loop", "memory_rethink"), parallel_tool_calls=True)
    answer = talk.say(agent, "Figs!", INSERT + REPLACE, says("Noted."))
    assert len(answer["messages"][0]["tool_calls"]) == 1
    assert talk.model.journal[0].body["parallel_tool_calls"] is False


@pytest.mark.promise("rules.together")
def test_a_first_tool_children_a_limit_and_an_exit_work_together(talk: Talk) -> None:
    agent = ruled(
        talk,
        rule("run_first", "memory_insert", args={"label": "persona"}),
        rule("constrain_child_tools", "memory_insert", children=["memory_insert", "memory_replace"]),
        rule("max_count_per_step", "memory_insert", max_count_limit=2),
        rule("exit_loop", "memory_replace"),
    )
    answer = talk.say(agent, "Figs!", INSERT, INSERT, REPLACE)
    assert stop_reason(answer) == "tool_rule"
    assert offers(talk) == snapshot(
        [
            (["memory_insert"], {"type": "function", "function": {"name": "memory_insert"}}),
            (["memory_insert", "memory_replace"], "required"),
            (["memory_replace"], {"type": "function", "function": {"name": "memory_replace"}}),
        ]
    )


@pytest.mark.promise("rules.together")
@pytest.mark.parametrize("unknown", [rule("no_such_rule", "memory_insert"), {"type": "exit_loop"}])
def test_a_rule_that_is_none_is_refused(talk: Talk, unknown: JsonObject) -> None:
    body = {"model": "openai/gpt-4o-mini", "tool_rules": [unknown]}
    assert talk.http.post("/v1/agents/", json=body).status_code == 422
