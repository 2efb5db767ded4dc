"""Keys: what each opens, for whom and for how long; made once, shown once, gone when they are revoked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, Letta
from tests.support.operations import read_operations
from tests.support.script import says
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse, Tenant
from tests.support.waiting import until_sync

from remanence.accounts import rules
from remanence.accounts.keys import repository
from remanence.accounts.repository import create_user
from remanence.core.page import Page
from remanence.kit.clock import utc_now

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"

Opener = Callable[..., httpx.Client]


@pytest.fixture
def opened(tenant: Tenant) -> Iterator[Opener]:
    """Makes a key of the tenant's with these properties, and gives a client that uses it."""
    with ExitStack() as stack:

        def open_with(maker: httpx.Client | None = None, **given: Any) -> httpx.Client:
            answer = (maker or tenant.http).post("/v1/keys/", json={"name": "a key"} | given)
            assert answer.status_code == 201, answer.text
            key = answer.json()["key"]
            return stack.enter_context(tenant.house.plain(authorization=f"Bearer {key}"))

        yield open_with


def refused(answer: httpx.Response, *words: str) -> None:
    assert answer.status_code == 403, answer.text
    assert answer.json()["detail"].startswith("PERMISSION_DENIED: ")
    for word in words:
        assert word in answer.json()["detail"]


@pytest.mark.promise("keys.create")
def test_a_key_is_shown_once_and_only_its_digest_is_kept(tenant: Tenant) -> None:
    made = tenant.http.post("/v1/keys/", json={"name": "laptop", "requests_per_minute": 60}).json()
    text = made.pop("key")
    assert text.startswith("rmn_")
    assert len(text) > 40
    assert made["user_id"] == tenant.actor.user_id
    assert (made["role"], made["scope"], made["expires_at"], made["hint"]) == ("user", None, None, text[:8])
    assert tenant.http.get("/v1/keys/").json() == [made]
    organization_id = tenant.actor.organization_id
    stored = tenant.house.read(repository.list_keys, organization_id, Page(limit=9), user_id=None)
    assert text not in repr(stored)


@pytest.mark.promise("keys.open")
def test_a_key_names_its_user_by_either_header_and_in_the_sdk(tenant: Tenant) -> None:
    agent = tenant.agent()
    key = tenant.http.post("/v1/keys/", json={"name": "k"}).json()["key"]
    for header, value in (("authorization", f"Bearer {key}"), ("x-bare-password", f"password {key}")):
        with tenant.house.plain(**{header: value}) as client:
            assert [each["id"] for each in client.get("/v1/agents/").json()] == [agent["id"]]
    base = tenant.house.server.base_url
    with Letta(base_url=base, api_key=key, http_client=httpx.Client(verify=False)) as sdk:
        assert [each.id for each in sdk.agents.list()] == [agent["id"]]
    used = tenant.http.get("/v1/keys/").json()[0]["last_used_at"]
    assert used is not None


@pytest.mark.promise("keys.open")
def test_what_looks_like_a_key_must_be_one_even_where_no_password_is_asked_for(house: SharedHouse) -> None:
    with house.plain(authorization="Bearer rmn_guessed") as client:
        assert client.get("/v1/agents/").status_code == 401


@pytest.mark.promise("keys.user")
def test_only_an_admins_key_acts_as_somebody_else(tenant: Tenant, opened: Opener, house: SharedHouse) -> None:
    other = house.write(create_user, "other", tenant.actor.organization_id)
    stranger = house.new_tenant()
    mine = {"user_id": tenant.actor.user_id}
    for user_id in (other, stranger.actor.user_id, f"user-{NOBODY}"):
        refused(opened().get("/v1/agents/", headers={"user_id": user_id}), "user_id")
    assert opened().get("/v1/agents/", headers=mine).status_code == 200
    admin = opened(role="admin")
    theirs = stranger.agent()["id"]
    found = admin.get("/v1/agents/", headers={"user_id": stranger.actor.user_id}).json()
    assert [each["id"] for each in found] == [theirs]
    here = {"type": "organization", "id": tenant.actor.organization_id}
    local = opened(role="admin", scope=here)
    assert local.get("/v1/agents/", headers={"user_id": other}).status_code == 200
    for user_id in (stranger.actor.user_id, f"user-{NOBODY}"):
        refused(local.get("/v1/agents/", headers={"user_id": user_id}))
    stranger.close()


