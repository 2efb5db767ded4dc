"""Calls that wait for a person: what is asked, what the answers do, and that nothing is ever stuck."""

from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot
from letta_client import BadRequestError, ConflictError
from tests.support.answers import (
    DONE,
    INSERT,
    REPLACE,
    approval,
    asked,
    gate,
    gated_agent,
    no,
    pending,
    reply,
    yes,
)
from tests.support.api import assert_takes_turns
from tests.support.records import ask_by_default
from tests.support.script import calls, says
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.wire import Scrubber

from remanence.kit.json import JsonObject


@pytest.fixture(autouse=True)
def every_prompt_is_well_formed(talk: Talk) -> Iterator[None]:
    yield
    for request in talk.model.journal:
        assert_takes_turns(request.messages)


def check_it_goes_on(talk: Talk, agent: JsonObject) -> None:
    """The next message is answered, whatever was before."""
    answer = talk.say(agent, "Are you there?", says("Here I am."))
    assert [message["content"] for message in answer["messages"]] == ["Here I am."]
    assert pending(talk, agent) is None


def history(talk: Talk, agent: JsonObject) -> list[JsonObject]:
    return talk.history(agent, order="asc")[1:]


@pytest.mark.promise("approvals.request")
def test_a_rule_stops_the_loop_before_the_call(talk: Talk) -> None:
    agent = gated_agent(talk)
    answer = talk.say(agent, "I like figs.", INSERT)
    assert stop_reason(answer) == "requires_approval"
    assert talk.run_of(answer)["status"] == "completed"
    (request,) = Scrubber()(answer["messages"])
    assert request == snapshot(
        {
            "id": "message-1",
            "date": "<date>",
            "name": None,
            "message_type": "approval_request_message",
            "otid": "message-1",
            "sender_id": None,
            "step_id": "step-1",
            "is_err": None,
            "seq_id": None,
            "run_id": "run-1",
            "tool_call": {
                "name": "memory_insert",
                "arguments": '{"label": "human", "new_string": "Likes figs."}',
                "tool_call_id": "call_1_0",
            },
            "tool_calls": [
                {
                    "name": "memory_insert",
                    "arguments": '{"label": "human", "new_string": "Likes figs."}',
                    "tool_call_id": "call_1_0",
                }
            ],
        }
    )
    assert pending(talk, agent) == answer["messages"][0]
    assert talk.block(agent, "human") == "Name: Eve"


def test_a_tool_that_asks_by_default_brings_its_rule_along(talk: Talk) -> None:
    tool_id = talk.tenant.tool_id("memory_insert")
    talk.tenant.house.write(ask_by_default, tool_id)
    agent = talk.agent()
    assert {"tool_name": "memory_insert", "type": "requires_approval", "prompt_template": None} in agent[
        "tool_rules"
    ]
    assert stop_reason(talk.say(agent, "I like figs.", INSERT)) == "requires_approval"


@pytest.mark.promise("approvals.toggle")
def test_the_gate_can_be_put_up_and_taken_down(talk: Talk) -> None:
    agent = talk.agent()
    set_gate = talk.sdk.agents.tools.update_approval
    set_gate("memory_insert", agent_id=agent["id"], body_requires_approval=True)
    assert stop_reason(talk.say(agent, "I like figs.", INSERT)) == "requires_approval"
    set_gate("memory_insert", agent_id=agent["id"], body_requires_approval=False)
    reply(talk, agent, approval(no("call_1_0")), DONE)
    assert stop_reason(talk.say(agent, "I like figs!", INSERT, DONE)) == "end_turn"


