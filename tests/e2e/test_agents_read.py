"""Reading agents: alone and in lists, with their relations and without, for both kinds of client."""

from typing import Any

import pytest
from letta_client import NotFoundError
from sqlalchemy import Connection, text
from tests.support.records import add_identity
from tests.support.tenants import Tenant

MODEL = "openai/gpt-4o-mini"
NOBODY = "agent-11111111-1111-4111-8111-111111111111"

STATE_KEYS = [
    "created_by_id",
    "last_updated_by_id",
    "created_at",
    "updated_at",
    "id",
    "name",
    "tool_rules",
    "message_ids",
    "system",
    "agent_type",
    "llm_config",
    "embedding_config",
    "model",
    "embedding",
    "model_settings",
    "compaction_settings",
    "response_format",
    "description",
    "metadata",
    "memory",
    "blocks",
    "tools",
    "sources",
    "tags",
    "tool_exec_environment_variables",
    "secrets",
    "project_id",
    "template_id",
    "base_template_id",
    "deployment_id",
    "entity_id",
    "identity_ids",
    "identities",
    "pending_approval",
    "message_buffer_autoclear",
    "enable_sleeptime",
    "multi_agent_group",
    "managed_group",
    "last_run_completion",
    "last_run_duration_ms",
    "last_stop_reason",
    "timezone",
    "max_files_open",
    "per_file_view_window_char_limit",
    "hidden",
]
"""The keys of an agent and their order, as the predecessor sent them."""

BLOCK_KEYS = [
    "value",
    "limit",
    "project_id",
    "template_name",
    "is_template",
    "template_id",
    "base_template_id",
    "deployment_id",
    "entity_id",
    "preserve_on_migration",
    "label",
    "read_only",
    "description",
    "metadata",
    "hidden",
    "id",
    "created_by_id",
    "last_updated_by_id",
    "tags",
    "revision",
]

TOOL_KEYS = [
    "id",
    "tool_type",
    "description",
    "source_type",
    "name",
    "tags",
    "source_code",
    "json_schema",
    "args_json_schema",
    "return_char_limit",
    "pip_requirements",
    "npm_requirements",
    "default_requires_approval",
    "enable_parallel_execution",
    "created_by_id",
    "last_updated_by_id",
    "metadata_",
    "project_id",
]

SECRET_KEYS = [
    "created_by_id",
    "last_updated_by_id",
    "created_at",
    "updated_at",
    "id",
    "key",
    "value",
    "description",
    "organization_id",
    "value_enc",
    "agent_id",
]


def ada(tenant: Tenant) -> dict[str, Any]:
    return tenant.agent(
        name="ada",
        memory_blocks=[{"label": "human", "value": "Ada"}],
        tags=["demo", "alpha"],
        secrets={"TOKEN": "s3cret"},
    )


def named(tenant: Tenant, *names: str) -> list[str]:
    """Agents of these names, one after the other; their ids."""
    return [tenant.agent(name=name)["id"] for name in names]


def listed(tenant: Tenant, **query: Any) -> list[str]:
    """The names in a list."""
    response = tenant.http.get("/v1/agents/", params=query)
    assert response.status_code == 200, response.text
    return [agent["name"] for agent in response.json()]


@pytest.mark.promise("agents.state.keys")
def test_an_agent_has_the_recorded_keys_in_the_recorded_order(tenant: Tenant) -> None:
    made = ada(tenant)
    sdk_headers = {"x-stainless-package-version": "1.12.1"}
    bare = tenant.http.get(f"/v1/agents/{made['id']}", headers=sdk_headers).json()
    for agent in (made, bare, tenant.state(made["id"]), tenant.http.get("/v1/agents/").json()[0]):
        assert list(agent) == STATE_KEYS
        assert list(agent["memory"]) == [
            "agent_type",
            "git_enabled",
            "blocks",
            "file_blocks",
            "prompt_template",
        ]
    assert list(made["blocks"][0]) == list(made["memory"]["blocks"][0]) == BLOCK_KEYS
    assert list(made["tools"][0]) == TOOL_KEYS
    assert list(made["secrets"][0]) == SECRET_KEYS