@pytest.mark.promise("keys.revoke")
def test_a_revoked_key_opens_nothing_here_at_once_and_elsewhere_in_seconds(tenant: Tenant) -> None:
    made = tenant.http.post("/v1/keys/", json={"name": "k"}).json()
    bearer = {"authorization": f"Bearer {made['key']}"}
    with (
        tenant.house.plain(**bearer) as here,
        tenant.house.plain(tenant.house.replica.base_url, **bearer) as there,
    ):
        assert here.get("/v1/agents/").status_code == there.get("/v1/agents/").status_code == 200
        assert tenant.http.delete(f"/v1/keys/{made['id']}").status_code == 200
        assert here.get("/v1/agents/").status_code == 401
        until_sync(lambda: there.get("/v1/agents/").status_code == 401, timeout_s=10)
    assert tenant.http.delete(f"/v1/keys/{made['id']}").status_code == 404


@pytest.mark.promise("keys.expiry")
def test_a_key_expires(tenant: Tenant, opened: Opener, house: SharedHouse) -> None:
    soon = opened(expires_at=(utc_now() + timedelta(seconds=0.7)).isoformat())
    until_sync(lambda: soon.get("/v1/agents/").status_code == 401, timeout_s=10)
    house.write(repository.drop_expired)
    assert tenant.http.get("/v1/keys/").json() == []
    past = tenant.http.post("/v1/keys/", json={"name": "k", "expires_at": "2020-01-01T00:00:00Z"})
    assert past.status_code == 400


@pytest.mark.promise("keys.create")
def test_nobody_hands_on_more_than_he_has(tenant: Tenant, opened: Opener, house: SharedHouse) -> None:
    ends = utc_now() + timedelta(days=1)
    user = opened(expires_at=ends.isoformat(), requests_per_minute=500)
    made = user.post("/v1/keys/", json={"name": "child", "requests_per_minute": 9999}).json()
    assert made["requests_per_minute"] == 500
    assert made["expires_at"][:19] == f"{ends:%Y-%m-%dT%H:%M:%S}"
    refused(user.post("/v1/keys/", json={"name": "k", "role": "admin"}), "admin")
    other = house.write(create_user, "other", tenant.actor.organization_id)
    refused(user.post("/v1/keys/", json={"name": "k", "user_id": other}))
    theirs = tenant.http.post("/v1/keys/", json={"name": "theirs", "user_id": other}).json()
    assert theirs["user_id"] == other
    assert theirs["id"] not in [each["id"] for each in user.get("/v1/keys/").json()]
    assert user.delete(f"/v1/keys/{theirs['id']}").status_code == 404
    assert user.delete(f"/v1/client-side-access-tokens/{theirs['id']}").status_code == 404
    refused(opened(role="read_only").post("/v1/keys/", json={"name": "k"}))
    here = {"type": "organization", "id": tenant.actor.organization_id}
    local = opened(role="admin", scope=here)
    refused(local.post("/v1/keys/", json={"name": "k", "role": "admin"}), "organisation")
    assert local.post("/v1/keys/", json={"name": "k", "role": "admin", "scope": here}).status_code == 201
    stranger = house.new_tenant()
    away = {"name": "k", "user_id": stranger.actor.user_id}
    assert local.post("/v1/keys/", json=away).status_code == 404
    stranger.close()


@pytest.mark.promise("keys.create")
@pytest.mark.parametrize(
    "given",
    [
        {"scope": {"type": "agent", "id": f"agent-{NOBODY}"}},
        {"scope": {"type": "organization", "id": f"org-{NOBODY}"}},
    ],
)
def test_a_key_for_what_there_is_not_is_refused(tenant: Tenant, given: dict[str, Any]) -> None:
    answer = tenant.http.post("/v1/keys/", json={"name": "k"} | given)
    assert answer.status_code == 400
    assert tenant.http.get("/v1/keys/").json() == []


@pytest.mark.promise("keys.roles")
def test_read_only_reads_and_searches_and_writes_nothing(tenant: Tenant, opened: Opener) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "x"}])
    reader = opened(role="read_only")
    assert reader.get(f"/v1/agents/{agent['id']}").status_code == 200
    assert reader.post("/v1/messages/search", json={"query": "x"}).status_code == 200
    names = {"agent_id": agent["id"], "block_label": "human"}
    for operation in read_operations(tenant.http):
        route = operation.path
        for name in operation.names("path"):
            route = route.replace(f"{{{name}}}", "{}")
        if rules.is_reading(operation.method, route) or operation.path.startswith("/v1/models/{handle}"):
            continue
        path = operation.path
        for name in operation.names("path"):
            path = path.replace(f"{{{name}}}", names.get(name, f"{name.removesuffix('_id')}-{NOBODY}"))
        answer = reader.request(operation.method, path, json={})
        assert answer.status_code in (403, 422, 404), f"{operation}: {answer.text}"
        if answer.status_code == 404:
            assert operation.path == "/v1/tools/mcp/oauth/callback", operation
    assert tenant.state(agent["id"]) == agent


