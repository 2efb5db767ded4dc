"""Agents that speak to each other: named truthfully, within bounds, and never in a circle of waiting."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.api import open_api
from tests.support.script import Gate, calls, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit.json import JsonObject

ASK = "send_message_to_agent_and_wait_for_reply"
TELL = "send_message_to_agent_async"
ASK_ALL = "send_message_to_agents_matching_tags"


def pair(talk: Talk, **options: Any) -> tuple[JsonObject, JsonObject]:
    both = [
        talk.agent(name=name, include_multi_agent_tools=True, include_base_tool_rules=False, **options)
        for name in ("Ann", "Bob")
    ]
    return both[0], both[1]


def returns(messages: Sequence[JsonObject]) -> list[tuple[str, str]]:
    return [
        (each["status"], each["tool_return"])
        for each in messages
        if each["message_type"] == "tool_return_message"
    ]


@pytest.mark.promise("agents.create.multi-agent-tools")
@pytest.mark.promise("multi-agent.ask")
def test_an_agent_asks_another_and_goes_on_with_its_answer(talk: Talk) -> None:
    ann, bob = pair(talk)
    assert {ASK, TELL, ASK_ALL} <= {tool["name"] for tool in ann["tools"]}
    ask = calls(ASK, message="How tall is the tower?", other_agent_id=bob["id"])
    answer = talk.say(ann, "Ask Bob.", ask, says("Ninety metres."), says("Bob says ninety."))
    assert returns(answer["messages"]) == [
        ("success", str({"agent_id": bob["id"], "response": ["Ninety metres."]}))
    ]
    heard = talk.model.journal[-2].messages[-1]
    assert heard["role"] == "system"
    assert f"Ann ({ann['id']})" in heard["content"]
    assert "How tall is the tower?" in heard["content"]


@pytest.mark.promise("multi-agent.tell")
def test_a_message_without_waiting_is_a_background_run_of_the_other(talk: Talk) -> None:
    ann, bob = pair(talk)
    tell = calls(TELL, message="The tower fell.", other_agent_id=bob["id"])
    answer = talk.say(ann, "Tell Bob.", tell, says("Told."), says("Oh no."))
    assert returns(answer["messages"])[0][0] == "success"
    (run,) = talk.get("/v1/runs/", agent_id=bob["id"])
    talk.ask("GET", f"/v1/runs/{run['id']}")
    talk.http.post(f"/v1/runs/{run['id']}/stream").read()
    assert (run["background"], run["metadata"]["senders"]) == (True, [ann["id"]])
    assert any("The tower fell." in str(message) for message in talk.history(bob))


@pytest.mark.promise("multi-agent.tags")
def test_all_agents_with_certain_tags_are_asked_but_not_the_sender(talk: Talk) -> None:
    ann, bob = pair(talk, tags=["team", "tower"])
    talk.agent(name="Cid", tags=["team"])
    ask = calls(ASK_ALL, message="Ready?", match_all=["team", "tower"], match_some=[])
    answer = talk.say(ann, "Ask them.", ask, says("Ready."), says("All ready."))
    assert returns(answer["messages"]) == [
        ("success", str([{"agent_id": bob["id"], "response": ["Ready."]}]))
    ]
    nobody = calls(ASK_ALL, message="Ready?", match_all=["nobody"], match_some=[])
    assert returns(talk.say(ann, "And the others?", nobody, says("Nobody."))["messages"])[0][0] == "error"


@pytest.mark.promise("multi-agent.bounds")
def test_bad_targets_and_questions_back_are_error_returns(talk: Talk) -> None:
    ann, bob = pair(talk)
    missing = "agent-11111111-1111-4111-8111-111111111111"
    for target in (ann["id"], missing):
        ask = calls(ASK, message="Hello?", other_agent_id=target)
        assert returns(talk.say(ann, "Ask.", ask, says("No."))["messages"])[0][0] == "error"
    there = calls(ASK, message="What is best?", other_agent_id=bob["id"])
    back = calls(ASK, message="What do you think?", other_agent_id=ann["id"])
    answer = talk.say(ann, "Ask Bob.", there, back, says("Figs."), says("Bob says figs."))
    assert returns(answer["messages"])[0][0] == "success"
    assert "do not ask back" in str(talk.history(bob))


@pytest.mark.promise("multi-agent.no-deadlock")
async def test_two_that_ask_each_other_at_once_both_come_to_an_end(
    server: RunningServer, model: ScriptedModel
) -> None:
    gates = [Gate(), Gate()]
    async with open_api(server.base_url) as api, asyncio.timeout(30):
        ids = [await api.create_agent(name=name, include_multi_agent_tools=True) for name in ("Ann", "Bob")]
        # Whichever asks first gets the first line, so each line asks the agent of the other's gate.
        sends: list[asyncio.Task[JsonObject]] = []
        for place, gate in enumerate(gates):
            question = calls(ASK, message="And you?", other_agent_id=ids[1 - place])
            model.script(question.held(gate))
            sends.append(asyncio.create_task(api.send(ids[place], "Ask the other.")))
            await gate.reached.wait()
        model.script(*(says("Well.") for _ in range(6)))
        for gate in gates:
            gate.open()
        answers = await asyncio.gather(*sends)
    assert all(answer["stop_reason"]["stop_reason"] == "end_turn" for answer in answers)
    assert "error" in {status for answer in answers for status, _ in returns(answer["messages"])}


@pytest.mark.promise("multi-agent.tags")
def test_tags_that_all_must_have_and_tags_of_which_one_is_enough(talk: Talk) -> None:
    ann, _ = pair(talk, tags=["lead"])
    named = {
        name: talk.agent(name=name, tags=tags)
        for name, tags in (("Cid", ["team", "red"]), ("Dee", ["team", "blue"]), ("Eli", ["team", "grey"]))
    }
    asked: list[set[str]] = []
    for match_all, match_some, count in (
        (["team"], ["red", "blue"], 2),
        ([], ["grey"], 1),
        (["team"], [], 3),
    ):
        ask = calls(ASK_ALL, message="Ready?", match_all=match_all, match_some=match_some)
        lines = [ask, *(says("Yes.") for _ in range(count)), says("Well.")]
        ((status, text),) = returns(talk.say(ann, "Ask them.", *lines)["messages"])
        assert status == "success"
        asked.append({name for name, agent in named.items() if agent["id"] in text})
    assert asked == [{"Cid", "Dee"}, {"Eli"}, {"Cid", "Dee", "Eli"}]


@pytest.mark.promise("multi-agent.bounds")
def test_more_agents_than_can_be_asked_at_once_are_not_asked_at_all(talk: Talk) -> None:
    ann, _ = pair(talk)
    for number in range(26):
        talk.agent(name=f"Number {number}", tags=["crowd"])
    ask = calls(ASK_ALL, message="Ready?", match_all=["crowd"], match_some=[])
    ((status, text),) = returns(talk.say(ann, "Ask them.", ask, says("Too many."))["messages"])
    assert (status, "at most 25" in text) == ("error", True)


@pytest.mark.promise("multi-agent.bounds")
def test_a_message_goes_through_so_many_agents_and_no_more(talk: Talk) -> None:
    row = [talk.agent(name=f"Agent {n}", include_multi_agent_tools=True) for n in range(10)]
    # Those beyond the eighth are never reached: the ninth is told to answer with what it has.
    asks = [calls(ASK, message="Pass it on.", other_agent_id=row[n + 1]["id"]) for n in range(9)]
    answers = [says("Well.") for _ in range(9)]
    assert talk.say(row[0], "Go.", *asks, *answers)["stop_reason"]["stop_reason"] == "end_turn"
    assert "gone through 8 agents" in str(talk.history(row[8]))
    assert talk.get("/v1/runs/", agent_id=row[9]["id"]) == []


@pytest.mark.promise("multi-agent.cancel")
def test_whoever_stops_waiting_stops_what_was_waited_for(talk: Talk) -> None:
    ann, bob = pair(talk)
    cid = talk.agent(name="Cid")
    gate = Gate()
    talk.model.script(
        calls(ASK, message="What is best?", other_agent_id=bob["id"]),
        calls(ASK, message="What is best?", other_agent_id=cid["id"]),
        says("Figs.").held(gate),
    )
    body = {"input": "Ask Bob."}
    run = talk.ask("POST", f"/v1/agents/{ann['id']}/messages/async", json=body)
    gate.reached.wait_sync()
    talk.ask("POST", f"/v1/agents/{ann['id']}/messages/cancel", json={"run_ids": [run["id"]]})
    until_sync(lambda: talk.get("/v1/runs/active") == [])
    gate.open()
    assert [each["status"] for each in talk.get("/v1/runs/")] == ["cancelled"] * 3
    for agent in (ann, bob, cid):
        assert talk.say(agent, "Still there?", says("Yes."))["stop_reason"]["stop_reason"] == "end_turn"
