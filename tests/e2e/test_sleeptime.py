"""Sleep-time: a helper that tends an agent's memory in the background, between its turns."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.chats import Chat
from tests.support.databases import Databases
from tests.support.script import Gate, Line, calls, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer
from tests.support.server_process import ServerProcess
from tests.support.talks import HUMAN, Talk, kinds
from tests.support.waiting import until_sync

from remanence.kit.failpoints import VARIABLE
from remanence.kit.json import JsonObject

FINISH = calls("memory_finish_edits")


def helped(talk: Talk, every: int | None = 1, **options: Any) -> JsonObject:
    """An agent whose helper comes so often."""
    agent = talk.agent(enable_sleeptime=True, name="kim", **options)
    config = {"manager_type": "sleeptime", "sleeptime_agent_frequency": every}
    talk.ask("PATCH", group_path(agent), json={"manager_config": config})
    return agent


def group_path(agent: JsonObject) -> str:
    return f"/v1/groups/{agent['managed_group']['id']}"


def helper_of(agent: JsonObject) -> JsonObject:
    return {"id": agent["managed_group"]["agent_ids"][0]}


def speaks(text: str) -> Line:
    return calls("send_message", message=text)


def say(talk: Talk, agent: JsonObject, text: str, *lines: Line) -> list[str]:
    """What the helper did about it: the ids of its runs, once they are over."""
    answer = talk.say(agent, text, *lines)
    found: list[str] = answer["usage"]["run_ids"] or []
    until_sync(lambda: all(talk.get(f"/v1/runs/{run_id}")["completed_at"] for run_id in found))
    return found


@pytest.mark.promise("agents.create.sleeptime-helper", "groups.retrieve")
def test_an_agent_gets_a_helper_that_shares_its_blocks(talk: Talk) -> None:
    agent = talk.agent(enable_sleeptime=True, name="kim")
    group = agent["managed_group"]
    assert agent["multi_agent_group"] == group == talk.get(group_path(agent))
    assert group | {"id": "", "agent_ids": []} == {
        "id": "",
        "manager_type": "sleeptime",
        "agent_ids": [],
        "description": "",
        "project_id": None,
        "template_id": None,
        "base_template_id": None,
        "deployment_id": None,
        "shared_block_ids": [],
        "manager_agent_id": agent["id"],
        "termination_token": None,
        "max_turns": None,
        "sleeptime_agent_frequency": 5,
        "turns_counter": -1,
        "last_processed_message_id": None,
        "max_message_buffer_length": None,
        "min_message_buffer_length": None,
        "hidden": None,
    }
    helper = talk.tenant.state(group["agent_ids"][0])
    assert (helper["name"], helper["agent_type"]) == ("kim-sleeptime", "sleeptime_agent")
    assert {block["label"] for block in helper["blocks"]} == {"human", "persona", "memory_persona"}
    assert {block["id"] for block in agent["blocks"]} < {block["id"] for block in helper["blocks"]}
    assert {tool["name"] for tool in helper["tools"]} == {
        "memory_finish_edits",
        "memory_insert",
        "memory_replace",
        "memory_rethink",
    }
    assert talk.get("/v1/groups/", manager_type="sleeptime") == [group]
    assert talk.get("/v1/groups/", manager_type="round_robin") == []
    assert talk.get("/v1/groups/count") == 1
    assert talk.get(f"/v1/agents/{helper['id']}/groups") == [group]
    assert talk.get(f"/v1/agents/{agent['id']}/groups") == []
    included = talk.sdk.agents.retrieve(agent["id"], include=["agent.managed_group"]).managed_group
    assert included is not None
    assert included.id == group["id"]


@pytest.mark.promise("sleeptime.visit")
def test_the_helper_reads_what_was_said_and_edits_the_shared_blocks(talk: Talk) -> None:
    agent = helped(talk)
    note = calls("memory_insert", label="human", new_string="Has a cat, Tom.")
    (run_id,) = say(talk, agent, "My cat is called Tom", speaks("A fine name."), note, FINISH)
    run = talk.get(f"/v1/runs/{run_id}")
    assert (run["status"], run["agent_id"], run["background"]) == ("completed", helper_of(agent)["id"], True)
    assert run["metadata"]["run_type"] == "sleeptime_agent_send_message_async"
    assert talk.block(agent, "human") == "Name: Eve\nHas a cat, Tom."
    asked = talk.model.journal[-1].messages[1]["content"]
    assert "user: My cat is called Tom" in asked
    assert "A fine name." in asked
    revision = talk.get(f"/v1/blocks/{agent['blocks'][0]['id']}/revisions")[0]
    assert revision["author"] == {"kind": "sleeptime", "id": helper_of(agent)["id"]}
    source = talk.get(f"/v1/blocks/{agent['blocks'][0]['id']}/revisions/2/provenance")["source"]
    assert source["agent_id"] == agent["id"]
    assert source["last_message_id"] == talk.get(group_path(agent))["last_processed_message_id"]
    assert kinds(talk.get(f"/v1/runs/{run_id}/messages"))[0] == "user"


@pytest.mark.promise("sleeptime.frequency")
def test_the_helper_comes_every_so_many_turns_with_what_was_said_since(talk: Talk) -> None:
    agent = helped(talk, every=3)
    for number in (1, 2):
        assert say(talk, agent, f"Fact {number}", speaks("Yes.")) == []
    assert len(say(talk, agent, "Fact 3", speaks("Yes."), FINISH)) == 1
    told = talk.model.last.last_user
    assert all(f"Fact {number}" in told for number in (1, 2, 3))
    for number in (4, 5):
        assert say(talk, agent, f"Fact {number}", speaks("Yes.")) == []
    assert len(say(talk, agent, "Fact 6", speaks("Yes."), FINISH)) == 1
    told = talk.model.last.last_user
    assert [number for number in range(1, 7) if f"Fact {number}" in told] == [4, 5, 6]

    talk.ask(
        "PATCH",
        group_path(agent),
        json={"manager_config": {"manager_type": "sleeptime", "sleeptime_agent_frequency": None}},
    )
    assert len(say(talk, agent, "Fact 7", speaks("Yes."), FINISH)) == 1
    assert talk.http.patch(
        group_path(agent),
        json={"manager_config": {"manager_type": "sleeptime", "sleeptime_agent_frequency": 0}},
    ).is_client_error


@pytest.mark.promise("sleeptime.no-delay")
def test_a_reply_waits_for_no_helper(talk: Talk) -> None:
    agent = helped(talk)
    gate = Gate()
    answer = talk.say(agent, "One", speaks("First."), FINISH.held(gate))
    gate.reached.wait_sync()
    (run_id,) = answer["usage"]["run_ids"]
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "running"
    talk.ask("PATCH", group_path(agent), json={"manager_config": {"sleeptime_agent_frequency": 5}})
    talk.say(agent, "Two", speaks("Second."))
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "running"
    gate.open()
    until_sync(lambda: talk.get(f"/v1/runs/{run_id}")["status"] == "completed")


@pytest.mark.promise("sleeptime.visit")
def test_a_turn_that_failed_or_waits_brings_no_helper(talk: Talk) -> None:
    agent = helped(talk)
    path = f"/v1/agents/{agent['id']}/tools/approval/send_message"
    talk.ask("PATCH", path, json={"requires_approval": True})
    answer = talk.say(agent, "Hi", speaks("Hello."))
    assert answer["usage"]["run_ids"] is None
    talk.sdk.agents.messages.cancel(agent["id"])
    assert talk.get(group_path(agent))["turns_counter"] == -1


@pytest.mark.promise("sleeptime.conversations")
def test_what_is_said_in_a_conversation_with_memory_of_its_own_stays_there(talk: Talk) -> None:
    agent = helped(talk)
    chat, alone = Chat.begin(talk, agent), Chat.begin(talk, agent, isolated_block_labels=["human"])
    assert alone.say("A secret", speaks("Hush."))["usage"]["run_ids"] is None
    (run_id,) = chat.say("No secret", speaks("Yes."), FINISH)["usage"]["run_ids"]
    until_sync(lambda: talk.get(f"/v1/runs/{run_id}")["completed_at"] is not None)
    assert "No secret" in talk.model.last.last_user
    assert "A secret" not in talk.model.last.last_user


@pytest.mark.promise("sleeptime.blocks")
def test_the_helper_gets_blocks_that_came_later_and_sees_them_as_they_are(talk: Talk) -> None:
    agent = helped(talk)
    plan = talk.tenant.block("plan", "Plan A")
    talk.sdk.agents.blocks.attach(plan["id"], agent_id=agent["id"])
    talk.sdk.blocks.update(plan["id"], value="Plan B")
    say(talk, agent, "On we go", speaks("Yes."), FINISH)
    assert "Plan B" in talk.model.last.system
    assert talk.block(helper_of(agent), "plan") == "Plan B"


@pytest.mark.promise("sleeptime.off")
def test_switching_off_and_deleting_clean_up(talk: Talk) -> None:
    agent = helped(talk)
    gate = Gate()
    answer = talk.say(agent, "One", speaks("First."), FINISH.held(gate))
    gate.reached.wait_sync()
    helper = helper_of(agent)
    talk.sdk.agents.update(agent["id"], enable_sleeptime=False)
    (run_id,) = answer["usage"]["run_ids"]
    until_sync(lambda: talk.get(f"/v1/runs/{run_id}")["status"] == "cancelled")
    gate.open()
    assert talk.http.get(f"/v1/agents/{helper['id']}").status_code == 404
    assert talk.http.get(group_path(agent)).status_code == 404
    assert talk.tenant.state(agent["id"])["managed_group"] is None
    assert talk.say(agent, "Two", speaks("Second."))["usage"]["run_ids"] is None

    again = talk.sdk.agents.update(agent["id"], enable_sleeptime=True).managed_group
    assert again is not None
    talk.sdk.agents.delete(agent["id"])
    assert talk.get("/v1/groups/count") == 0
    assert talk.get("/v1/agents/") == []


@pytest.mark.promise("sleeptime.off")
def test_deleting_the_helper_or_the_group_clears_the_flag(talk: Talk) -> None:
    for ends_group in (True, False):
        agent = talk.agent(enable_sleeptime=True)
        talk.ask("DELETE", group_path(agent) if ends_group else f"/v1/agents/{helper_of(agent)['id']}")
        state = talk.tenant.state(agent["id"])
        assert (state["enable_sleeptime"], state["managed_group"]) == (False, None)
        assert talk.http.get(f"/v1/agents/{helper_of(agent)['id']}").status_code == 404


@pytest.mark.promise("groups.modify")
def test_a_group_is_changed_as_far_as_it_can_be(talk: Talk) -> None:
    agent, other = talk.agent(enable_sleeptime=True), talk.agent()
    changed = talk.ask("PATCH", group_path(agent), json={"description": "night shift"})
    assert changed["description"] == "night shift"
    refused: list[JsonObject] = [
        {"manager_config": {"manager_type": "sleeptime", "manager_agent_id": other["id"]}},
        {"agent_ids": [agent["id"]]},
        {"agent_ids": []},
        {"manager_config": {"manager_type": "round_robin"}},
    ]
    for body in refused:
        assert talk.http.patch(group_path(agent), json=body).is_client_error, body
    assert talk.get(group_path(agent)) == changed
    more = [*changed["agent_ids"], other["id"]]
    assert talk.ask("PATCH", group_path(agent), json={"agent_ids": more})["agent_ids"] == more


@pytest.mark.promise("sleeptime.visit")
def test_a_heartbeat_agent_is_helped_too(talk: Talk) -> None:
    agent = helped(talk, agent_type="memgpt_v2_agent")
    assert len(say(talk, agent, "I am Eve", calls("send_message", message="Hi."), FINISH)) == 1
    assert "Hi." in talk.model.last.last_user


def test_an_agent_without_a_helper_says_nothing_of_runs(talk: Talk) -> None:
    assert talk.say(talk.agent(), "Hi", says("Hello."))["usage"]["run_ids"] is None


@pytest.mark.promise("sleeptime.crash")
def test_a_visit_survives_the_death_of_the_process_that_owed_it(
    databases: Databases, tmp_path: Path, model: ScriptedModel
) -> None:
    url = databases.fresh()
    fail_point = {VARIABLE: "runs.checkpoint.Checkpoint._write:after:1"}
    dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings=fail_point)
    try:
        dying.start()
        with httpx.Client(base_url=dying.base_url, verify=False) as http:
            body = {"model": "openai/gpt-4o-mini", "enable_sleeptime": True, "memory_blocks": [HUMAN]}
            agent = http.post("/v1/agents/", json=body).json()
            every = {"manager_config": {"sleeptime_agent_frequency": 1}}
            assert http.patch(group_path(agent), json=every).is_success
            note = calls("memory_insert", label="human", new_string="Has a cat.")
            model.script(speaks("Nice."), note, FINISH)
            with pytest.raises(httpx.HTTPError):
                http.post(f"/v1/agents/{agent['id']}/messages", json={"input": "I have a cat"})
        dying.wait()
    finally:
        dying.kill()
    living = RunningServer(url, tmp_path, openai_api_key="sk-test", openai_base_url=model.base_url).start()
    try:
        with httpx.Client(base_url=living.base_url, verify=False) as http:
            path = f"/v1/agents/{agent['id']}/core-memory/blocks/human"
            until_sync(lambda: "Has a cat." in http.get(path).json()["value"], timeout_s=30)
            runs = http.get("/v1/runs/", params={"agent_id": helper_of(agent)["id"]})
            until_sync(lambda: http.get(f"/v1/runs/{runs.json()[0]['id']}").json()["status"] == "completed")
    finally:
        living.stop()
    model.verify()


@pytest.mark.promise("capture.opt-in")
def test_facts_are_taken_down_for_a_model_that_cannot_do_it(talk: Talk) -> None:
    agent = talk.agent(metadata={"memory_capture": True, "team": "a"}, name="kim")
    facts = [
        {"label": "human", "text": "Has a cat, Tom."},
        {"label": "human", "text": "name:  Eve"},
        {"label": "archive", "text": "Met Ida in Porto in 2019."},
    ]
    (run_id,) = say(talk, agent, "My cat is Tom", says("Nice."), calls("memory_capture", facts=facts))
    assert talk.get(f"/v1/runs/{run_id}")["metadata"]["run_type"] == "memory_capture"
    assert talk.model.last.tool_names == ["memory_capture"]
    assert talk.model.last.body["tool_choice"] not in ("auto", "none")
    assert talk.block(agent, "human") == "Name: Eve\nHas a cat, Tom."
    human = next(block["id"] for block in agent["blocks"] if block["label"] == "human")
    assert talk.get(f"/v1/blocks/{human}/revisions")[0]["author"]["kind"] == "capture"
    (kept,) = talk.get(f"/v1/agents/{agent['id']}/archival-memory")
    assert kept["text"] == "Met Ida in Porto in 2019."
    assert talk.get(f"/v1/passages/{kept['id']}/revisions")[0]["author"]["kind"] == "capture"
    assert [each["name"] for each in talk.get("/v1/agents/")] == ["kim"]
    assert talk.get("/v1/groups/") == []

    talk.sdk.agents.update(agent["id"], metadata={"team": "a"})
    assert say(talk, agent, "And a dog", says("Nice.")) == []


@pytest.mark.promise("capture.opt-in")
def test_a_helper_goes_before_capture(talk: Talk) -> None:
    agent = talk.agent(metadata={"memory_capture": True}, name="kim")
    state = talk.ask("PATCH", f"/v1/agents/{agent['id']}", json={"enable_sleeptime": True})
    assert talk.get("/v1/groups/count") == 1
    assert talk.get("/v1/agents/count") == 2
    talk.ask("DELETE", group_path(state))
    assert talk.get("/v1/agents/count") == 1