@pytest.mark.promise("keys.roles")
def test_a_user_writes_but_does_not_administer(tenant: Tenant, opened: Opener) -> None:
    user = opened()
    made = user.post("/v1/agents/", json={"model": MODEL})
    assert made.status_code == 200
    assert made.json()["created_by_id"] == tenant.actor.user_id
    given = {"name": "p", "provider_type": "openai", "api_key": "k", "base_url": "http://127.0.0.1:9/v1"}
    for method, path, body in (
        ("POST", "/v1/providers/", given),
        ("PATCH", f"/v1/providers/provider-{NOBODY}", {"api_key": "k"}),
        ("DELETE", f"/v1/providers/provider-{NOBODY}", None),
        ("PUT", "/v1/budgets/", {"limit_usd": 1}),
    ):
        refused(user.request(method, path, json=body), "read and write", "admin")
        assert opened(role="admin").request(method, path, json=body).status_code != 403
    assert user.get("/v1/providers/").status_code == 200


@pytest.mark.promise("keys.roles")
def test_only_an_admin_has_programs_started_on_the_servers_machine(tenant: Tenant, opened: Opener) -> None:
    newer: dict[str, Any] = {
        "server_name": "s",
        "config": {"mcp_server_type": "stdio", "command": "/bin/false", "args": []},
    }
    older: dict[str, Any] = {"type": "stdio", "server_name": "s", "command": "/bin/false", "args": []}
    nested = {"server_name": "s", "stdio_config": older}
    for method, path, body in (
        ("POST", "/v1/mcp-servers/", newer),
        ("PATCH", f"/v1/mcp-servers/mcp_server-{NOBODY}", newer),
        ("PUT", "/v1/tools/mcp/servers", older),
        ("POST", "/v1/tools/mcp/servers/test", nested),
        ("POST", "/v1/tools/mcp/servers/connect", older),
        ("PATCH", "/v1/tools/mcp/servers/s", older),
    ):
        answer = opened().request(method, path, json=body)
        if answer.status_code != 422:  # the door sees what a route can read
            refused(answer, "program", "admin")
    refused(opened().post("/v1/mcp-servers/", json=newer), "program")
    assert tenant.http.get("/v1/mcp-servers/").json() == []


@pytest.mark.promise("keys.scope-agent")
def test_a_key_for_an_agent_opens_that_agent_and_what_belongs_to_it(talk: Talk, opened: Opener) -> None:
    mine = talk.agent(memory_blocks=[{"label": "human", "value": "x"}])
    theirs = talk.agent(memory_blocks=[{"label": "secret", "value": "y"}])
    run = talk.run_of(talk.say(mine, "Hello", says("Hi.")))
    away = talk.run_of(talk.say(theirs, "Hello", says("Hi.")))
    key = opened(scope={"type": "agent", "id": mine["id"]})
    later = {
        "messages": [{"role": "user", "content": "Hello"}],
        "schedule": {"type": "recurring", "cron_expression": "0 0 29 2 *"},
    }
    planned, elsewhere = (
        talk.ask("POST", f"/v1/agents/{agent['id']}/schedule", json=later)["id"] for agent in (mine, theirs)
    )
    block, foreign = mine["blocks"][0]["id"], theirs["blocks"][0]["id"]
    for path in (
        f"/v1/agents/{mine['id']}",
        f"/v1/agents/{mine['id']}/messages",
        f"/v1/runs/{run['id']}",
        f"/v1/agents/{mine['id']}/schedule/{planned}",
        f"/v1/runs/?agent_id={mine['id']}",
        f"/v1/conversations/?agent_id={mine['id']}",
        f"/v1/blocks/{block}",
        "/v1/models/",
        "/v1/tools/",
    ):
        assert key.get(path).status_code == 200, path
    assert key.patch(f"/v1/blocks/{block}", json={"value": "z"}).status_code == 200
    for path in (
        f"/v1/agents/{theirs['id']}",
        f"/v1/agents/agent-{NOBODY}",
        "/v1/agents/",
        "/v1/blocks/",
        f"/v1/blocks/{foreign}",
        f"/v1/runs/{away['id']}",
        f"/v1/agents/{mine['id']}/schedule/{elsewhere}",
        "/v1/runs/",
        f"/v1/runs/?agent_id={theirs['id']}",
        f"/v1/runs/?agent_id={mine['id']}&agent_id={theirs['id']}",
        f"/v1/blocks/?agent_id={mine['id']}",  # a filter that this list does not know
        "/v1/keys/",
        "/v1/providers/",
    ):
        refused(key.get(path), "agent", mine["id"])
    attach = f"/v1/agents/{mine['id']}/core-memory/blocks/attach/{foreign}"
    refused(key.patch(attach))
    refused(key.patch(f"/v1/agents/{mine['id']}", json={"block_ids": [block, foreign]}))
    refused(key.delete(f"/v1/agents/{mine['id']}"))
    refused(key.delete(f"/v1/blocks/{block}"))
    refused(key.post("/v1/agents/", json={"model": MODEL}))
    assert key.patch(f"/v1/agents/{mine['id']}", json={"name": "renamed"}).status_code == 200
    said = {"messages": [{"role": "user", "content": "Hello"}]}
    talk.model.script(says("Hi."))
    assert key.post("/v1/chat/completions", json=said | {"model": mine["id"]}).status_code == 200
    for model in (theirs["id"], theirs["name"], "renamed"):
        refused(key.post("/v1/chat/completions", json=said | {"model": model}))


