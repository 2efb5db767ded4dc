"""What agents hold: blocks, also shared ones, and tools; and the lists of tags and models."""

from typing import Any

import pytest
from letta_client import ConflictError, NotFoundError, UnprocessableEntityError
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import Tenant

from remanence.core.tool import Tool
from remanence.kit.ids import new_tool_id
from remanence.kit.json import JsonObject
from remanence.tools.repository import insert_tool

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"
SDK = {"x-stainless-package-version": "1.12.1"}


def agent_with(tenant: Tenant, *labels: str) -> dict[str, Any]:
    return tenant.agent(memory_blocks=[{"label": label, "value": label} for label in labels])


def own_tool(tenant: Tenant, name: str, **fields: Any) -> str:
    """A tool of the organisation's own, put straight into the database."""
    schema: JsonObject = {"name": name, "parameters": {"type": "object", "properties": {}}}
    tool = Tool(
        id=new_tool_id(),
        organization_id=tenant.actor.organization_id,
        name=name,
        json_schema=schema,
        **fields,
    )
    return tenant.house.write(insert_tool, tool).id


@pytest.mark.promise("blocks.create")
def test_a_block_is_made_with_what_was_given_and_defaults_for_the_rest(tenant: Tenant) -> None:
    block = tenant.sdk.blocks.create(
        label="project",
        value="Garden plan",
        description="what we work on",
        limit=3000,
        metadata={"m": 1},
        tags=["t1"],
        read_only=True,
    )
    assert (block.label, block.value, block.description) == ("project", "Garden plan", "what we work on")
    assert (block.limit, block.metadata, block.tags, block.read_only) == (3000, {"m": 1}, ["t1"], True)
    plain = tenant.sdk.blocks.create(label="scratch", value="")
    assert (plain.value, plain.limit, plain.description, plain.metadata) == ("", 100_000, None, {})
    assert (plain.read_only, plain.tags, plain.hidden, plain.is_template) == (False, [], None, False)
    assert tenant.sdk.blocks.retrieve(block.id) == block


@pytest.mark.promise("blocks.create")
@pytest.mark.parametrize(
    "body",
    [
        {"value": "x"},
        {"label": "", "value": "x"},
        {"label": "a\nb", "value": "x"},
        {"label": "x" * 256, "value": "x"},
        {"label": "l", "value": "x", "limit": 0},
        {"label": "l", "value": "xx", "limit": 1},
        {"label": "l", "value": "x", "tags": [""]},
        {"label": "l", "value": 7},
        {"label": "l", "value": "x", "metadata": []},
    ],
)
def test_a_block_that_cannot_be_is_refused(tenant: Tenant, body: dict[str, Any]) -> None:
    assert tenant.http.post("/v1/blocks/", json=body).status_code == 422
    assert tenant.http.get("/v1/blocks/count").json() == 0


@pytest.mark.promise("blocks.update")
def test_a_block_changes_where_told_and_stays_where_not(tenant: Tenant) -> None:
    block = tenant.sdk.blocks.create(label="a", value="x", description="d", tags=["t"], metadata={"k": 1})
    changed = tenant.sdk.blocks.update(block.id, value="y", limit=500, tags=["u", "v"], read_only=True)
    assert (changed.value, changed.limit, changed.tags, changed.read_only) == ("y", 500, ["u", "v"], True)
    assert (changed.label, changed.description, changed.metadata) == ("a", "d", {"k": 1})
    assert tenant.sdk.blocks.update(block.id, label="b").label == "b"
    with pytest.raises(NotFoundError):
        tenant.sdk.blocks.update(f"block-{NOBODY}", value="z")


@pytest.mark.promise("blocks.read-only")
def test_read_only_binds_agents_and_not_the_api(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "rules", "value": "old", "read_only": True}])
    assert tenant.sdk.agents.blocks.update("rules", agent_id=agent["id"], value="new").value == "new"
    assert tenant.sdk.blocks.update(agent["blocks"][0]["id"], value="newer").value == "newer"


