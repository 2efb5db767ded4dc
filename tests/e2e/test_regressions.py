"""What people who ran the predecessor suffered most from, each as a test that it does not happen here.

Crashes have files of their own (`test_kill.py`, `test_background_killed.py`), and so has a cancel while a tool
is at work (`tests/unit/runs/test_cancelled_tools.py`).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import Connection
from tests.support.answers import DONE, INSERT, approval, asked, cancel, gated_agent, pending, reply, yes
from tests.support.api import assert_takes_turns, assert_well_formed
from tests.support.flows import flow
from tests.support.script import Gate, Line, calls_raw, fails, says, sends
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.wire import read_frames

from remanence.agents import repository as agents
from remanence.core.message import Message, ToolCall
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, OrgId, new_message_id
from remanence.kit.json import JsonObject
from remanence.messages import repository as messages


@pytest.fixture(autouse=True)
def every_prompt_is_well_formed(talk: Talk) -> Iterator[None]:
    yield
    for request in talk.model.journal:
        assert_takes_turns(request.messages)


def check_it_goes_on(talk: Talk, agent: JsonObject) -> None:
    answer = talk.say(agent, "Are you there?", says("Here I am."))
    assert [message["content"] for message in answer["messages"]] == ["Here I am."]


def leave_a_call_dangling(connection: Connection, agent: JsonObject, organization_id: OrgId) -> None:
    """As older versions of a server did when they stopped between a call and its return."""
    agent_id = AgentId(agent["id"])
    call = ToolCall(id="call-lost", name="memory_insert", arguments="{}")
    message = Message(
        id=new_message_id(), agent_id=agent_id, role="assistant", tool_calls=(call,), created_at=utc_now()
    )
    messages.insert_messages(connection, organization_id, [message])
    messages.append_context(connection, agent_id, messages.next_position(connection, agent_id), [message.id])
    agents.bump_window(connection, agent_id)


@pytest.mark.promise("regressions.dangling-call")
def test_a_dangling_call_in_the_past_does_not_brick_the_agent(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hello", DONE)
    talk.tenant.house.write(leave_a_call_dangling, agent, talk.tenant.actor.organization_id)
    check_it_goes_on(talk, agent)
    assert [each.tool_call_id for each in talk.model.last.tool_returns] == ["call-lost"]
    assert talk.model.last.last_tool_return.status == "error"
    check_it_goes_on(talk, agent)


@pytest.mark.promise("regressions.call-and-return")
def test_a_call_and_its_return_in_two_runs_are_one_step_and_one_history(talk: Talk) -> None:
    agent = gated_agent(talk)
    request = talk.say(agent, "I like figs.", INSERT)["messages"][0]
    returned = reply(talk, agent, approval(yes("call_1_0")), DONE)["messages"][0]
    assert returned["run_id"] != request["run_id"]
    step = talk.get(f"/v1/steps/{request['step_id']}/messages")
    assert kinds(step) == ["user", "approval_request", "tool_return"]
    check_it_goes_on(talk, agent)


@pytest.mark.promise("regressions.open-approval")
def test_an_approval_that_nobody_answers_is_no_dead_end(talk: Talk) -> None:
    agent = gated_agent(talk)
    asked(talk.say(agent, "I like figs.", INSERT))
    for _ in range(2):
        talk.refuse(agent, 409, input="Hello?")
    cancel(talk, agent)
    assert pending(talk, agent) is None, "a cancel leaves no request behind"
    check_it_goes_on(talk, agent)


NOTHING: dict[str, Line] = {
    "no text": says(""),
    "no choices": sends('data: {"choices": []}\n\n', "data: [DONE]\n\n"),
    "nothing at all": sends("data: [DONE]\n\n"),
}


@pytest.mark.promise("regressions.empty-reply")
@pytest.mark.parametrize("line", NOTHING.values(), ids=NOTHING)
def test_an_empty_reply_is_an_error_and_no_empty_message(talk: Talk, line: Line) -> None:
    agent = talk.agent()
    frames = flow(talk.stream(agent, "Hello", line, stream_tokens=True))
    assert frames[1] == "stop_reason invalid_llm_response"
    assert frames[2].startswith("error run-1: llm_")
    assert kinds(talk.history(agent)) == ["system"]
    check_it_goes_on(talk, agent)
    assert [message for message in talk.history(agent) if message.get("content") == ""] == []


@pytest.mark.promise("regressions.duplicates")
def test_a_request_that_was_tried_again_is_heard_once(talk: Talk) -> None:
    agent = talk.agent()
    talk.refuse(agent, 400, fails(400), input="Hello")
    talk.say(agent, "Hello", says("Hi."))
    assert talk.model.last.roles == ["system", "user"]
    body = {"messages": [{"role": "user", "content": "Once", "otid": str(uuid4())}]}
    talk.model.script(says("Once it is."))
    first, second = (talk.ask("POST", messages_path(agent), json=body) for _ in range(2))
    assert first["messages"] == second["messages"]
    said = [m["content"] for m in talk.history(agent, order="asc")[1:]]
    assert said == ["Hello", "Hi.", "Once", "Once it is."]


@pytest.mark.promise("regressions.duplicates")
def test_the_same_message_sent_many_times_at_once_is_heard_once(talk: Talk) -> None:
    agent = talk.agent()
    body = {"messages": [{"role": "user", "content": "Once", "otid": str(uuid4())}]}
    talk.model.script(says("Once it is."))
    with talk.tenant.elsewhere() as elsewhere, ThreadPoolExecutor(8) as pool:
        path = messages_path(agent)
        sending = [pool.submit(client.post, path, json=body) for client in [talk.http, elsewhere] * 4]
        answers = [each.result() for each in sending]
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len({answer.json()["messages"][0]["id"] for answer in answers}) == 1
    assert kinds(talk.history(agent)) == ["system", "user", "assistant"]


@pytest.mark.promise("regressions.silent-stream")
@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "steps"])
@pytest.mark.parametrize("line", [says("Hi there."), says("Hi there.").whole()], ids=["streamed", "whole"])
def test_a_stream_always_shows_what_was_said(talk: Talk, line: Line, tokens: bool) -> None:
    agent = talk.agent()
    frames = talk.stream(agent, "Hello", line, stream_tokens=tokens)
    spoken = "".join(frame["content"] for frame in frames if frame.kind == "assistant_message")
    assert spoken == "Hi there."
    assert frames[-1].kind == "[DONE]"


@pytest.mark.promise("regressions.cancel-ends")
def test_a_cancelled_stream_ends_as_every_stream_does(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("one two three").paused(gate, after=1))
    with talk.open_stream(agent, "Count", stream_tokens=True) as response:
        gate.reached.wait_sync()
        cancel(talk, agent)
        ending = [frame.kind for frame in read_frames(response.read())[-3:]]
    gate.open()
    assert ending == ["stop_reason", "usage_statistics", "[DONE]"]
    check_it_goes_on(talk, agent)


@pytest.mark.promise("regressions.interleaved")
def test_concurrent_sends_do_not_mix(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.responder = lambda seen: (
        INSERT if seen.roles[-1] == "user" else says(f"You said {seen.last_user}")
    )
    texts = [f"number {number}" for number in range(8)]
    try:
        with ThreadPoolExecutor(8) as pool:
            sending = [pool.submit(talk.say, agent, text) for text in texts]
            answers = [each.result() for each in sending]
    finally:
        talk.model.responder = None
    assert [answer["messages"][-1]["content"] for answer in answers] == [f"You said {text}" for text in texts]
    history = talk.history(agent, order="asc", limit=100)[1:]
    assert_well_formed(history)
    turns = [history[at : at + 4] for at in range(0, len(history), 4)]
    assert sorted(turn[0]["content"] for turn in turns) == texts
    for turn in turns:
        assert len({message["run_id"] for message in turn}) == 1
        assert turn[3]["content"] == f"You said {turn[0]['content']}"


@pytest.mark.promise("regressions.cut")
@pytest.mark.parametrize("line", [says("one two three"), INSERT], ids=["in a text", "in a call"])
def test_a_provider_that_hangs_up_leaves_no_half_of_anything(talk: Talk, line: Line) -> None:
    agent = talk.agent()
    frames = flow(talk.stream(agent, "Hello", line.cut(after=2), stream_tokens=True))
    assert frames[-3:] == [
        "stop_reason llm_api_error",
        "error run-1: llm_error INTERNAL_SERVER_ERROR",
        "[DONE]",
    ]
    assert kinds(talk.history(agent)) == ["system"]
    assert talk.block(agent, "human") == "Name: Eve"
    check_it_goes_on(talk, agent)


@pytest.mark.promise("regressions.broken-arguments")
@pytest.mark.parametrize("arguments", ['["human", ', "not JSON at all", ""], ids=["cut", "prose", "none"])
def test_arguments_that_make_no_sense_are_told_to_the_model(talk: Talk, arguments: str) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "I like figs.", calls_raw("memory_insert", arguments), INSERT, DONE)
    assert stop_reason(answer) == "end_turn"
    assert [m["status"] for m in answer["messages"] if m["message_type"] == "tool_return_message"] == [
        "error",
        "success",
    ]
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    check_it_goes_on(talk, agent)


@pytest.mark.promise("regressions.broken-arguments")
def test_a_call_cut_off_by_the_output_limit_is_not_run_with_half_its_words(talk: Talk) -> None:
    agent = talk.agent()
    half = calls_raw("memory_insert", '{"label": "human", "new_string": "Likes fi').finishing("length")
    talk.say(agent, "I like figs.", half, DONE)
    assert talk.block(agent, "human") == "Name: Eve"
    check_it_goes_on(talk, agent)
