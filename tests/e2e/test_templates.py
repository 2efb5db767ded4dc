"""Templates: agents saved under a name, others made from them, and brought to newer versions."""

from typing import Any

import letta_client
import pytest
from letta_client import Letta
from tests.support.script import says
from tests.support.talks import Talk
from tests.support.tenants import Tenant

from remanence.kit.json import JsonObject

WHO = {"label": "human", "value": "Name: {{name}}, from {{ city }}.", "description": "Who it is."}
RULES = {"label": "rules", "value": "Be kind.", "read_only": True}
GREET = '''
def greet(name: str) -> str:
    """
    Greets somebody.

    Args:
        name (str): Whom.
    """
    return "Hello " + name
'''


def original(tenant: Tenant, **given: Any) -> JsonObject:
    tool = tenant.http.post("/v1/tools/", json={"source_code": GREET}).json()
    options: JsonObject = {
        "name": "first",
        "memory_blocks": [WHO, RULES],
        "system": "You help people.",
        "tags": ["template"],
        "tool_ids": [tool["id"]],
        "secrets": {"TOKEN": "of the original"},
    }
    return tenant.agent(**(options | given))


def save(tenant: Tenant, name: str = "helper", **given: Any) -> Any:
    return tenant.sdk.templates.create(type="agent", agent_id=original(tenant, **given)["id"], name=name)


def make(sdk: Letta, which: str = "helper:latest", **given: Any) -> str:
    made = sdk.templates.agents.create(which, **given)
    assert made.group_id is None
    return made.agent_ids[0]


def values(agent: JsonObject) -> dict[str, str]:
    return {block["label"]: block["value"] for block in agent["blocks"]}


def file_of(tenant: Tenant, agent_id: str) -> JsonObject:
    return tenant.http.get(f"/v1/agents/{agent_id}/export").json()


def changed(tenant: Tenant, system: str, *blocks: JsonObject) -> JsonObject:
    """The file of a template that says something else."""
    agent = original(tenant, name="draft", system=system, memory_blocks=list(blocks))
    return file_of(tenant, agent["id"])


def listed(tenant: Tenant, **query: Any) -> list[JsonObject]:
    response = tenant.http.get("/v1/templates", params=query)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.promise("templates.create")
def test_an_agent_becomes_a_template_and_others_are_made_from_it(talk: Talk) -> None:
    tenant = talk.tenant
    template = save(tenant)
    assert (template.name, template.latest_version) == ("helper", "1")
    assert template.template_deployment_slug == f"{template.project_slug}/helper:1"
    identity = tenant.http.post(
        "/v1/identities/", json={"identifier_key": "una", "name": "Una", "identity_type": "user"}
    ).json()
    made = tenant.sdk.templates.agents.create(
        "helper:1",
        agent_name="for Una",
        memory_variables={"name": "Una", "city": "Rome", "unknown": "x"},
        tool_variables={"TOKEN": "hers"},
        tags=["una", "template"],
        identity_ids=[identity["id"]],
        initial_message_sequence=[{"role": "user", "content": "Remember the figs."}],
    )
    agent = tenant.state(made.agent_ids[0])
    assert (agent["name"], agent["system"], agent["tags"]) == (
        "for Una",
        "You help people.",
        ["template", "una"],
    )
    assert values(agent) == {"human": "Name: Una, from Rome.", "rules": "Be kind."}
    assert {block["label"]: block["read_only"] for block in agent["blocks"]} == {
        "human": False,
        "rules": True,
    }
    assert {each["key"]: each["value"] for each in agent["secrets"]} == {"TOKEN": "hers"}
    assert agent["identity_ids"] == [identity["id"]]
    assert "greet" in [tool["name"] for tool in agent["tools"]]
    assert (agent["base_template_id"], agent["deployment_id"]) == (template.id, made.deployment_id)
    assert agent["template_id"]
    assert agent["entity_id"] == "agent-0"
    assert [each["id"] for each in talk.get("/v1/agents/", base_template_id=template.id)] == [agent["id"]]
    other = tenant.state(make(tenant.sdk, "helper"))
    assert other["name"] not in ("first", "for Una")
    assert values(other)["human"] == WHO["value"]
    assert {block["id"] for block in other["blocks"]} & {block["id"] for block in agent["blocks"]} == set()
    talk.say(agent, "Hello", says("Hello Una."))
    assert "Name: Una, from Rome." in talk.model.last.system
    assert "Remember the figs." in str(talk.model.last.messages)