@pytest.mark.promise("blocks.limit")
def test_a_value_over_the_limit_is_refused_and_changes_nothing(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "tiny", "value": "short", "limit": 10}])
    block_id = agent["blocks"][0]["id"]
    before = tenant.http.get(f"/v1/blocks/{block_id}").json()
    compiled = tenant.system_text(agent["id"])
    for change in (
        {"value": "x" * 11, "description": "lost"},
        {"limit": 4},
        {"value": "x" * 21, "limit": 20},
    ):
        for path in (f"/v1/blocks/{block_id}", f"/v1/agents/{agent['id']}/core-memory/blocks/tiny"):
            answer = tenant.http.patch(path, json=change)
            assert answer.status_code == 422
            assert "limit" in answer.json()["detail"]
    assert tenant.http.get(f"/v1/blocks/{block_id}").json() == before
    assert tenant.system_text(agent["id"]) == compiled
    with pytest.raises(UnprocessableEntityError):
        tenant.sdk.blocks.update(block_id, value="x" * 11)
    raised = tenant.sdk.blocks.update(block_id, value="x" * 11, limit=11)
    assert (len(raised.value), raised.limit) == (11, 11)


@pytest.mark.promise("blocks.delete")
def test_a_deleted_block_is_gone_from_all_its_holders(tenant: Tenant) -> None:
    agent = agent_with(tenant, "human", "persona")
    block_id = agent["blocks"][0]["id"]
    answer = tenant.http.delete(f"/v1/blocks/{block_id}")
    assert (answer.status_code, answer.json()) == (200, None)
    for method, path in (
        ("GET", f"/v1/blocks/{block_id}"),
        ("DELETE", f"/v1/blocks/{block_id}"),
        ("GET", f"/v1/blocks/{block_id}/agents"),
        ("GET", f"/v1/agents/{agent['id']}/core-memory/blocks/human"),
        ("PATCH", f"/v1/agents/{agent['id']}/core-memory/blocks/attach/{block_id}"),
    ):
        assert tenant.http.request(method, path).status_code == 404, path
    assert [block["label"] for block in tenant.state(agent["id"])["blocks"]] == ["persona"]


@pytest.mark.promise("blocks.list")
def test_blocks_are_listed_from_the_oldest_and_found_by_many_marks(tenant: Tenant) -> None:
    held = tenant.block("human", "Likes TEA", description="who", tags=["a", "b"], project_id="p")
    tenant.block("persona", "calm", tags=["b"])
    tenant.block("human", "Likes 100% wool", is_template=True, template_name="tpl")
    tenant.agent(block_ids=[held["id"]])
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["Likes TEA", "calm", "Likes 100% wool"]),
        ({"order": "desc"}, ["Likes 100% wool", "calm", "Likes TEA"]),
        ({"label": "human"}, ["Likes TEA", "Likes 100% wool"]),
        ({"label": "human", "limit": 1}, ["Likes TEA"]),
        ({"label_search": "PERS"}, ["calm"]),
        ({"value_search": "tea"}, ["Likes TEA"]),
        ({"value_search": "0%"}, ["Likes 100% wool"]),
        ({"description_search": "wh"}, ["Likes TEA"]),
        ({"tags": ["a", "b"]}, ["Likes TEA", "calm"]),
        ({"tags": ["a", "b"], "match_all_tags": True}, ["Likes TEA"]),
        ({"project_id": "p"}, ["Likes TEA"]),
        ({"templates_only": True}, ["Likes 100% wool"]),
        ({"name": "tpl"}, ["Likes 100% wool"]),
        ({"connected_to_agents_count_gt": 0}, ["Likes TEA"]),
        ({"connected_to_agents_count_lt": 1}, ["calm", "Likes 100% wool"]),
        ({"connected_to_agents_count_eq": [1, 2]}, ["Likes TEA"]),
        ({"after": held["id"], "limit": 1}, ["calm"]),
        ({"before": held["id"]}, []),
    ]
    for query, values in expected:
        found = tenant.http.get("/v1/blocks/", params=query).json()
        assert [block["value"] for block in found] == values, query
        if not {"limit", "after", "before"} & set(query):
            assert tenant.http.get("/v1/blocks/count", params=query).json() == len(values), query
    assert len(list(tenant.sdk.blocks.list(limit=1))) == 3
    assert tenant.http.get("/v1/blocks/", params={"after": f"block-{NOBODY}"}).status_code == 404


