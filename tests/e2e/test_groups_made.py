"""Groups made, changed and ended by hand: what fits together, and what they share."""

from typing import Any

import pytest
from tests.support.script import Gate, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit.json import JsonObject

NOBODY = "agent-11111111-1111-4111-8111-111111111111"


def trio(talk: Talk) -> list[JsonObject]:
    return [talk.agent(name=name) for name in ("Lead", "Ann", "Bob")]


def make(talk: Talk, members: list[JsonObject], **given: Any) -> JsonObject:
    body = {"agent_ids": [each["id"] for each in members], "description": "a panel"} | given
    return talk.ask("POST", "/v1/groups/", json=body)


@pytest.mark.promise("groups.create", "groups.retrieve")
def test_every_kind_of_group_can_be_made_and_read(talk: Talk) -> None:
    lead, ann, bob = trio(talk)
    configs: list[JsonObject] = [
        {"manager_type": "round_robin", "max_turns": 7},
        {"manager_type": "supervisor", "manager_agent_id": lead["id"]},
        {"manager_type": "dynamic", "manager_agent_id": lead["id"], "max_turns": 3},
        {"manager_type": "sleeptime", "manager_agent_id": lead["id"], "sleeptime_agent_frequency": 2},
    ]
    made = [make(talk, [ann, bob], manager_config=config, project_id="p") for config in configs]
    for config, group in zip(configs, made, strict=True):
        assert config.items() <= group.items()
        assert group["agent_ids"] == [ann["id"], bob["id"]]
        assert talk.get(f"/v1/groups/{group['id']}") == group
        assert talk.get("/v1/groups/", manager_type=config["manager_type"]) == [group]
    assert made[2]["termination_token"] == "DONE!"
    assert talk.get("/v1/groups/count") == 4
    assert [each["id"] for each in talk.get("/v1/groups/", project_id="p")] == [each["id"] for each in made]
    assert len(talk.get(f"/v1/agents/{ann['id']}/groups")) == 4
    assert talk.tenant.state(lead["id"])["enable_sleeptime"] is True
    assert talk.tenant.state(lead["id"])["managed_group"] == made[3]
    assert make(talk, [ann, bob])["manager_type"] == "round_robin"


@pytest.mark.promise("groups.create")
def test_what_does_not_fit_is_refused_and_changes_nothing(talk: Talk) -> None:
    lead, ann, _ = trio(talk)
    group = make(talk, [ann], manager_config={"manager_type": "supervisor", "manager_agent_id": lead["id"]})
    for status, members, config in (
        (422, [], {}),
        (422, ["nonsense"], {}),
        (404, [NOBODY], {}),
        (404, [ann["id"]], {"manager_type": "supervisor", "manager_agent_id": NOBODY}),
        (400, [ann["id"]], {"manager_type": "dynamic"}),
        (400, [ann["id"]], {"manager_type": "supervisor", "manager_agent_id": ann["id"]}),
        (422, [ann["id"]], {"manager_type": "swarm"}),
        (422, [ann["id"]], {"manager_type": "round_robin", "max_turns": 0}),
        (422, [ann["id"]], {"manager_type": "round_robin", "termination_token": "x"}),
        (422, [ann["id"]] * 51, {}),
        (409, [ann["id"]], {"manager_type": "voice_sleeptime", "manager_agent_id": lead["id"]}),
    ):
        body: JsonObject = {"agent_ids": members, "description": "x", "manager_config": config}
        assert talk.http.post("/v1/groups/", json=body).status_code == status, body
    for status, change in (
        (400, {"agent_ids": [lead["id"]]}),
        (404, {"agent_ids": [NOBODY]}),
        (400, {"manager_config": {"manager_type": "dynamic"}}),
        (400, {"manager_config": {"manager_agent_id": ann["id"]}}),
        (422, {"manager_config": {"max_turns": 3}}),
    ):
        answer = talk.http.patch(f"/v1/groups/{group['id']}", json={"description": "new"} | change)
        assert answer.status_code == status, (change, answer.text)
    assert talk.get("/v1/groups/") == [group]
    assert not talk.tenant.state(lead["id"])["enable_sleeptime"]