@pytest.mark.promise("approvals.mixed")
def test_text_a_free_call_and_a_gated_one_in_one_step(talk: Talk) -> None:
    agent = gated_agent(talk)
    answer = talk.say(agent, "I am Ada and like figs.", says("One moment.") + REPLACE + INSERT)
    names = Scrubber()
    told = [(m["message_type"], m["id"], m["otid"], m["step_id"]) for m in names(answer["messages"])]
    # The free call is shown beside the request, with an id of its own.
    assert told == snapshot(
        [
            ("assistant_message", "message-1", "message-1/0", "step-1"),
            ("tool_call_message", "message-2", "message-1/1", "step-1"),
            ("approval_request_message", "message-1", "message-1", "step-1"),
        ]
    )
    listed = history(talk, agent)
    assert listed[1:] == answer["messages"]
    assert asked(answer) == ["call_1_1"]
    assert talk.block(agent, "human") == "Name: Eve", "the free call waits too"

    after = reply(talk, agent, approval(yes("call_1_1")), DONE)
    returned, said = after["messages"]
    assert [(r["tool_call_id"], r["status"]) for r in returned["tool_returns"]] == [
        ("call_1_0", "success"),
        ("call_1_1", "success"),
    ]
    assert returned["step_id"] == answer["messages"][0]["step_id"]
    assert returned["run_id"] == said["run_id"] != answer["messages"][0]["run_id"]
    assert talk.block(agent, "human") == "Name: Ada\nLikes figs."
    assert kinds(history(talk, agent)) == snapshot(
        [
            "user",
            "assistant",
            "tool_call",
            "approval_request",
            "approval_response",
            "tool_return",
            "assistant",
        ]
    )
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.pending")
def test_other_messages_are_refused_while_it_waits(talk: Talk) -> None:
    agent = gated_agent(talk)
    request = talk.say(agent, "I like figs.", INSERT)["messages"][0]
    before = history(talk, agent)
    with pytest.raises(ConflictError) as refused:
        talk.sdk.agents.messages.create(agent["id"], input="Hello?")
    assert refused.value.response.headers["x-should-retry"] == "false"
    detail = refused.value.response.json()["detail"]
    assert (detail["code"], detail["pending_request_id"]) == ("PENDING_APPROVAL", request["id"])
    assert set(detail) == {"code", "message", "pending_request_id"}
    assert history(talk, agent) == before
    assert pending(talk, agent) == request


WRONG: dict[str, JsonObject] = {
    "another call": approval(yes("call_9_9")),
    "one of two": approval(yes("call_1_0")),
    "one too many": approval(yes("call_1_0"), yes("call_1_1"), yes("call_1_2")),
    "the same twice": approval(yes("call_1_0"), no("call_1_0"), yes("call_1_1")),
    "another request": {"type": "approval", "approve": True, "approval_request_id": "message-elsewhere"},
}


@pytest.mark.promise("approvals.match")
@pytest.mark.parametrize("item", WRONG.values(), ids=WRONG)
def test_an_answer_that_does_not_fit_changes_nothing(talk: Talk, item: JsonObject) -> None:
    agent = gated_agent(talk)
    answer = talk.say(agent, "Figs, figs.", INSERT + INSERT)
    before = history(talk, agent)
    assert "detail" in talk.refuse(agent, 400, messages=[item])
    assert history(talk, agent) == before
    assert pending(talk, agent) == answer["messages"][0]
    assert talk.block(agent, "human") == "Name: Eve"
    reply(talk, agent, approval(yes("call_1_0"), yes("call_1_1")), DONE)
    check_it_goes_on(talk, agent)