@pytest.mark.promise("agents.blocks.attach")
def test_blocks_are_attached_and_detached_with_the_whole_agent_in_return(tenant: Tenant) -> None:
    agent = agent_with(tenant, "human")
    block = tenant.block("project", "Garden")
    for _ in range(2):
        state = tenant.sdk.agents.blocks.attach(block["id"], agent_id=agent["id"])
        assert state is not None
        assert [each.label for each in state.blocks] == ["human", "project"]
        assert len(state.tools) == 3
    assert "Garden" in tenant.system_text(agent["id"])
    for _ in range(2):
        state = tenant.sdk.agents.blocks.detach(block["id"], agent_id=agent["id"])
        assert state is not None
        assert [each.label for each in state.blocks] == ["human"]
    assert "Garden" not in tenant.system_text(agent["id"])
    assert tenant.sdk.blocks.retrieve(block["id"]).value == "Garden"
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.blocks.attach(f"block-{NOBODY}", agent_id=agent["id"])


@pytest.mark.promise("agents.blocks.labels")
def test_two_blocks_of_one_label_cannot_be_held_together(tenant: Tenant) -> None:
    agent = agent_with(tenant, "human", "persona")
    twin = tenant.block("human", "other")
    with pytest.raises(ConflictError):
        tenant.sdk.agents.blocks.attach(twin["id"], agent_id=agent["id"])
    persona = agent["blocks"][1]["id"]
    assert tenant.http.patch(f"/v1/blocks/{persona}", json={"label": "human"}).status_code == 409
    path = f"/v1/agents/{agent['id']}/core-memory/blocks/persona"
    assert tenant.http.patch(path, json={"label": "human"}).status_code == 409
    assert tenant.state(agent["id"])["blocks"] == agent["blocks"]


@pytest.mark.promise("agents.blocks.by-label")
@pytest.mark.parametrize("label", ["project", "system/notes", "a b", "ключ?#%", "attach"])
def test_a_block_is_read_and_changed_by_its_label(tenant: Tenant, label: str) -> None:
    agent = agent_with(tenant, label)
    found = tenant.sdk.agents.blocks.retrieve(label, agent_id=agent["id"])
    assert (found.id, found.label) == (agent["blocks"][0]["id"], label)
    changed = tenant.sdk.agents.blocks.update(label, agent_id=agent["id"], value="new", description="plan")
    assert (changed.id, changed.value, changed.description) == (found.id, "new", "plan")
    assert "\nnew\n" in tenant.system_text(agent["id"])
    assert tenant.state(agent["id"])["message_ids"] == agent["message_ids"]
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.blocks.retrieve("nolabel", agent_id=agent["id"])
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.blocks.update("nolabel", agent_id=agent["id"], value="x")


@pytest.mark.promise("agents.blocks.list")
def test_the_blocks_of_an_agent_are_listed_from_the_newest_and_by_pages(tenant: Tenant) -> None:
    agent = agent_with(tenant, "one", "two", "three")
    tenant.block("elsewhere")

    def labels(**query: Any) -> list[str]:
        path = f"/v1/agents/{agent['id']}/core-memory/blocks"
        return [block["label"] for block in tenant.http.get(path, params=query).json()]

    assert labels() == ["three", "two", "one"]
    assert labels(order="asc", limit=2) == ["one", "two"]
    assert labels(after=agent["blocks"][2]["id"], limit=1) == ["two"]
    assert [block.label for block in tenant.sdk.agents.blocks.list(agent["id"], limit=1)] == labels()


