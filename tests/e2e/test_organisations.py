"""Organisations see nothing of each other: every route is tried with the ids of another one."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.operations import UNKNOWN, Operation, read_operations
from tests.support.sandboxes import sandbox_names
from tests.support.script import says
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse, Tenant

from remanence.kit.json import JsonObject

LATER: JsonObject = {
    "messages": [{"role": "user", "content": "stolen"}],
    "schedule": {"type": "recurring", "cron_expression": "0 0 29 2 *"},
}

BODIES: dict[str, JsonObject] = {
    "/v1/agents/{agent_id}": {"name": "stolen"},
    "/v1/blocks/{block_id}": {"value": "stolen"},
    "/v1/agents/{agent_id}/core-memory/blocks/{block_label}": {"value": "stolen"},
    "/v1/agents/{agent_id}/tools/approval/{tool_name}": {"requires_approval": True},
    "/v1/agents/{agent_id}/messages/{message_id}": {"content": "stolen"},
    "/v1/conversations/{conversation_id}": {"summary": "stolen"},
    "/v1/archives/{archive_id}": {"name": "stolen"},
    "/v1/identities/{identity_id}": {"name": "stolen"},
    "/v1/agents/{agent_id}/generate": {"prompt": "Tell me."},
    "/v1/templates/{template_name}": {"agent_file_json": {"agents": [{"id": "agent-0"}]}},
    "/v1/templates/{template_name}/rollback": {"version": "1"},
    "/v1/archives/{archive_id}/passages": {"text": "stolen"},
    "/v1/archives/{archive_id}/passages/batch": {"passages": [{"text": "stolen"}]},
    "/v1/agents/{agent_id}/archival-memory": {"text": "stolen"},
    "/v1/folders/{folder_id}": {"name": "stolen"},
    "/v1/sources/{folder_id}": {"name": "stolen"},
    "/v1/providers/{provider_id}": {"api_key": "stolen"},
    "/v1/mcp-servers/{mcp_server_id}": {
        "server_name": "s",
        "config": {"mcp_server_type": "stdio", "command": "x", "args": []},
    },
    "/v1/agents/{agent_id}/schedule": LATER,
    "/v1/sandbox-config/{sandbox_config_id}": {"config": {"venv_name": "stolen"}},
    "/v1/sandbox-config/{sandbox_config_id}/environment-variable": {"key": "STOLEN", "value": "stolen"},
}
"""Bodies that would do something; other routes that take one get `SAID`. Ids that a body asks for are added."""
LISTS: dict[str, list[JsonObject]] = {
    "/v1/identities/{identity_id}/properties": [{"key": "stolen", "value": True, "type": "boolean"}]
}
SAID: JsonObject = {"input": "Hello?"}


NEVER = {
    "PATCH /v1/agents/{agent_id}/messages/{message_id}",
    "PATCH /v1/groups/{group_id}/messages/{message_id}",
    "POST /v1/voice-beta/{agent_id}/chat/completions",
}
"""Refused to everyone, whatever the ids."""


@pytest.fixture
def stranger(house: SharedHouse) -> Iterator[Tenant]:
    newcomer = house.new_tenant()
    yield newcomer
    newcomer.close()


def belongings(talk: Talk) -> dict[str, str]:
    """One of each thing that can be named in an address, all of one organisation."""
    agent = talk.agent()
    answer = talk.say(agent, "Hello", says("Hi."))
    run = talk.run_of(answer)
    message = answer["messages"][0]
    conversation = talk.ask("POST", "/v1/conversations/", params={"agent_id": agent["id"]}, json={})
    archive = talk.ask("POST", "/v1/archives/", json={"name": "notes"})
    passage = talk.ask("POST", f"/v1/archives/{archive['id']}/passages", json={"text": "The key."})
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/archives/attach/{archive['id']}")
    given = {"identifier_key": "eve", "name": "Eve", "identity_type": "user", "agent_ids": [agent["id"]]}
    identity = talk.ask("POST", "/v1/identities/", json=given)
    talk.ask("POST", "/v1/templates", json={"type": "agent", "agent_id": agent["id"], "name": "helper"})
    folder = talk.ask("POST", "/v1/folders/", json={"name": "papers"})
    schedule = talk.ask("POST", f"/v1/agents/{agent['id']}/schedule", json=LATER)
    group = talk.agent(enable_sleeptime=True)["managed_group"]
    return UNKNOWN | {
        "group_id": group["id"],
        "folder_id": folder["id"],
        "folder_name": "papers",
        "archive_id": archive["id"],
        "passage_id": passage["id"],
        "memory_id": passage["id"],
        "agent_id": agent["id"],
        "block_id": agent["blocks"][0]["id"],
        "block_label": agent["blocks"][0]["label"],
        "tool_id": agent["tools"][0]["id"],
        "tool_name": agent["tools"][0]["name"],
        "message_id": message["id"],
        "step_id": message["step_id"],
        "run_id": run["id"],
        "conversation_id": conversation["id"],
        "identity_id": identity["id"],
        "template_name": "helper",
        "template_version": "helper:1",
        "scheduled_message_id": schedule["id"],
        **sandbox_names(talk.http),
    }


def everything(tenant: Tenant, mine: dict[str, str]) -> list[Any]:
    """All that the owner can see; equal before and after if nothing was touched."""
    root = f"/v1/agents/{mine['agent_id']}"
    paths = [root, f"{root}/messages", f"{root}/tools", f"{root}/core-memory/blocks", "/v1/blocks/"]
    paths += ["/v1/agents/", "/v1/runs/", "/v1/steps/", "/v1/conversations/", "/v1/messages/", "/v1/tags/"]
    paths += [
        "/v1/archives/",
        f"{root}/archival-memory",
        "/v1/groups/",
        "/v1/templates",
        "/v1/identities/",
        "/v1/folders/",
    ]
    paths += [f"/v1/runs/{mine['run_id']}", f"/v1/steps/{mine['step_id']}"]
    return [tenant.http.get(path).json() for path in paths]


def attempt(client: httpx.Client, operation: Operation, ids: dict[str, str]) -> httpx.Response:
    body: JsonObject | list[JsonObject] | None = None
    if operation.path in LISTS:
        body = LISTS[operation.path]
    elif operation.fields is not None:
        body = BODIES.get(operation.path, SAID) | {key: ids[key] for key in operation.fields if key in ids}
    needed = {"query": "key"} if "query" in operation.names("query") else {}
    path = operation.path.format(**ids)
    return client.request(operation.method, path, params=needed, json=body)


def trespass(stranger: Tenant, operation: Operation, ids: dict[str, str]) -> int:
    return attempt(stranger.http, operation, ids).status_code


@pytest.mark.promise("doors.organisations")
def test_no_route_finds_what_belongs_to_another_organisation(talk: Talk, stranger: Tenant) -> None:
    theirs = belongings(talk)
    before = everything(talk.tenant, theirs)
    for operation in read_operations(talk.http):
        names = set(operation.names("path")) - {"block_label", "tool_name", "handle"}
        if not names or str(operation) in NEVER:
            continue
        assert trespass(stranger, operation, theirs) == 404, operation
    assert everything(talk.tenant, theirs) == before


@pytest.mark.promise("doors.organisations")
def test_what_is_ones_own_cannot_be_joined_to_what_is_not(talk: Talk, stranger: Tenant) -> None:
    theirs = belongings(talk)
    before = everything(talk.tenant, theirs)
    own = stranger.agent(memory_blocks=[{"label": "mine", "value": "x"}])
    mine = theirs | {"agent_id": own["id"]}
    for operation in read_operations(talk.http):
        names = operation.names("path")
        if "agent_id" in names and {"block_id", "tool_id", "archive_id", "identity_id"} & set(names):
            assert trespass(stranger, operation, mine) == 404, operation
    for field, their, status in (
        ("block_ids", "block_id", 404),
        ("identity_ids", "identity_id", 404),
        ("tool_ids", "tool_id", 400),
        ("message_ids", "message_id", 400),
    ):
        given = {field: [theirs[their]]}
        assert stranger.http.patch(f"/v1/agents/{own['id']}", json=given).status_code == status, field
        if field != "message_ids":
            created = stranger.http.post("/v1/agents/", json={"model": "openai/gpt-4o-mini"} | given)
            assert created.status_code == status, field
    assert stranger.state(own["id"]) == own
    assert everything(talk.tenant, theirs) == before


@pytest.mark.promise("doors.organisations")
def test_lists_counts_and_cursors_do_not_tell_of_another_organisation(talk: Talk, stranger: Tenant) -> None:
    theirs = belongings(talk)
    talk.tenant.block("shared", tags=["secret-tag"])
    for path in ("agents", "blocks", "runs", "steps", "conversations", "messages", "tags", "identities"):
        assert stranger.http.get(f"/v1/{path}/").json() == [], path
    assert stranger.http.get("/v1/agents/count").json() == stranger.http.get("/v1/blocks/count").json() == 0
    for path, cursor in (
        ("agents/", "agent_id"),
        ("blocks/", "block_id"),
        ("tools/", "tool_id"),
        ("messages/", "message_id"),
        ("runs/", "run_id"),
        ("steps/", "step_id"),
        ("identities/", "identity_id"),
    ):
        answer = stranger.http.get(f"/v1/{path}", params={"after": theirs[cursor]})
        assert answer.status_code == 404, path
    own = {tool["id"] for tool in stranger.http.get("/v1/tools/").json()}
    assert theirs["tool_id"] not in own
    for path in ("runs/", "steps/", "conversations/"):
        answer = stranger.http.get(f"/v1/{path}", params={"agent_id": theirs["agent_id"]})
        assert answer.status_code == 404 or answer.json() == [], path