@pytest.mark.promise("agents.state.times")
def test_times_have_microseconds_and_a_z(tenant: Tenant) -> None:
    agent = tenant.agent()
    for key in ("created_at", "updated_at"):
        date, _, rest = agent[key].partition("T")
        assert len(date) == 10
        assert len(rest.partition(".")[2]) == 7
        assert rest.endswith("Z")


@pytest.mark.promise("agents.retrieve.sdk")
def test_the_sdk_gets_no_relations_that_it_does_not_ask_for(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.retrieve(ada(tenant)["id"])
    assert agent.name == "ada"
    assert (agent.blocks, agent.tools, agent.tags, agent.sources, agent.secrets) == ([], [], [], [], [])
    assert (agent.identities, agent.identity_ids, agent.memory.blocks) == ([], [], [])
    assert (agent.managed_group, agent.pending_approval) == (None, None)
    assert len(agent.message_ids or []) == 1


@pytest.mark.promise("agents.retrieve.include")
def test_included_relations_are_loaded_and_no_others(tenant: Tenant) -> None:
    made = ada(tenant)
    agent = tenant.sdk.agents.retrieve(made["id"], include=["agent.blocks", "agent.tags"])
    assert [block.label for block in agent.blocks] == ["human"]
    assert agent.memory.blocks == agent.blocks
    assert agent.tags == ["demo", "alpha"]
    assert (agent.tools, agent.secrets) == ([], [])
    rest = tenant.sdk.agents.retrieve(
        made["id"],
        include=[
            "agent.tools",
            "agent.secrets",
            "agent.identities",
            "agent.managed_group",
            "agent.pending_approval",
            "agent.sources",
        ],
    )
    assert [tool.name for tool in rest.tools] == ["conversation_search", "memory_insert", "memory_replace"]
    assert [(each.key, each.value) for each in rest.secrets or []] == [("TOKEN", "s3cret")]
    assert (rest.blocks, rest.tags) == ([], [])
    answer = tenant.http.get(f"/v1/agents/{made['id']}", params={"include": "agent.nonsense"})
    assert answer.status_code == 422


@pytest.mark.promise("agents.retrieve.plain")
def test_other_clients_get_all_relations_unless_they_choose(tenant: Tenant) -> None:
    made = ada(tenant)
    assert tenant.state(made["id"]) == made
    assert tenant.http.get("/v1/agents/").json() == [made]
    chosen = tenant.http.get(f"/v1/agents/{made['id']}", params={"include_relationships": "tags"}).json()
    assert (chosen["tags"], chosen["tools"]) == (["demo", "alpha"], [])
    none = tenant.http.get(f"/v1/agents/{made['id']}", params={"include_relationships": ""}).json()
    assert (none["tags"], none["tools"]) == ([], [])


@pytest.mark.promise("agents.retrieve.plain")
@pytest.mark.parametrize(
    ("user_agent", "is_sdk"),
    [
        ("letta-client/1.12.1", True),
        ("@letta-ai/letta-client/1.12.1", True),
        ("letta-client/0.1.9", False),
        ("Mozilla/5.0", False),
        ("python-httpx/0.28", False),
    ],
)
def test_a_client_is_known_by_its_user_agent(tenant: Tenant, user_agent: str, is_sdk: bool) -> None:
    made = ada(tenant)
    answer = tenant.http.get(f"/v1/agents/{made['id']}", headers={"user-agent": user_agent}).json()
    assert (answer["tags"] == []) is is_sdk


@pytest.mark.promise("agents.retrieve.errors")
def test_an_agent_that_is_not_there_is_not_found(tenant: Tenant) -> None:
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.retrieve(NOBODY)
    assert tenant.http.get(f"/v1/agents/{NOBODY}").json()["detail"].startswith("NOT_FOUND: ")


@pytest.mark.promise("agents.list.order")
def test_lists_run_from_the_newest_unless_asked_otherwise(tenant: Tenant) -> None:
    named(tenant, "one", "two", "three")
    assert [agent.name for agent in tenant.sdk.agents.list()] == ["three", "two", "one"]
    assert [agent.name for agent in tenant.sdk.agents.list(order="asc")] == ["one", "two", "three"]
    assert listed(tenant, ascending=True) == ["one", "two", "three"]


@pytest.mark.promise("agents.list.order")
def test_lists_can_follow_the_last_change(tenant: Tenant) -> None:
    first, *_ = named(tenant, "one", "two", "three")
    tenant.sdk.agents.update(first, description="changed")
    for query in ({"order_by": "updated_at"}, {"sort_by": "updated_at"}):
        assert listed(tenant, **query) == ["one", "three", "two"]
    assert listed(tenant, order_by="updated_at", order="asc") == ["two", "three", "one"]
    assert tenant.http.get("/v1/agents/", params={"order_by": "name"}).status_code == 422


@pytest.mark.promise("agents.list.order", "agents.list.cursors")
def test_agents_that_never_ran_come_last_and_pages_reach_them(tenant: Tenant) -> None:
    one, two, three, four = named(tenant, "one", "two", "three", "four")
    tenant.sdk.agents.update(two, last_run_completion="2026-01-02T00:00:00Z")
    tenant.sdk.agents.update(three, last_run_completion="2026-01-01T00:00:00Z")
    never = sorted([one, four])  # nothing else sets them apart
    expected = {"desc": [two, three, *never[::-1]], "asc": [three, two, *never]}
    for order, ids in expected.items():
        query = {"order_by": "last_run_completion", "order": order}
        pages = [tenant.http.get("/v1/agents/", params=query | {"limit": 1}).json()]
        while pages[-1]:
            page = query | {"limit": 1, "after": pages[-1][-1]["id"]}
            pages.append(tenant.http.get("/v1/agents/", params=page).json())
        assert [agent["id"] for page in pages for agent in page] == ids
        for place, agent_id in enumerate(ids):
            back = tenant.http.get("/v1/agents/", params=query | {"before": agent_id, "limit": 2}).json()
            assert [agent["id"] for agent in back] == ids[max(0, place - 2) : place]


@pytest.mark.promise("agents.list.cursors")
def test_cursors_follow_the_order_in_both_directions(tenant: Tenant) -> None:
    one, two, _, four, five = named(tenant, "one", "two", "three", "four", "five")
    assert listed(tenant, after=four, limit=1) == ["three"]
    assert listed(tenant, before=two, limit=1) == ["three"]
    assert listed(tenant, before=one, limit=2) == ["three", "two"]
    assert listed(tenant, order="asc", after=two, limit=2) == ["three", "four"]
    assert listed(tenant, order="asc", before=five, limit=2) == ["three", "four"]
    assert listed(tenant, order="asc", after=one, before=five) == ["two", "three", "four"]
    assert listed(tenant, after=one) == []
    assert listed(tenant, before=five) == []


@pytest.mark.promise("agents.list.cursors")
def test_an_unknown_cursor_is_not_found(tenant: Tenant) -> None:
    named(tenant, "one")
    for query in ({"after": NOBODY}, {"before": NOBODY}, {"after": "nonsense"}):
        assert tenant.http.get("/v1/agents/", params=query).status_code == 404
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.list(after=NOBODY)


@pytest.mark.promise("agents.list.limit")
def test_a_limit_is_a_number_above_zero(tenant: Tenant) -> None:
    named(tenant, "one", "two")
    assert listed(tenant, limit=1) == ["two"]
    assert tenant.http.get("/v1/agents/", params={"limit": 0}).status_code == 422
    assert tenant.http.get("/v1/agents/", params={"limit": "x"}).status_code == 422


@pytest.mark.promise("agents.list.limit", "agents.list.paging")
def test_the_sdk_pages_through_many_agents_by_fifty_and_sees_each_once(tenant: Tenant) -> None:
    made = named(tenant, *["many"] * 120)
    assert len(listed(tenant)) == 50
    for order, expected in (("desc", made[::-1]), ("asc", made)):
        pages = tenant.sdk.agents.list(order=order, limit=50)  # pyright: ignore[reportArgumentType] - a plain string
        assert [agent.id for agent in pages] == expected


@pytest.mark.promise("agents.list.filters")
def test_lists_and_counts_are_filtered_alike(tenant: Tenant) -> None:
    tenant.agent(name="Ada", tags=["demo", "alpha"], project_id="p1", template_id="t1", base_template_id="b1")
    tenant.agent(name="Bob", tags=["demo"], project_id="p2")
    tenant.agent(name="50_", tags=[], tools=["run_code"])
    (tool,) = tenant.http.get("/v1/tools/", params={"name": "run_code"}).json()
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({"name": "Ada"}, ["Ada"]),
        ({"name": "ada"}, []),
        ({"tags": ["demo", "nope"]}, ["Bob", "Ada"]),
        ({"tags": ["demo", "alpha"], "match_all_tags": True}, ["Ada"]),
        ({"tags": ["demo", "nope"], "match_all_tags": True}, []),
        ({"query_text": "aD"}, ["Ada"]),
        ({"query_text": "%"}, []),
        ({"query_text": "_"}, ["50_"]),
        ({"project_id": "p2"}, ["Bob"]),
        ({"template_id": "t1"}, ["Ada"]),
        ({"base_template_id": "b1"}, ["Ada"]),
        ({"tool_id": tool["id"]}, ["50_"]),
        ({"created_by_id": tenant.actor.user_id}, ["50_", "Bob", "Ada"]),
        ({"created_by_id": "user-00000000-0000-4000-8000-000000000000"}, []),
        ({"name": "Ada", "project_id": "p2"}, []),
        ({}, ["50_", "Bob", "Ada"]),
    ]
    for query, names in expected:
        assert listed(tenant, **query) == names, query
        assert tenant.http.get("/v1/agents/count", params=query).json() == len(names), query
    by_sdk = tenant.sdk.agents.list(tags=["demo", "alpha"], match_all_tags=True, include=["agent.tags"])
    assert [agent.tags for agent in by_sdk] == [["demo", "alpha"]]


