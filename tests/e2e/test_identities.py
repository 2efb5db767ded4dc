"""Identities: on whose behalf agents act, and what belongs to them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.support.tenants import Tenant

from remanence.kit.json import JsonObject

ROOT = "/v1/identities/"
NOBODY = "11111111-1111-4111-8111-111111111111"
AGE = {"key": "age", "value": 33, "type": "number"}
VIP = {"key": "vip", "value": True, "type": "boolean"}


def ask(tenant: Tenant, method: str, path: str = ROOT, **request: Any) -> Any:
    response = tenant.http.request(method, path, **request)
    assert response.status_code == 200, response.text
    return response.json()


def refuse(tenant: Tenant, status: int, method: str, path: str = ROOT, **request: Any) -> str:
    response = tenant.http.request(method, path, **request)
    assert response.status_code == status, response.text
    return str(response.json()["detail"])


def make(tenant: Tenant, key: str, **given: Any) -> JsonObject:
    body = {"identifier_key": key, "name": key.title(), "identity_type": "user", **given}
    return ask(tenant, "POST", json=body)


def keys(tenant: Tenant, **query: Any) -> list[str]:
    return [each["identifier_key"] for each in ask(tenant, "GET", params=query)]


@pytest.mark.promise("identities.crud")
def test_identities_are_made_read_changed_listed_and_deleted(tenant: Tenant) -> None:
    una = make(tenant, "una", properties=[AGE, VIP])
    assert una == {
        "id": una["id"],
        "identifier_key": "una",
        "name": "Una",
        "identity_type": "user",
        "project_id": None,
        "agent_ids": [],
        "block_ids": [],
        "organization_id": tenant.actor.organization_id,
        "properties": [AGE, VIP],
    }
    make(tenant, "works", identity_type="org", project_id="p1")
    make(tenant, "cat", identity_type="other")
    assert ask(tenant, "GET", f"{ROOT}{una['id']}") == una
    assert ask(tenant, "GET", f"{ROOT}count") == 3
    assert keys(tenant) == ["cat", "works", "una"]
    assert keys(tenant, order="asc", limit=2) == ["una", "works"]
    assert keys(tenant, order="asc", after=una["id"]) == ["works", "cat"]
    for query in ({"identity_type": "org"}, {"project_id": "p1"}, {"name": "Works"}):
        assert keys(tenant, **query) == ["works"], query
    assert keys(tenant, identifier_key="cat") == ["cat"]
    changed = ask(tenant, "PATCH", f"{ROOT}{una['id']}", json={"name": "Una B", "identity_type": None})
    assert changed == una | {"name": "Una B"}
    assert ask(tenant, "PATCH", f"{ROOT}{una['id']}", json={"properties": []})["properties"] == []
    assert ask(tenant, "DELETE", f"{ROOT}{una['id']}") is None
    refuse(tenant, 404, "GET", f"{ROOT}{una['id']}")
    assert make(tenant, "una")["id"] != una["id"]


@pytest.mark.promise("identities.key")
def test_a_key_is_taken_once_in_a_project_and_put_changes_who_has_it(tenant: Tenant) -> None:
    una = make(tenant, "una", properties=[AGE])
    elsewhere = make(tenant, "una", project_id="p1")
    body = {"identifier_key": "una", "name": "Other", "identity_type": "org"}
    assert "una" in refuse(tenant, 409, "POST", json=body)
    bob = make(tenant, "bob")
    refuse(tenant, 409, "PATCH", f"{ROOT}{bob['id']}", json={"identifier_key": "una", "name": "Lost"})
    assert ask(tenant, "GET", f"{ROOT}{bob['id']}") == bob
    assert ask(tenant, "PATCH", f"{ROOT}{bob['id']}", json={"identifier_key": "bob"}) == bob
    put = ask(tenant, "PUT", json=body)
    assert put == una | {"name": "Other", "identity_type": "org"}
    assert ask(tenant, "PUT", json=body | {"project_id": "p1", "properties": [VIP]}) == elsewhere | {
        "name": "Other",
        "identity_type": "org",
        "properties": [VIP],
    }
    assert ask(tenant, "PUT", json=body | {"identifier_key": "new"})["identifier_key"] == "new"
    assert ask(tenant, "GET", f"{ROOT}count") == 4


@pytest.mark.promise("identities.key")
@pytest.mark.parametrize(("method", "others"), [("POST", 409), ("PUT", 200)])
def test_of_many_that_come_at_once_one_is_made(tenant: Tenant, method: str, others: int) -> None:
    body = {"identifier_key": "una", "name": "Una", "identity_type": "user"}

    def send(_: int) -> int:
        return tenant.http.request(method, ROOT, json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(send, range(8)))
    assert statuses == [200, *[others] * 7]
    assert ask(tenant, "GET", f"{ROOT}count") == 1


@pytest.mark.promise("identities.properties")
def test_properties_fit_their_types_and_change_one_by_one(tenant: Tenant) -> None:
    una = make(tenant, "una", properties=[AGE, {"key": "plan", "value": "gold", "type": "string"}])
    path = f"{ROOT}{una['id']}/properties"
    place = {"key": "place", "value": {"city": "Rome", "near": ["sea"]}, "type": "json"}
    older = AGE | {"value": 33.5}
    ask(tenant, "PUT", path, json=[older, place])
    kept = ask(tenant, "GET", f"{ROOT}{una['id']}")["properties"]
    assert kept == [older, una["properties"][1], place]
    for value, type in ((True, "number"), ("1", "number"), (1, "string"), (0, "boolean"), ("{}", "json")):
        refused = refuse(tenant, 422, "PUT", path, json=[VIP, {"key": "odd", "value": value, "type": type}])
        assert "'odd'" in refused
    assert "twice" in refuse(tenant, 422, "PUT", path, json=[VIP, VIP])
    refuse(tenant, 404, "PUT", f"{ROOT}identity-{NOBODY}/properties", json=[VIP])
    assert ask(tenant, "GET", f"{ROOT}{una['id']}")["properties"] == kept


@pytest.mark.promise("identities.belongings", "agents.state.identities")
def test_agents_belong_to_identities_and_show_them(tenant: Tenant) -> None:
    una, bob = make(tenant, "una", properties=[AGE]), make(tenant, "bob")
    agent = tenant.agent(name="one", identity_ids=[una["id"]])
    shown = una | {"agent_ids": [agent["id"]]}
    assert (agent["identity_ids"], agent["identities"]) == ([una["id"]], [shown])
    tenant.sdk.agents.identities.attach(bob["id"], agent_id=agent["id"])
    tenant.sdk.agents.identities.attach(bob["id"], agent_id=agent["id"])
    read = tenant.sdk.agents.retrieve(agent["id"], include=["agent.identities"])
    assert [each.identifier_key for each in read.identities or []] == ["una", "bob"]
    assert [each.key for each in (read.identities or [])[0].properties or []] == ["age"]
    assert read.identity_ids == [una["id"], bob["id"]]
    other = tenant.sdk.agents.create(name="two", model="openai/gpt-4o-mini")
    tenant.sdk.agents.update(other.id, identity_ids=[bob["id"]])
    names = [each["name"] for each in ask(tenant, "GET", f"{ROOT}{bob['id']}/agents")]
    assert names == ["two", "one"]
    assert [each.name for each in tenant.sdk.agents.list(identity_id=una["id"])] == ["one"]
    assert [each.name for each in tenant.sdk.agents.list(identifier_keys=["bob", "una"])] == ["two", "one"]
    assert ask(tenant, "GET", f"{ROOT}{bob['id']}")["agent_ids"] == [agent["id"], other.id]
    tenant.sdk.agents.identities.detach(bob["id"], agent_id=agent["id"])
    assert ask(tenant, "GET", f"{ROOT}{bob['id']}")["agent_ids"] == [other.id]
    moved = ask(tenant, "PATCH", f"{ROOT}{bob['id']}", json={"agent_ids": [agent["id"], agent["id"]]})
    assert moved["agent_ids"] == [agent["id"]]
    ask(tenant, "DELETE", f"{ROOT}{una['id']}")
    assert tenant.state(agent["id"])["identity_ids"] == [bob["id"]]
    tenant.sdk.agents.delete(agent["id"])
    assert ask(tenant, "GET", f"{ROOT}{bob['id']}")["agent_ids"] == []


@pytest.mark.promise("identities.belongings")
def test_blocks_belong_to_identities_and_are_found_by_them(tenant: Tenant) -> None:
    hers, his = tenant.block("hers", "x"), tenant.block("his", "y")
    una = make(tenant, "una", block_ids=[hers["id"]])
    bob = make(tenant, "bob")
    assert una["block_ids"] == [hers["id"]]
    attached = ask(tenant, "PATCH", f"/v1/blocks/{his['id']}/identities/attach/{bob['id']}")
    assert (attached["id"], attached["label"]) == (his["id"], "his")
    assert [each["id"] for each in ask(tenant, "GET", f"{ROOT}{bob['id']}/blocks")] == [his["id"]]
    found = ask(tenant, "GET", "/v1/blocks/", params={"identifier_keys": ["una", "bob"]})
    assert [each["label"] for each in found] == ["hers", "his"]
    assert [each.label for each in tenant.sdk.blocks.list(identity_id=una["id"])] == ["hers"]
    assert ask(tenant, "PATCH", f"/v1/blocks/{his['id']}/identities/detach/{bob['id']}")["id"] == his["id"]
    assert ask(tenant, "GET", f"{ROOT}{bob['id']}/blocks") == []
    ask(tenant, "DELETE", f"{ROOT}{una['id']}")
    assert tenant.sdk.blocks.retrieve(hers["id"]).value == "x"


@pytest.mark.promise("identities.refused")
def test_what_cannot_be_is_refused_and_changes_nothing(tenant: Tenant) -> None:
    good = {"identifier_key": "una", "name": "Una", "identity_type": "user"}
    for change in ({"identity_type": "robot"}, {"identifier_key": ""}, {"identifier_key": "k" * 300}):
        refuse(tenant, 422, "POST", json=good | change)
    agent = tenant.agent()
    for change in ({"agent_ids": [agent["id"], f"agent-{NOBODY}"]}, {"block_ids": [f"block-{NOBODY}"]}):
        refuse(tenant, 404, "POST", json=good | change)
        refuse(tenant, 404, "PUT", json=good | change)
    assert ask(tenant, "GET") == []
    una = make(tenant, "una")
    refuse(tenant, 404, "PATCH", f"{ROOT}{una['id']}", json={"name": "B", "agent_ids": [f"agent-{NOBODY}"]})
    refuse(tenant, 404, "PATCH", f"/v1/agents/{agent['id']}/identities/attach/identity-{NOBODY}")
    refuse(tenant, 404, "PATCH", f"/v1/agents/agent-{NOBODY}/identities/attach/{una['id']}")
    refuse(tenant, 404, "GET", f"{ROOT}identity-{NOBODY}/agents")
    refuse(tenant, 404, "GET", f"{ROOT}identity-{NOBODY}/blocks")
    refuse(tenant, 404, "GET", params={"after": f"identity-{NOBODY}"})
    refuse(tenant, 422, "GET", f"{ROOT}identity-x")
    assert ask(tenant, "GET") == [una]
    assert tenant.state(agent["id"])["identities"] == []
