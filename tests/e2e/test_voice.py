"""Voice agents: their helper, which keeps what leaves the buffer, and the one tool that looks it up."""

from typing import Any

import pytest
from tests.support.script import Line, calls
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit import json
from remanence.kit.json import JsonObject


def voice_agent(talk: Talk, *, least: int, most: int) -> JsonObject:
    agent = talk.agent("voice_convo_agent", name="kim", enable_sleeptime=True)
    config = {"max_message_buffer_length": most, "min_message_buffer_length": least}
    path = f"/v1/groups/{agent['managed_group']['id']}"
    changed = talk.ask("PATCH", path, json={"manager_config": config})
    assert config.items() <= changed.items()
    assert talk.http.patch(path, json={"manager_config": {"max_message_buffer_length": 2}}).status_code == 400
    return agent


def speaks(text: str) -> Line:
    return calls("send_message", message=text)


def goes_on(tool: str, **arguments: Any) -> Line:
    return calls(tool, **arguments, request_heartbeat=True)


def names_of(agent: JsonObject) -> set[str]:
    return {tool["name"] for tool in agent["tools"]}


def visit(talk: Talk, agent: JsonObject, text: str, *lines: Line) -> JsonObject:
    """The run of the helper that this message brings about, once it is over."""
    (run_id,) = talk.say(agent, text, *lines)["usage"]["run_ids"]
    until_sync(lambda: talk.get(f"/v1/runs/{run_id}")["completed_at"])
    return talk.get(f"/v1/runs/{run_id}")


@pytest.mark.promise("agents.create.voice-tools")
def test_a_voice_agent_begins_with_its_tools_and_a_helper_with_its_own(talk: Talk) -> None:
    agent = talk.agent("voice_convo_agent", name="kim", enable_sleeptime=True)
    group = agent["managed_group"]
    assert names_of(agent) == {"send_message", "search_memory"}
    assert (group["manager_type"], group["manager_agent_id"]) == ("voice_sleeptime", agent["id"])
    assert (group["min_message_buffer_length"], group["max_message_buffer_length"]) == (15, 30)
    helper = talk.tenant.state(group["agent_ids"][0])
    assert (helper["name"], helper["agent_type"]) == ("kim-sleeptime", "voice_sleeptime_agent")
    assert names_of(helper) == {"store_memories", "rethink_user_memory", "finish_rethinking_memory"}
    assert {block["id"] for block in helper["blocks"]} == {block["id"] for block in agent["blocks"]}
    tool = talk.get("/v1/tools/", name="store_memories")[0]
    assert (tool["tool_type"], tool["json_schema"]["parameters"]["required"]) == (
        "letta_voice_sleeptime_core",
        ["chunks"],
    )
    talk.sdk.agents.delete(agent["id"])
    assert talk.get("/v1/agents/") == []


@pytest.mark.promise("voice.visit", "voice.keeping", "voice.search")
def test_the_helper_keeps_what_leaves_the_buffer_and_the_agent_finds_it(talk: Talk) -> None:
    agent = voice_agent(talk, least=3, most=8)  # three are there from the beginning, and a turn is three
    assert talk.say(agent, "My dentist is Doctor Ito", speaks("Noted."))["usage"]["run_ids"] is None
    chunk = {"start_index": 3, "end_index": 3, "context": "Eve's dentist is Dr. Ito."}
    run = visit(
        talk,
        agent,
        "And it rains",
        speaks("So it does."),
        goes_on("store_memories", chunks=[chunk | {"end_index": 99}]),
        goes_on("store_memories", chunks=[chunk]),
        goes_on("rethink_user_memory", new_memory="Name: Eve\nDentist: Dr. Ito"),
        calls("finish_rethinking_memory"),
    )
    assert (run["status"], run["metadata"]["run_type"]) == (
        "completed",
        "voice_sleeptime_agent_send_message_async",
    )
    told = talk.get(f"/v1/runs/{run['id']}/messages")[0]["content"]
    assert "\n1. [" in told
    assert "My dentist is Doctor Ito" in told
    assert "And it rains" not in told
    history = str(talk.get(f"/v1/runs/{run['id']}/messages"))
    assert "the conversation has the lines 1 to" in history
    (kept,) = talk.get(f"/v1/agents/{agent['id']}/archival-memory")
    assert kept["text"].startswith("Eve's dentist is Dr. Ito.\n\n")
    assert "My dentist is Doctor Ito" in kept["text"]
    assert talk.get(f"/v1/agents/{run['agent_id']}/archival-memory") == []
    assert talk.block(agent, "human") == "Name: Eve\nDentist: Dr. Ito"

    later = {"manager_config": {"max_message_buffer_length": 100}}
    talk.ask("PATCH", f"/v1/groups/{agent['managed_group']['id']}", json=later)
    search = goes_on("search_memory", convo_keyword_queries=["dentist"], start_minutes_ago=60)
    answer = talk.say(agent, "Who is my dentist?", search, speaks("Doctor Ito."))
    found = next(each for each in answer["messages"] if each["message_type"] == "tool_return_message")
    result = json.decode(found["tool_return"])
    assert "My dentist is Doctor Ito" in str(result["said"])
    assert "Eve's dentist is Dr. Ito." in str(result["kept"])
    answer = talk.say(agent, "And?", goes_on("search_memory"), speaks("Hm."))
    assert "Say what to look for" in str(answer["messages"])


@pytest.mark.promise("voice.retired-route")
def test_the_old_voice_route_says_where_to_go(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.http.post(f"/v1/voice-beta/{agent['id']}/chat/completions", json={"messages": []})
    assert answer.status_code == 410
    assert "/v1/agents/" in answer.text