@pytest.mark.promise("agents.list.filters")
def test_agents_are_found_by_how_their_last_run_ended(tenant: Tenant) -> None:
    one, _ = named(tenant, "one", "two")
    tenant.sdk.agents.update(one, last_stop_reason="end_turn")
    assert [agent.name for agent in tenant.sdk.agents.list(last_stop_reason="end_turn")] == ["one"]
    assert listed(tenant, last_stop_reason="error") == []
    assert tenant.http.get("/v1/agents/", params={"last_stop_reason": "tired"}).status_code == 422


@pytest.mark.promise("agents.list.filters")
def test_agents_are_found_by_the_identities_they_belong_to(tenant: Tenant) -> None:
    one, _, three = named(tenant, "one", "two", "three")

    def link(connection: Connection) -> str:
        identity_id = add_identity(connection, tenant.actor, "customer-7")
        for agent_id in (one, three):
            connection.execute(
                text("INSERT INTO identities_agents (identity_id, agent_id) VALUES (:identity, :agent)"),
                {"identity": identity_id, "agent": agent_id},
            )
        return identity_id

    identity_id = tenant.house.write(link)
    assert listed(tenant, identity_id=identity_id) == ["three", "one"]
    assert listed(tenant, identifier_keys=["customer-7", "other"]) == ["three", "one"]
    assert listed(tenant, identifier_keys="other") == []
    assert listed(tenant, identity_id="identity-11111111-1111-4111-8111-111111111111") == []


@pytest.mark.promise("agents.list.hidden")
def test_hidden_agents_are_left_out_of_lists_and_counts_but_can_be_read(tenant: Tenant) -> None:
    hidden = tenant.agent(name="helper", tags=["role:subagent"])
    named(tenant, "seen")
    assert listed(tenant) == ["seen"]
    assert tenant.http.get("/v1/agents/count").json() == 1
    assert tenant.sdk.agents.retrieve(hidden["id"]).name == "helper"


@pytest.mark.promise("agents.list.sdk")
def test_lists_give_the_sdk_only_the_relations_it_asks_for(tenant: Tenant) -> None:
    ada(tenant)
    (bare,) = tenant.sdk.agents.list()
    assert (bare.blocks, bare.tools, bare.tags) == ([], [], [])
    (full,) = tenant.sdk.agents.list(include=["agent.tools", "agent.blocks"])
    assert [block.value for block in full.blocks] == ["Ada"]
    assert len(full.tools) == 3