@pytest.mark.promise("blocks.shared")
def test_a_shared_block_is_one_for_all_who_hold_it(tenant: Tenant) -> None:
    block = tenant.block("project", "Garden")
    first = tenant.agent(name="first", block_ids=[block["id"]])
    second = tenant.agent(name="second", block_ids=[block["id"]])
    tenant.sdk.agents.blocks.update("project", agent_id=first["id"], value="Beds")
    assert tenant.sdk.agents.blocks.retrieve("project", agent_id=second["id"]).value == "Beds"
    assert tenant.state(second["id"])["blocks"][0]["value"] == "Beds"
    tenant.sdk.blocks.update(block["id"], value="Paths")
    assert tenant.sdk.agents.blocks.retrieve("project", agent_id=first["id"]).value == "Paths"
    tenant.sdk.blocks.update(block["id"], label="plan")
    assert tenant.sdk.agents.blocks.retrieve("plan", agent_id=second["id"]).id == block["id"]
    holders = tenant.sdk.blocks.agents.list(block["id"])
    assert [(agent.name, agent.blocks) for agent in holders] == [("second", []), ("first", [])]
    (full, _) = tenant.sdk.blocks.agents.list(block["id"], include=["agent.blocks"])
    assert full.blocks[0].value == "Paths"
    paged = tenant.sdk.blocks.agents.list(block["id"], limit=1, order="asc")
    assert [agent.name for agent in paged] == ["first", "second"]


@pytest.mark.promise("tools.list")
def test_the_built_in_tools_are_listed_and_filtered(tenant: Tenant) -> None:
    every = tenant.http.get("/v1/tools/", params={"limit": 1000}).json()
    names = {tool["name"] for tool in every}
    assert {"send_message", "conversation_search", "memory_replace", "core_memory_append"} <= names
    assert all(tool["tags"] == [tool["tool_type"]] for tool in every)
    assert tenant.http.get("/v1/tools/count").json() == len(every)
    expected: list[tuple[dict[str, Any], set[str]]] = [
        ({"name": "send_message"}, {"send_message"}),
        ({"names": ["send_message", "memory", "nothing"]}, {"send_message", "memory"}),
        ({"search": "REPLACE"}, {"core_memory_replace", "memory_replace"}),
        ({"tool_ids": [every[0]["id"]]}, {every[0]["name"]}),
        ({"tool_types": ["custom"]}, set()),
        ({"return_only_letta_tools": True}, names),
        ({"exclude_tool_types": sorted({tool["tool_type"] for tool in every})}, set()),
    ]
    for query, found in expected:
        page = tenant.http.get("/v1/tools/", params=query | {"limit": 1000}).json()
        assert {tool["name"] for tool in page} == found, query
        assert tenant.http.get("/v1/tools/count", params=query).json() == len(found), query
    assert tenant.http.get("/v1/tools/", params={"tool_types": "nonsense"}).status_code == 422


@pytest.mark.promise("tools.list", "tools.retrieve")
def test_the_sdk_pages_through_tools_and_reads_one(tenant: Tenant) -> None:
    listed = list(tenant.sdk.tools.list(limit=2))
    count = tenant.http.get("/v1/tools/count").json()
    assert len({tool.id for tool in listed}) == len(listed) == count
    tool = tenant.sdk.tools.retrieve(tenant.tool_id("memory_insert"))
    assert (tool.name, tool.tool_type, tool.return_char_limit) == (
        "memory_insert",
        "letta_sleeptime_core",
        50_000,
    )
    assert tool.json_schema is not None
    with pytest.raises(NotFoundError):
        tenant.sdk.tools.retrieve(f"tool-{NOBODY}")


@pytest.mark.promise("agents.tools.attach")
def test_tools_are_attached_and_detached_and_only_older_clients_get_the_agent(tenant: Tenant) -> None:
    agent = tenant.agent(include_base_tools=False)
    tool_id = tenant.tool_id("memory")
    path = f"/v1/agents/{agent['id']}/tools"
    for _ in range(2):
        assert tenant.http.patch(f"{path}/attach/{tool_id}", headers=SDK).json() is None
    assert tenant.sdk.agents.tools.attach(tool_id, agent_id=agent["id"]) is None
    assert [tool.name for tool in tenant.sdk.agents.tools.list(agent["id"])] == ["memory"]
    state = tenant.http.patch(f"{path}/attach/{tenant.tool_id('send_message')}").json()
    assert [tool["name"] for tool in state["tools"]] == ["memory", "send_message"]
    for _ in range(2):
        assert tenant.sdk.agents.tools.detach(tool_id, agent_id=agent["id"]) is None
    state = tenant.http.patch(f"{path}/detach/{tool_id}").json()
    assert [tool["name"] for tool in state["tools"]] == ["send_message"]
    assert tenant.sdk.tools.retrieve(tool_id).name == "memory"
    for verb in ("attach", "detach"):
        assert tenant.http.patch(f"{path}/{verb}/tool-{NOBODY}").status_code == 404