@pytest.mark.promise("groups.modify")
def test_managers_and_members_can_be_exchanged(talk: Talk) -> None:
    lead, ann, bob = trio(talk)
    config = {"manager_type": "supervisor", "manager_agent_id": lead["id"]}
    group = make(talk, [ann], manager_config=config)
    change = {"manager_config": {"manager_agent_id": ann["id"]}, "agent_ids": [bob["id"], lead["id"]]}
    changed = talk.ask("PATCH", f"/v1/groups/{group['id']}", json=change)
    assert (changed["manager_agent_id"], changed["agent_ids"]) == (ann["id"], [bob["id"], lead["id"]])
    tools = {tool["name"] for tool in talk.tenant.state(ann["id"])["tools"]}
    assert "send_message_to_agent_and_wait_for_reply" in tools


@pytest.mark.promise("groups.blocks")
def test_what_a_group_shares_every_member_holds(talk: Talk) -> None:
    _, ann, bob = trio(talk)
    plan, notes = talk.tenant.block("plan", "Plan A"), talk.tenant.block("notes", "None yet")
    group = make(talk, [ann], shared_block_ids=[plan["id"]])
    path = f"/v1/groups/{group['id']}"
    assert group["shared_block_ids"] == [plan["id"]]
    assert talk.block(ann, "plan") == "Plan A"
    talk.ask("PATCH", path, json={"agent_ids": [ann["id"], bob["id"]]})
    assert talk.block(bob, "plan") == "Plan A"
    attached = talk.ask("PATCH", f"{path}/blocks/attach/{notes['id']}")
    assert set(attached["shared_block_ids"]) == {plan["id"], notes["id"]}
    assert talk.block(bob, "notes") == "None yet"
    rival = talk.tenant.block("human", "Somebody else")
    assert talk.http.patch(f"{path}/blocks/attach/{rival['id']}").status_code == 409
    missing = "block-11111111-1111-4111-8111-111111111111"
    for verb in ("attach", "detach"):
        assert talk.http.patch(f"{path}/blocks/{verb}/{missing}").status_code == 404
    assert talk.ask("PATCH", f"{path}/blocks/detach/{plan['id']}")["shared_block_ids"] == [notes["id"]]
    assert {block["label"] for block in talk.tenant.state(bob["id"])["blocks"]} == {
        "human",
        "persona",
        "notes",
    }
    assert talk.ask("PATCH", path, json={"shared_block_ids": []})["shared_block_ids"] == []
    assert talk.sdk.blocks.retrieve(plan["id"]).value == "Plan A"


@pytest.mark.promise("groups.delete")
def test_a_group_ends_with_its_manager_its_last_member_or_by_hand(talk: Talk) -> None:
    lead, ann, bob = trio(talk)
    led = make(talk, [ann, bob], manager_config={"manager_type": "dynamic", "manager_agent_id": lead["id"]})
    pair, single = make(talk, [ann, bob]), make(talk, [bob])
    talk.sdk.agents.delete(lead["id"])
    assert talk.http.get(f"/v1/groups/{led['id']}").status_code == 404
    talk.sdk.agents.delete(bob["id"])
    assert talk.get("/v1/groups/") == [pair | {"agent_ids": [ann["id"]]}]
    assert talk.http.get(f"/v1/groups/{single['id']}").status_code == 404
    gate = Gate()
    talk.model.script(says("Never heard.").held(gate))
    talk.ask("POST", f"/v1/groups/{pair['id']}/messages/async", json={"input": "Go"})
    gate.reached.wait_sync()
    assert "message" in talk.ask("DELETE", f"/v1/groups/{pair['id']}")
    until_sync(lambda: talk.get("/v1/runs/active") == [])
    gate.open()
    assert talk.http.post(f"/v1/groups/{pair['id']}/messages", json={"input": "Go"}).status_code == 404
    assert talk.tenant.state(ann["id"])["name"] == "Ann"


@pytest.mark.promise("groups.delete")
def test_deleting_a_sleeptime_group_spares_agents_that_are_more_than_helpers(talk: Talk) -> None:
    lead, ann, _ = trio(talk)
    config = {"manager_type": "sleeptime", "manager_agent_id": lead["id"]}
    group = make(talk, [ann], manager_config=config)
    again = talk.http.post(
        "/v1/groups/", json={"agent_ids": [ann["id"]], "description": "", "manager_config": config}
    )
    assert again.status_code == 409
    talk.ask("DELETE", f"/v1/groups/{group['id']}")
    assert talk.tenant.state(ann["id"])["name"] == "Ann"
    assert talk.tenant.state(lead["id"])["enable_sleeptime"] is False