@pytest.mark.promise("templates.create")
def test_a_file_becomes_a_template_without_what_was_said(talk: Talk) -> None:
    tenant = talk.tenant
    agent = original(tenant)
    talk.say(agent, "The secret word is quince.", says("I keep it."))
    file = file_of(tenant, agent["id"])
    assert "quince" in str(file)
    template = tenant.sdk.templates.create(type="agent_file", agent_file=file)
    assert template.name
    made = make(tenant.sdk, f"{template.name}:latest")
    assert "quince" not in str(talk.get(f"/v1/agents/{made}/messages"))
    with pytest.raises(letta_client.BadRequestError):
        tenant.sdk.templates.create(type="agent_file", agent_file={"agents": "none"})
    assert [each["name"] for each in listed(tenant)] == [template.name]


@pytest.mark.promise("templates.create")
def test_an_agent_with_a_helper_is_made_with_its_helper(tenant: Tenant) -> None:
    save(tenant, enable_sleeptime=True)
    made = tenant.sdk.templates.agents.create(
        "helper:latest", agent_name="una", memory_variables={"name": "Una"}
    )
    assert len(made.agent_ids) == 2
    lead, helper = (tenant.state(each) for each in made.agent_ids)
    assert (lead["managed_group"]["id"], lead["managed_group"]["agent_ids"]) == (
        made.group_id,
        [helper["id"]],
    )
    assert {lead["deployment_id"], helper["deployment_id"]} == {made.deployment_id}
    shared = {block["label"]: block["id"] for block in lead["blocks"]}
    assert shared["human"] in [block["id"] for block in helper["blocks"]]


@pytest.mark.promise("templates.tools")
def test_tools_of_a_file_replace_those_here_only_if_asked(tenant: Tenant) -> None:
    file = file_of(tenant, original(tenant)["id"])
    for tool in file["tools"]:
        if tool["name"] == "greet":
            tool["source_code"] = GREET.replace("Hello ", "Good day ")

    def source() -> str:
        return tenant.http.get("/v1/tools/", params={"name": "greet"}).json()[0]["source_code"]

    tenant.sdk.templates.create(type="agent_file", agent_file=file, name="helper")
    make(tenant.sdk)
    assert "Good day" not in source()
    tenant.sdk.templates.update("helper", agent_file_json=file, update_existing_tools=True)
    assert "Good day" in source()


@pytest.mark.promise("templates.versions")
def test_versions_are_saved_chosen_and_gone_back_to(tenant: Tenant) -> None:
    save(tenant)

    def system(which: str) -> str:
        return tenant.state(make(tenant.sdk, which))["system"]

    tenant.sdk.templates.update("helper", agent_file_json=changed(tenant, "Two", WHO))
    assert (system("helper:current"), system("helper:latest")) == ("Two", "You help people.")
    second = tenant.sdk.templates.save("helper", message="Shorter.")
    assert second.latest_version == "2"
    assert (system("helper:latest"), system("helper:1")) == ("Two", "You help people.")
    tenant.sdk.templates.update("helper", agent_file_json=changed(tenant, "Three"))
    again = tenant.sdk.templates.update(
        "helper", agent_file_json=changed(tenant, "Four"), save_existing_changes=True
    )
    assert "version 3" in str(again.message)
    back = tenant.sdk.templates.rollback("helper", version="1")
    assert (back.success, "version 4" in str(back.message)) == (True, True)
    assert [system(f"helper:{which}") for which in ("current", "3", "latest")] == [
        "You help people.",
        "Three",
        "Four",
    ]
    tenant.sdk.templates.rollback("helper", version="2")
    [template] = listed(tenant, name="helper")
    assert template["latest_version"] == "4"  # what was gone back to is a version already
    assert [(each["version"], each["message"]) for each in template["versions"]][2:] == [
        ("2", "Shorter."),
        ("1", None),
    ]
    assert tenant.http.get("/v1/templates", params={"name": "nobody"}).json() == []


@pytest.mark.promise("templates.migrate")
def test_agents_are_brought_to_a_new_version_and_keep_what_is_theirs(talk: Talk) -> None:
    tenant = talk.tenant
    template = save(tenant)
    una = make(
        tenant.sdk,
        agent_name="una",
        memory_variables={"name": "Una", "city": "Rome"},
        tool_variables={"TOKEN": "hers", "MORE": "too"},
    )
    before = tenant.state(una)
    talk.say(before, "I like figs.", says("Noted."))
    notes = tenant.block("notes", "Likes figs.")
    tenant.sdk.agents.blocks.attach(notes["id"], agent_id=una)
    who = WHO | {"value": "{{name}} lives in {{city}}."}
    plans = {"label": "plans", "value": "Ask {{name}}."}
    tenant.sdk.templates.update("helper", agent_file_json=changed(tenant, "You serve.", who, plans))
    tenant.sdk.templates.save("helper")
    assert tenant.state(una)["system"] == "You help people."
    tenant.sdk.templates.save("helper", migrate_agents=True)
    after = tenant.state(una)
    assert (after["name"], after["system"], after["base_template_id"]) == ("una", "You serve.", template.id)
    assert after["template_id"] != before["template_id"]
    assert values(after) == {
        "human": "Una lives in Rome.",
        "plans": "Ask Una.",
        "rules": "Be kind.",
        "notes": "Likes figs.",
    }
    assert {each["key"]: each["value"] for each in after["secrets"]} == {"TOKEN": "hers"}
    said = talk.get(f"/v1/agents/{una}/messages")
    assert "I like figs." in str(said)
    talk.say(after, "And now?", says("Still here."))
    assert "You serve." in talk.model.last.system
    assert "Una lives in Rome." in str(talk.model.last.body)


