"""Requests and answers as they stream; requests taken back; agents that speak through tools and must ask."""

from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot
from letta_client import APIStatusError, ConflictError
from tests.support.answers import (
    DONE,
    INSERT,
    REPLACE,
    approval,
    asked,
    cancel,
    gated_agent,
    no,
    pending,
    reply,
    stream_reply,
    yes,
)
from tests.support.api import assert_takes_turns
from tests.support.flows import flow
from tests.support.script import Gate, Line, calls, says
from tests.support.talks import Talk, kinds, stop_reason
from tests.support.wire import Frame, Scrubber

from remanence.kit.json import JsonObject


@pytest.fixture(autouse=True)
def every_prompt_is_well_formed(talk: Talk) -> Iterator[None]:
    yield
    for request in talk.model.journal:
        assert_takes_turns(request.messages)


def requests(frames: list[Frame]) -> list[JsonObject]:
    found = [frame.fields for frame in frames if frame.kind == "approval_request_message"]
    for each in found:
        assert each["tool_calls"] == each["tool_call"] or each["tool_calls"][0] == each["tool_call"]
    return found


@pytest.mark.promise("approvals.streams")
def test_a_request_streams_token_by_token_with_explicit_nulls(talk: Talk) -> None:
    agent = gated_agent(talk)
    frames = talk.stream(agent, "I like figs.", INSERT, stream_tokens=True)
    pieces = requests(frames)
    assert [list(piece["tool_call"].values()) for piece in pieces] == snapshot(
        [
            ["memory_insert", None, "call_1_0"],
            [None, '{"label": "h', "call_1_0"],
            [None, 'uman", "new_', "call_1_0"],
            [None, 'string": "Li', "call_1_0"],
            [None, 'kes figs."}', "call_1_0"],
        ]
    )
    assert all(list(piece["tool_call"]) == ["name", "arguments", "tool_call_id"] for piece in pieces)
    assert {(piece["id"], piece["otid"]) for piece in pieces} == {(pieces[0]["id"], pieces[0]["id"])}
    waiting = pending(talk, agent)
    assert waiting is not None
    assert waiting["id"] == pieces[0]["id"], "an id streamed is the id stored"
    assert [frame.kind for frame in frames[-3:]] == ["stop_reason", "usage_statistics", "[DONE]"]
    assert frames[-3]["stop_reason"] == "requires_approval"


@pytest.mark.parametrize(
    "calls_in_order", [REPLACE + INSERT, INSERT + REPLACE], ids=["free first", "gated first"]
)
def test_text_and_a_free_call_stream_beside_the_request(talk: Talk, calls_in_order: Line) -> None:
    agent = gated_agent(talk)
    frames = talk.stream(agent, "I am Ada.", says("One moment.") + calls_in_order, stream_tokens=True)
    streamed = {
        (frame["message_type"], frame["id"], frame["otid"])
        for frame in frames[1:]
        if frame.kind.endswith("_message")
    }
    kept = talk.history(agent, order="asc")[2:]
    assert len(kept) == 3
    text, free, request = kept
    # As clients know it, the text streams under the id after that of the request, and is stored under the latter.
    assert streamed == {
        ("assistant_message", free["id"], text["otid"]),
        ("tool_call_message", free["id"], free["otid"]),
        ("approval_request_message", request["id"], request["otid"]),
    }
    assert len({text["otid"], free["otid"], request["otid"]}) == 3
    reply(talk, agent, approval(*(yes(call["tool_call_id"]) for call in request["tool_calls"])), DONE)
    assert talk.block(agent, "human") == "Name: Ada\nLikes figs."


