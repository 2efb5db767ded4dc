"""Tools that the client runs itself: offered with a message, called by the model, answered by the client."""

from collections.abc import Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.answers import (
    DONE,
    INSERT,
    READ,
    SENSOR,
    approval,
    asked,
    cancel,
    gated_agent,
    no,
    pending,
    reply,
    result,
    stream_reply,
    tool_return,
    yes,
)
from tests.support.api import assert_takes_turns
from tests.support.images import PIXEL
from tests.support.script import calls, calls_raw, says
from tests.support.talks import Talk, kinds, stop_reason

from remanence.kit.json import JsonObject

OFFERED = {"client_tools": [SENSOR]}


@pytest.fixture(autouse=True)
def every_prompt_is_well_formed(talk: Talk) -> Iterator[None]:
    yield
    for request in talk.model.journal:
        assert_takes_turns(request.messages)


def asking(talk: Talk, agent: JsonObject) -> JsonObject:
    return talk.say(agent, "How warm is the attic?", READ, **OFFERED)


@pytest.mark.promise("client-tools.call")
def test_a_call_of_a_client_tool_is_left_to_the_client(talk: Talk) -> None:
    agent = talk.agent()
    answer = asking(talk, agent)
    assert stop_reason(answer) == "requires_approval"
    assert answer["messages"][0]["tool_calls"] == snapshot(
        [{"name": "read_sensor", "arguments": '{"room": "attic"}', "tool_call_id": "call_1_0"}]
    )
    offered = next(
        tool["function"] for tool in talk.model.last.tools if tool["function"]["name"] == "read_sensor"
    )
    assert (offered["description"], list(offered["parameters"]["properties"])) == (
        "Reads a sensor.",
        ["room"],
    )
    assert pending(talk, agent) == answer["messages"][0]