@pytest.mark.promise("templates.migrate")
def test_what_is_to_be_kept_is_kept_and_blocks_can_be_made_the_same(tenant: Tenant) -> None:
    save(tenant)
    una = make(tenant.sdk, memory_variables={"name": "Una"}, tool_variables={"MORE": "too"})
    tenant.sdk.agents.blocks.update("human", agent_id=una, value="Una moved to Oslo.")
    rules = next(block for block in tenant.state(una)["blocks"] if block["label"] == "rules")
    shared = tenant.block("shared", "x")
    tenant.sdk.agents.blocks.attach(shared["id"], agent_id=una)
    tenant.agent(name="other", block_ids=[shared["id"]])
    tenant.sdk.templates.update("helper", agent_file_json=changed(tenant, "You serve.", WHO))
    tenant.sdk.templates.save(
        "helper",
        migrate_agents=True,
        preserve_core_memories_on_migration=True,
        preserve_environment_variables_on_migration=True,
        block_reconciliation_strategy="reconcile-all",
    )
    after = tenant.state(una)
    assert values(after) == {"human": "Una moved to Oslo."}
    assert {each["key"]: each["value"] for each in after["secrets"]} == {"TOKEN": "", "MORE": "too"}
    assert tenant.http.get(f"/v1/blocks/{rules['id']}").status_code == 404
    assert tenant.http.get(f"/v1/blocks/{shared['id']}").status_code == 200  # somebody else holds it


@pytest.mark.promise("templates.delete")
def test_agents_outlive_their_template(tenant: Tenant) -> None:
    save(tenant)
    agent_id = make(tenant.sdk)
    assert tenant.sdk.templates.delete("helper").success
    agent = tenant.state(agent_id)
    assert (agent["template_id"], agent["base_template_id"], agent["deployment_id"]) == (None, None, None)
    assert listed(tenant) == []
    for call in (
        lambda: tenant.sdk.templates.delete("helper"),
        lambda: tenant.sdk.templates.save("helper"),
        lambda: tenant.sdk.templates.rollback("helper", version="1"),
        lambda: tenant.sdk.templates.agents.create("helper:latest"),
    ):
        with pytest.raises(letta_client.NotFoundError):
            call()
    assert save(tenant).latest_version == "1"


@pytest.mark.promise("templates.refused")
def test_what_cannot_be_is_refused_and_changes_nothing(tenant: Tenant) -> None:
    template = save(tenant)
    agent = original(tenant)
    count = tenant.http.get("/v1/agents/count").json()
    with pytest.raises(letta_client.ConflictError):
        tenant.sdk.templates.create(type="agent", agent_id=agent["id"], name="helper")
    for name in ("a:b", "a/b", ""):
        body = {"type": "agent", "agent_id": agent["id"], "name": name}
        assert tenant.http.post("/v1/templates", json=body).status_code == 422, name
    both = {"type": "agent_file", "agent_file": file_of(tenant, agent["id"]), "agent_id": agent["id"]}
    assert tenant.http.post("/v1/templates", json=both).status_code == 422
    for version in ("current", "dev", "0", "2", "-1", "one", "9" * 20):
        answer = tenant.http.post("/v1/templates/helper/rollback", json={"version": version})
        assert answer.status_code == 400, version
    nobody = "identity-11111111-1111-4111-8111-111111111111"
    for status, which, body in (
        (400, "helper:7", {}),
        (404, "nobody:1", {}),
        (404, "helper:1", {"identity_ids": [nobody]}),
        (422, "helper:1", {"agent_name": "a/b"}),
        (422, "helper:1", {"memory_variables": {"name": 1}}),
    ):
        answer = tenant.http.post(f"/v1/templates/{which}/agents", json=body)
        assert answer.status_code == status, (which, body)
    assert tenant.http.get("/v1/agents/count").json() == count
    assert [(each["id"], each["latest_version"]) for each in listed(tenant)] == [(template.id, "1")]