def test_a_request_streams_whole_in_steps(talk: Talk) -> None:
    agent = gated_agent(talk)
    frames = talk.stream(agent, "I like figs.", INSERT)
    (request,) = requests(frames)
    assert request == pending(talk, agent)
    assert [frame.kind for frame in frames] == [
        "ping",
        "approval_request_message",
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "steps"])
@pytest.mark.parametrize("approves", [True, False], ids=["approved", "denied"])
def test_an_answer_streams_the_return_and_what_follows(talk: Talk, tokens: bool, approves: bool) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    item = approval(yes(call_id) if approves else no(call_id, "Not now."))
    frames = stream_reply(talk, agent, item, says("All right."), stream_tokens=tokens)
    lines = flow(frames, Scrubber())
    assert [line.split(" ")[0] for line in lines] == [
        "ping",
        "tool_return",
        "assistant",
        "stop_reason",
        "usage",
        "[DONE]",
    ]
    assert ("success" if approves else "error The user did not allow this call. Not now.") in lines[1]
    assert lines[2].endswith("All |right." if tokens else "All right.")


def test_the_sdk_streams_request_and_answer(talk: Talk) -> None:
    agent = gated_agent(talk)
    talk.model.script(says("Hm.") + INSERT, DONE)
    asking = list(
        talk.sdk.agents.messages.create(agent["id"], input="Figs!", streaming=True, stream_tokens=True)
    )
    request = next(event for event in asking if event.message_type == "approval_request_message")
    assert request.tool_call.tool_call_id == "call_1_0"
    answering = talk.sdk.agents.messages.create(
        agent["id"],
        streaming=True,
        messages=[
            {
                "type": "approval",
                "approvals": [{"type": "approval", "tool_call_id": "call_1_0", "approve": True}],
            }
        ],
    )
    assert [event.message_type for event in answering] == snapshot(
        ["ping", "tool_return_message", "assistant_message", "stop_reason", "usage_statistics"]
    )


def test_a_message_streamed_while_it_waits_ends_in_an_error_frame(talk: Talk) -> None:
    agent = gated_agent(talk)
    talk.say(agent, "I like figs.", INSERT)
    assert flow(talk.stream(agent, "Hello?")) == snapshot(
        ["ping run-1", "stop_reason error", "error run-1: internal_error PENDING_APPROVAL", "[DONE]"]
    )
    with pytest.raises(APIStatusError):
        list(talk.sdk.agents.messages.create(agent["id"], input="Hello?", streaming=True))
    assert pending(talk, agent) is not None


# Taken back


@pytest.mark.promise("approvals.cancel")
def test_cancelling_answers_an_open_request_with_a_denial(talk: Talk) -> None:
    agent = gated_agent(talk)
    answer = talk.say(agent, "I am Ada and like figs.", REPLACE + INSERT)
    run_id = answer["messages"][0]["run_id"]
    assert cancel(talk, agent) == {run_id: "cancelled"}
    assert pending(talk, agent) is None
    listed = talk.history(agent, order="asc")[4:]
    assert kinds(listed) == ["approval_response", "tool_return"]
    assert [(a["tool_call_id"], a["approve"]) for a in listed[0]["approvals"]] == [("call_1_1", False)]
    assert [each["status"] for each in listed[1]["tool_returns"]] == ["error", "error"]
    assert listed[1]["step_id"] == answer["messages"][0]["step_id"]
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "completed", "it had ended before"
    assert talk.block(agent, "human") == "Name: Eve"
    assert stop_reason(talk.say(agent, "Never mind.", DONE)) == "end_turn"
    with pytest.raises(ConflictError):
        talk.sdk.agents.messages.cancel(agent["id"])


def test_a_request_is_taken_back_by_the_id_of_its_run_only(talk: Talk) -> None:
    agent = gated_agent(talk)
    first = talk.say(agent, "Hello.", DONE)["messages"][0]["run_id"]
    second = talk.say(agent, "I like figs.", INSERT)["messages"][0]["run_id"]
    assert cancel(talk, agent, first) == {first: "cancelled"}
    assert pending(talk, agent) is not None
    assert cancel(talk, agent, second) == {second: "cancelled"}
    assert pending(talk, agent) is None
    talk.say(agent, "Never mind.", DONE)