@pytest.mark.promise("agents.tools.list")
def test_ten_tools_of_an_agent_are_listed_unless_more_are_asked_for(tenant: Tenant) -> None:
    own = [own_tool(tenant, f"own_{number}") for number in range(12)]
    agent = tenant.agent(tool_ids=own, include_base_tools=False)
    path = f"/v1/agents/{agent['id']}/tools"
    assert len(tenant.http.get(path).json()) == 10
    assert len(tenant.http.get(path, params={"limit": 50}).json()) == 12
    assert [tool.id for tool in tenant.sdk.agents.tools.list(agent["id"], limit=5)] == own[::-1]


@pytest.mark.promise("agents.tools.approval-by-default")
def test_a_tool_that_asks_first_brings_its_rule_along(tenant: Tenant) -> None:
    tool_id = own_tool(tenant, "careful", default_requires_approval=True)
    rule = {"type": "requires_approval", "tool_name": "careful", "prompt_template": None}
    assert tenant.agent(tool_ids=[tool_id])["tool_rules"] == [rule]
    agent = tenant.agent()
    for _ in range(2):
        tenant.sdk.agents.tools.attach(tool_id, agent_id=agent["id"])
    assert tenant.state(agent["id"])["tool_rules"] == [rule]


@pytest.mark.promise("tags.list")
def test_tags_of_agents_and_blocks_are_listed_in_order_and_by_pages(tenant: Tenant) -> None:
    tenant.agent(tags=["pear", "apple"])
    tenant.agent(tags=["Apple", "apple"])
    tenant.block("b", tags=["fig", "apple"])
    every = ["Apple", "apple", "fig", "pear"]

    def tags(**query: Any) -> list[str]:
        return tenant.http.get("/v1/tags/", params=query).json()

    assert tenant.sdk.tags.list() == every
    assert tags(order="desc") == every[::-1]
    assert tags(after="apple", limit=1) == ["fig"]
    assert tags(before="pear", limit=2) == ["apple", "fig"]
    assert tags(after="banana") == ["fig", "pear"]
    assert tags(name="APP") == tags(query_text="app") == ["Apple", "apple"]
    assert tags(after="pear") == []


@pytest.mark.promise("models.list")
def test_models_are_listed_with_old_and_new_keys(tenant: Tenant, shared_model: ScriptedModel) -> None:
    models = tenant.http.get("/v1/models/").json()
    assert [model["handle"] for model in models] == ["openai/gpt-4o", "openai/gpt-4o-mini"]
    mini = models[1]
    assert (mini["name"], mini["model"], mini["model_type"]) == ("gpt-4o-mini", "gpt-4o-mini", "llm")
    assert (mini["provider_type"], mini["provider_name"]) == ("openai", "openai")
    assert (mini["max_context_window"], mini["context_window"]) == (128_000, 128_000)
    assert mini["model_endpoint"] == shared_model.base_url
    assert [model.handle for model in tenant.sdk.models.list(provider_name="openai")] == [
        model["handle"] for model in models
    ]
    none: list[dict[str, Any]] = [
        {"provider_name": "nobody"},
        {"provider_type": "anthropic"},
        {"provider_category": "byok"},
    ]
    assert all(tenant.http.get("/v1/models/", params=query).json() == [] for query in none)
    both = tenant.http.get("/v1/models/", params={"provider_category": ["base", "byok"]}).json()
    assert both == models


@pytest.mark.promise("models.embeddings")
def test_embedding_models_are_listed(tenant: Tenant) -> None:
    listed = tenant.sdk.models.embeddings.list()
    assert [model.handle for model in listed] == ["openai/text-embedding-3-small", "local/wordllama-256"]
    raw, local = tenant.http.get("/v1/models/embedding").json()
    assert (raw["model_type"], raw["embedding_dim"]) == ("embedding", 1536)
    assert (local["model_type"], local["embedding_dim"]) == ("embedding", 256)
    assert (raw["embedding_chunk_size"], raw["batch_size"]) == (300, 32)