def test_the_sdk_offers_and_answers(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(READ, says("It is mild."))
    tools: Any = [SENSOR]
    first = talk.sdk.agents.messages.create(agent["id"], input="How warm?", client_tools=tools)
    assert first.stop_reason.stop_reason == "requires_approval"
    second = talk.sdk.agents.messages.create(
        agent["id"],
        client_tools=tools,
        messages=[
            {
                "type": "approval",
                "approvals": [
                    {"type": "tool", "tool_call_id": "call_1_0", "tool_return": "21 °C", "status": "success"}
                ],
            }
        ],
    )
    assert [m.message_type for m in second.messages] == ["tool_return_message", "assistant_message"]


@pytest.mark.promise("client-tools.result")
@pytest.mark.parametrize("form", [approval, tool_return], ids=["approval", "tool_return"])
def test_both_forms_of_an_answer_give_the_result(talk: Talk, form: Any) -> None:
    agent = talk.agent()
    request = asking(talk, agent)["messages"][0]
    answer = reply(talk, agent, form(result("call_1_0", "21 degrees")), DONE, **OFFERED)
    returned = answer["messages"][0]
    assert {
        key: returned[key] for key in ("name", "status", "tool_return", "stdout", "stderr", "tool_call_id")
    } == {
        "name": "read_sensor",
        "status": "success",
        "tool_return": "21 degrees",
        "stdout": None,
        "stderr": None,
        "tool_call_id": "call_1_0",
    }
    assert returned["step_id"] == request["step_id"]
    assert returned["run_id"] != request["run_id"]
    assert talk.model.last.last_tool_return.message == "21 degrees"
    given = talk.history(agent, order="asc")[3]
    assert given["message_type"] == "approval_response_message"
    assert given["approvals"] == snapshot(
        [
            {
                "type": "tool",
                "tool_return": "21 degrees",
                "status": "success",
                "tool_call_id": "call_1_0",
                "stdout": None,
                "stderr": None,
            }
        ]
    )
    assert [given[key] for key in ("approve", "approval_request_id", "reason", "otid")] == [None] * 4
    again = reply(talk, agent, form(result("call_1_0", "21 degrees")), says("Still mild."), **OFFERED)
    assert kinds(again["messages"]) == ["assistant"], "a retry is known"


def test_a_failure_on_the_clients_side_is_shown_with_its_output(talk: Talk) -> None:
    agent = talk.agent()
    asking(talk, agent)
    failure = result("call_1_0", "no such room", "error", stdout=["out"], stderr=["err"])
    returned = reply(talk, agent, tool_return(failure), DONE)["messages"][0]
    assert (returned["status"], returned["tool_return"]) == ("error", "no such room")
    assert (returned["stdout"], returned["stderr"]) == (["out"], ["err"])
    seen = talk.model.last.last_tool_return
    assert (seen.status, seen.message) == ("error", "no such room")


@pytest.mark.promise("client-tools.parts")
def test_a_result_may_have_parts_and_images(talk: Talk) -> None:
    agent = talk.agent()
    asking(talk, agent)
    image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    parts = [{"type": "text", "text": "A photo:"}, {"type": "image", "source": image}]
    returned = reply(talk, agent, tool_return(result("call_1_0", parts)), DONE)["messages"][0]
    assert [part["type"] for part in returned["tool_return"]] == ["text", "image"]
    assert "A photo:" in str(talk.model.last.messages)
    assert PIXEL in str(talk.model.last.messages), "the model sees the image"
    talk.say(agent, "Thanks.", DONE)


@pytest.mark.promise("client-tools.limit")
@pytest.mark.parametrize("in_parts", [False, True], ids=["text", "parts"])
def test_a_result_that_is_too_long_is_cut(talk: Talk, in_parts: bool) -> None:
    agent = talk.agent(context_window_limit=8000)
    asking(talk, agent)
    text = "x" * 10_000
    value = [{"type": "text", "text": text}] if in_parts else text
    reply(talk, agent, tool_return(result("call_1_0", value)), DONE)
    seen = talk.model.last.last_tool_return.content
    assert seen.count("x") == pytest.approx(6400, abs=5)
    assert "3600 characters" in seen


@pytest.mark.promise("client-tools.hides")
def test_a_client_tool_hides_the_servers_tool_of_its_name(talk: Talk) -> None:
    agent = talk.agent()
    mine: JsonObject = {
        "name": "memory_insert",
        "description": "My own.",
        "parameters": {"type": "object", "properties": {}},
    }
    answer = talk.say(agent, "I like figs.", INSERT, client_tools=[mine])
    assert stop_reason(answer) == "requires_approval"
    offered = [
        tool["function"] for tool in talk.model.last.tools if tool["function"]["name"] == "memory_insert"
    ]
    assert [tool["description"] for tool in offered] == ["My own."]
    reply(talk, agent, tool_return(result("call_1_0", "noted elsewhere")), DONE, client_tools=[mine])
    assert talk.block(agent, "human") == "Name: Eve", "the server's tool was not run"
    assert stop_reason(talk.say(agent, "I like figs.", INSERT, DONE)) == "end_turn"
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."


OLD_YES: JsonObject = {"type": "approval", "approve": True}


@pytest.mark.parametrize("item", [approval(yes("call_1_0")), OLD_YES], ids=["new form", "older form"])
def test_a_client_tool_cannot_be_approved_only_answered_or_denied(talk: Talk, item: JsonObject) -> None:
    agent = talk.agent()
    asking(talk, agent)
    talk.refuse(agent, 400, messages=[item], **OFFERED)
    assert pending(talk, agent) is not None
    returned = reply(talk, agent, approval(no("call_1_0", "The sensor is broken.")), DONE)["messages"][0]
    assert (returned["name"], returned["status"]) == ("read_sensor", "error")
    assert returned["tool_return"].endswith("The sensor is broken.")


@pytest.mark.promise("client-tools.mixed")
def test_a_client_tool_beside_tools_of_the_server(talk: Talk) -> None:
    agent = gated_agent(talk, "memory_replace")
    rename = calls("memory_replace", label="human", old_string="Eve", new_string="Ada")
    answer = talk.say(agent, "Do all.", INSERT + READ + rename, **OFFERED)
    assert kinds(answer["messages"]) == ["tool_call", "approval_request"]
    assert asked(answer) == ["call_1_1", "call_1_2"]
    talk.refuse(agent, 400, messages=[tool_return(result("call_1_1", "21"))], **OFFERED)
    item = approval(result("call_1_1", "21"), yes("call_1_2"))
    returned = reply(talk, agent, item, DONE, **OFFERED)["messages"][0]
    assert [(each["tool_call_id"], each["status"]) for each in returned["tool_returns"]] == [
        ("call_1_0", "success"),
        ("call_1_1", "success"),
        ("call_1_2", "success"),
    ]
    assert talk.block(agent, "human") == "Name: Ada\nLikes figs."


def test_a_tool_that_is_no_longer_offered_is_unknown(talk: Talk) -> None:
    agent = talk.agent()
    asking(talk, agent)
    reply(
        talk, agent, tool_return(result("call_1_0", "21")), DONE
    )  # not offered again: the result still counts
    answer = talk.say(agent, "And now?", READ, DONE)
    assert stop_reason(answer) == "end_turn"
    refused = answer["messages"][1]
    assert refused["status"] == "error"
    assert refused["tool_return"].startswith("There is no tool read_sensor.")


def test_arguments_that_cannot_be_read_do_not_reach_the_client(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "How warm?", calls_raw("read_sensor", "[1, 2"), DONE, **OFFERED)
    assert (kinds(answer["messages"]), stop_reason(answer)) == (
        ["tool_call", "tool_return", "assistant"],
        "end_turn",
    )


def test_a_client_that_never_answers_can_be_cancelled(talk: Talk) -> None:
    agent = talk.agent()
    run_id = asking(talk, agent)["messages"][0]["run_id"]
    assert cancel(talk, agent) == {run_id: "cancelled"}
    assert stop_reason(talk.say(agent, "Never mind.", DONE)) == "end_turn"


def test_a_client_tool_streams_as_a_request_and_its_return_whole(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(READ)
    with talk.open_stream(agent, "How warm?", **OFFERED) as response:
        response.read()
        assert '"approval_request_message"' in response.text
    frames = stream_reply(talk, agent, approval(result("call_1_0", "19 degrees")), DONE, **OFFERED)
    assert [frame.kind for frame in frames] == [
        "ping",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]
    assert frames[1]["tool_return"] == "19 degrees"


def test_heartbeat_agents_are_not_offered_client_tools(talk: Talk) -> None:
    agent = talk.agent("memgpt_v2_agent")
    talk.say(agent, "Hello.", calls("send_message", thinking="-", message="Hi."), **OFFERED)
    assert "read_sensor" not in talk.model.last.tool_names