def test_a_withdrawn_request_can_no_longer_be_answered(talk: Talk) -> None:
    agent = gated_agent(talk)
    (call_id,) = asked(talk.say(agent, "I like figs.", INSERT))
    cancel(talk, agent)
    answer = reply(talk, agent, approval(yes(call_id)), says("It was cancelled."))
    assert kinds(answer["messages"]) == ["assistant"], "known as answered already, so the agent goes on"
    assert talk.block(agent, "human") == "Name: Eve"


def test_a_call_that_was_being_written_when_its_run_was_cancelled_asks_for_nothing(talk: Talk) -> None:
    agent = gated_agent(talk)
    gate = Gate()
    talk.model.script((says("Let me ") + INSERT).paused(gate, after=4))
    with talk.open_stream(agent, "I like figs.", stream_tokens=True) as response:
        chunks = response.iter_bytes()
        next(chunks)
        gate.reached.wait_sync()
        (run_id,) = cancel(talk, agent)
        b"".join(chunks)
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "cancelled"
    assert pending(talk, agent) is None
    assert kinds(talk.history(agent, order="asc")) == ["system", "user", "assistant"]
    talk.say(agent, "Hello?", DONE)


# Agents that speak through tools

FIGS = calls(
    "memory_insert", thinking="Figs.", label="human", new_string="Likes figs.", request_heartbeat=True
)
SPEAK = calls("send_message", thinking="Tell her.", message="Noted.", request_heartbeat=False)


@pytest.mark.promise("approvals.heartbeat")
def test_a_heartbeat_agent_asks_and_goes_on_as_it_wished(talk: Talk) -> None:
    agent = gated_agent(talk, "memory_insert", agent_type="memgpt_v2_agent")
    asking = talk.say(agent, "I like figs.", FIGS)
    assert kinds(asking["messages"]) == ["reasoning", "approval_request"]
    assert asking["messages"][0]["reasoning"] == "Figs."
    assert asking["messages"][1]["tool_call"]["arguments"] == snapshot(
        '{"label": "human", "new_string": "Likes figs.", "request_heartbeat": true}'
    )
    answer = reply(talk, agent, approval(yes("call_1_0")), SPEAK)
    assert kinds(answer["messages"]) == ["tool_return", "reasoning", "assistant"]
    assert answer["messages"][-1]["content"] == "Noted."
    assert talk.block(agent, "human").endswith("Likes figs.")
    talk.say(agent, "Thanks.", SPEAK)


def test_a_heartbeat_agent_that_is_denied_may_react(talk: Talk) -> None:
    agent = gated_agent(talk, "memory_insert", agent_type="memgpt_v2_agent")
    talk.say(agent, "I like figs.", FIGS)
    answer = reply(talk, agent, approval(no("call_1_0", "No figs.")), SPEAK)
    assert kinds(answer["messages"]) == ["tool_return", "reasoning", "assistant"]
    assert "No figs." in talk.model.last.last_tool_return.message


def test_a_heartbeat_agent_may_have_to_ask_before_it_speaks(talk: Talk) -> None:
    agent = gated_agent(talk, "send_message", agent_type="memgpt_v2_agent", include_base_tool_rules=True)
    asking = talk.say(agent, "Hello.", SPEAK)
    assert asked(asking) == ["call_1_0"]
    answer = reply(talk, agent, approval(yes("call_1_0")))
    assert stop_reason(answer) in ("end_turn", "tool_rule")


def test_a_heartbeat_agents_request_streams_after_its_thought(talk: Talk) -> None:
    agent = gated_agent(talk, "memory_insert", agent_type="memgpt_v2_agent")
    frames = talk.stream(agent, "I like figs.", FIGS, stream_tokens=True)
    order = [frame.kind for frame in frames]
    assert order.index("reasoning_message") < order.index("approval_request_message")
    pieces = requests(frames)
    written = "".join(piece["tool_call"]["arguments"] or "" for piece in pieces)
    assert "Figs." not in written
    waiting = pending(talk, agent)
    assert waiting is not None
    assert waiting["id"] == pieces[0]["id"]