def test_an_answer_that_nobody_asked_for_is_refused(talk: Talk) -> None:
    agent = gated_agent(talk)
    with pytest.raises(BadRequestError):
        talk.sdk.agents.messages.create(
            agent["id"],
            messages=[
                {
                    "type": "approval",
                    "approvals": [{"type": "approval", "tool_call_id": "call-none", "approve": True}],
                }
            ],
        )
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.approve")
def test_approved_the_call_is_run_and_the_loop_goes_on(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    talk.model.script(DONE)
    after = talk.sdk.agents.messages.create(
        agent["id"],
        messages=[
            {
                "type": "approval",
                "approvals": [{"type": "approval", "tool_call_id": call_id, "approve": True}],
            }
        ],
    )
    assert [m.message_type for m in after.messages] == ["tool_return_message", "assistant_message"]
    assert after.stop_reason.stop_reason == "end_turn"
    assert after.usage.step_count == 1
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    assert talk.model.last.last_tool_return.status == "success"
    given = next(m for m in history(talk, agent) if m["message_type"] == "approval_response_message")
    assert (given["step_id"], given["otid"], given["approval_request_id"]) == (None, None, call_id)
    assert given["approvals"] == [
        {"type": "approval", "tool_call_id": call_id, "approve": True, "reason": None}
    ]
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.deny")
def test_denied_the_model_reads_the_reason(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    returned, said = reply(talk, agent, approval(no(call_id, "They are not in season.")), DONE)["messages"]
    assert (returned["name"], returned["status"]) == ("memory_insert", "error")
    assert returned["tool_return"].endswith("They are not in season.")
    assert said["content"] == "Done."
    assert "They are not in season." in talk.model.last.last_tool_return.message
    assert talk.model.last.last_tool_return.status == "error"
    assert talk.block(agent, "human") == "Name: Eve"
    check_it_goes_on(talk, agent)


def test_one_approved_and_one_denied(talk: Talk) -> None:
    agent = gated_agent(talk, "memory_insert", "memory_replace")
    asked(talk.say(agent, "I am Ada and like figs.", INSERT + REPLACE))
    answer = reply(talk, agent, approval(yes("call_1_0"), no("call_1_1", "Stay Eve.")), DONE)
    returns = answer["messages"][0]["tool_returns"]
    assert {each["tool_call_id"]: each["status"] for each in returns} == {
        "call_1_0": "success",
        "call_1_1": "error",
    }
    listed = next(m for m in history(talk, agent) if m["message_type"] == "approval_response_message")
    assert [item["approve"] for item in listed["approvals"]] == [False, True], "the denial stands first"
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."


@pytest.mark.promise("approvals.older-form")
@pytest.mark.parametrize("names_it_by", ["message", "call", "nothing"])
def test_the_older_form_answers_all_calls_at_once(talk: Talk, names_it_by: str) -> None:
    agent = gated_agent(talk)
    request = talk.say(agent, "Figs, figs.", INSERT + INSERT)["messages"][0]
    id = {"message": request["id"], "call": "call_1_1", "nothing": None}[names_it_by]
    item = {"approve": True, "approval_request_id": id}
    reply(talk, agent, item, DONE)
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs.\nLikes figs."
    if id is not None:
        assert kinds(reply(talk, agent, item, DONE)["messages"]) == ["assistant"], "a retry is known"
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.retry")
def test_an_answer_sent_again_only_makes_the_agent_go_on(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    reply(talk, agent, approval(yes(call_id)), DONE)
    again = reply(talk, agent, approval(yes(call_id)), says("As I said."))
    assert kinds(again["messages"]) == ["assistant"]
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    assert kinds(history(talk, agent)).count("approval_response") == 1
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.further")
def test_further_messages_are_heard_after_the_answer(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    talk.model.script(DONE)
    body = {"messages": [approval(yes(call_id)), {"role": "user", "content": "And pears."}]}
    answer = talk.ask("POST", messages_path(agent), json=body)
    assert kinds(answer["messages"]) == ["tool_return", "assistant"]
    assert talk.model.last.roles[-2:] == ["tool", "user"]
    assert talk.model.last.last_user == "And pears."
    assert kinds(history(talk, agent)) == snapshot(
        ["user", "approval_request", "approval_response", "tool_return", "user", "assistant"]
    )
    check_it_goes_on(talk, agent)


def test_further_messages_are_heard_also_where_the_tool_ends_the_turn(talk: Talk) -> None:
    agent = gated_agent(
        talk, tool_rules=[gate("memory_insert"), {"type": "exit_loop", "tool_name": "memory_insert"}]
    )
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    talk.model.script(DONE)
    body = {"messages": [approval(yes(call_id)), {"role": "user", "content": "And pears."}]}
    assert stop_reason(talk.ask("POST", messages_path(agent), json=body)) == "end_turn"
    assert talk.model.last.last_user == "And pears."


def test_a_gated_tool_that_ends_the_turn_ends_it_once_approved(talk: Talk) -> None:
    agent = gated_agent(
        talk, tool_rules=[gate("memory_insert"), {"type": "exit_loop", "tool_name": "memory_insert"}]
    )
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    answer = reply(talk, agent, approval(yes(call_id)))
    assert (kinds(answer["messages"]), stop_reason(answer)) == (["tool_return"], "tool_rule")
    check_it_goes_on(talk, agent)


@pytest.mark.promise("approvals.never-stuck")
def test_a_tool_taken_away_meanwhile_is_refused_not_run(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    talk.sdk.agents.tools.detach(talk.tenant.tool_id("memory_insert"), agent_id=agent["id"])
    returned, _ = reply(talk, agent, approval(yes(call_id)), DONE)["messages"]
    assert returned["status"] == "error"
    assert returned["tool_return"].startswith("There is no tool memory_insert.")
    check_it_goes_on(talk, agent)


def test_a_call_of_no_tool_beside_a_gated_one(talk: Talk) -> None:
    agent = gated_agent(talk)
    answer = talk.say(agent, "I like figs.", calls("no_such_tool") + INSERT)
    returned, _ = reply(talk, agent, approval(*map(yes, asked(answer))), DONE)["messages"]
    assert [each["status"] for each in returned["tool_returns"]] == ["error", "success"]
    check_it_goes_on(talk, agent)


def test_an_agent_without_a_memory_of_messages_hears_the_answer(talk: Talk) -> None:
    agent = gated_agent(talk, message_buffer_autoclear=True)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    reply(talk, agent, approval(yes(call_id)), DONE)
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    check_it_goes_on(talk, agent)