@pytest.mark.promise("keys.scope-project")
def test_a_key_for_a_project_opens_what_is_of_that_project(tenant: Tenant, opened: Opener) -> None:
    key = opened(scope={"type": "project", "id": "north"})
    made = key.post("/v1/agents/", json={"model": MODEL, "project_id": "north"})
    assert made.status_code == 200, made.text
    mine = made.json()["id"]
    away = tenant.agent(project_id="south")["id"]
    found = key.get("/v1/agents/", params={"project_id": "north"}).json()
    assert [each["id"] for each in found] == [mine]
    assert key.get(f"/v1/agents/{mine}/messages").status_code == 200
    refused(key.get("/v1/agents/"), "project north")
    refused(key.get("/v1/agents/", params={"project_id": "south"}))
    refused(key.get(f"/v1/agents/{away}"))
    refused(key.post("/v1/agents/", json={"model": MODEL}))
    refused(key.post("/v1/agents/", json={"model": MODEL, "project_id": "south"}))
    refused(key.patch(f"/v1/agents/{mine}", json={"project_id": "south"}))
    assert key.delete(f"/v1/agents/{mine}").status_code == 200


@pytest.mark.promise("keys.tokens")
def test_access_tokens_open_an_agent_for_a_page_for_five_minutes(tenant: Tenant) -> None:
    mine, away = tenant.agent()["id"], tenant.agent()["id"]
    made = tenant.sdk.access_tokens.create(
        hostname="https://shop.example", policy=[{"type": "agent", "id": mine, "access": ["read_messages"]}]
    )
    assert (made.hostname, made.policy.version, made.policy.data[0].id) == ("https://shop.example", "1", mine)
    with tenant.house.plain(authorization=f"Bearer {made.token}") as page:
        assert page.get(f"/v1/agents/{mine}/messages").status_code == 200
        refused(page.get(f"/v1/agents/{mine}"), "read_messages")
        refused(page.post(f"/v1/agents/{mine}/messages", json={"input": "Hello"}))
        refused(page.get(f"/v1/agents/{away}/messages"))
        refused(page.get(f"/v1/agents/{mine}/messages", headers={"origin": "https://evil.example"}))
        listed = tenant.sdk.access_tokens.list(agent_id=mine)
        assert [each.policy.to_dict() for each in listed.tokens] == [made.policy.to_dict()]
        assert not listed.has_next_page
        assert tenant.sdk.access_tokens.list(agent_id=away).tokens == []
        assert tenant.http.get("/v1/keys/").json() == []
        tenant.sdk.access_tokens.delete(made.token)
        assert page.get(f"/v1/agents/{mine}/messages").status_code == 401
    with pytest.raises(APIStatusError) as failure:
        tenant.sdk.access_tokens.delete(listed.tokens[0].token)
    assert failure.value.status_code == 404
