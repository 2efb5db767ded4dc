"""The doors: who may come in and as whom, under which address, and how a refusal looks."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from letta_client import AuthenticationError
from tests.support.databases import SqliteDatabases
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer
from tests.support.tenants import SharedHouse, Tenant

from remanence.kit.ids import DEFAULT_USER_ID

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"
PASSWORD = "open-sésame"


@pytest.fixture(scope="module")
def locked(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[RunningServer]:
    """A server with a password, and a default model; no database is asked at the door, so one kind will do."""
    server = RunningServer(
        sqlite_databases.fresh(),
        tmp_path_factory.mktemp("locked"),
        password=PASSWORD,
        default_model=MODEL,
        openai_api_key="sk-test",
        openai_base_url=shared_model.base_url,
    ).start()
    yield server
    server.stop()


def knock(
    server: RunningServer, method: str = "GET", path: str = "/v1/agents/", **given: Any
) -> httpx.Response:
    with httpx.Client(base_url=server.base_url, verify=False) as client:
        return client.request(method, path, **given)


@pytest.mark.promise("doors.password")
def test_without_the_password_every_route_but_health_is_closed(locked: RunningServer) -> None:
    paths: dict[str, Any] = knock(locked, path="/openapi.json").json()["paths"]
    with httpx.Client(base_url=locked.base_url, verify=False) as client:
        for path, operations in paths.items():
            for method in operations:
                url = path.replace("{block_label}", "human")
                for name in ("agent", "block", "tool", "message", "run", "step"):
                    url = url.replace(f"{{{name}_id}}", f"{name}-{NOBODY}")
                answer = client.request(method, url, json=None if method == "get" else {})
                if path in ("/v1/health/", "/v1/ready/"):
                    assert answer.status_code == 200
                    continue
                if path == "/v1/tools/mcp/oauth/callback":  # browsers bring a state there instead
                    assert client.get(url, params={"state": "guessed", "code": "x"}).status_code == 404
                    continue
                assert answer.status_code == 401, f"{method} {path}: {answer.status_code}"
                assert answer.json()["detail"] == "Unauthorized"
                assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.promise("doors.password")
@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"Authorization": f"Bearer {PASSWORD}"}, 200),
        ({"X-BARE-PASSWORD": f"password {PASSWORD}"}, 200),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"X-BARE-PASSWORD": "password wrong"}, 401),
        ({"Authorization": "Bearer wrong", "X-BARE-PASSWORD": f"password {PASSWORD}"}, 200),
        ({}, 401),
    ],
)
def test_the_password_opens_by_either_header(
    locked: RunningServer, header: dict[str, str], status: int
) -> None:
    headers = {name: value.encode() for name, value in header.items()}
    assert knock(locked, headers=headers).status_code == status


@pytest.mark.promise("doors.password")
def test_the_sdk_logs_in_with_the_password_as_its_key(locked: RunningServer) -> None:
    with locked.client(default_headers={"X-BARE-PASSWORD": b"password " + PASSWORD.encode()}) as client:
        assert list(client.agents.list()) == []
    with locked.client() as stranger:
        assert stranger.health().status == "ok"
        with pytest.raises(AuthenticationError):
            stranger.agents.list()


@pytest.mark.promise("agents.create.default-model")
def test_an_agent_that_names_no_model_gets_the_servers_default(locked: RunningServer) -> None:
    headers = {"Authorization": b"Bearer " + PASSWORD.encode()}
    agent = knock(locked, "POST", headers=headers, json={}).json()
    assert agent["model"] == MODEL
    knock(locked, "DELETE", f"/v1/agents/{agent['id']}", headers=headers)


@pytest.mark.promise("doors.open")
def test_without_a_password_any_key_or_none_is_accepted(tenant: Tenant) -> None:
    for headers in ({}, {"authorization": "Bearer anything"}, {"x-bare-password": "password x"}):
        assert tenant.http.get("/v1/agents/", headers=headers).status_code == 200


@pytest.mark.promise("doors.server")
def test_the_server_tells_what_it_is(tenant: Tenant) -> None:
    state = tenant.http.get("/v1/server/").json()
    assert state["database"]["kind"] in ("sqlite", "postgresql")
    assert state["sandbox"]["level"]
    assert state["has_password"] is False
    assert state["traces"] == "errors"


@pytest.mark.promise("doors.health")
def test_health_tells_the_version(tenant: Tenant) -> None:
    health = tenant.sdk.health()
    assert health.status == "ok"
    assert isinstance(health.version, str)
    assert list(tenant.http.get("/v1/health/").json()) == ["version", "status"]
    assert tenant.http.get("/v1/ready/").json() == tenant.http.get("/v1/health/").json()


@pytest.mark.promise("doors.user")
@pytest.mark.parametrize("user_id", ["bad", "user-1", f"agent-{NOBODY}", f"user-{NOBODY.upper()}x", ""])
def test_a_malformed_user_is_refused(tenant: Tenant, user_id: str) -> None:
    answer = tenant.http.get("/v1/agents/", headers={"user_id": user_id})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("INVALID_ARGUMENT: ")


@pytest.mark.promise("doors.user")
def test_an_unknown_user_acts_as_the_default_one(house: SharedHouse) -> None:
    with house.plain() as nobody, house.plain(user_id=f"user-{NOBODY}") as unknown:
        agent = nobody.post("/v1/agents/", json={"model": MODEL}).json()
        assert agent["created_by_id"] == DEFAULT_USER_ID
        assert unknown.get(f"/v1/agents/{agent['id']}").status_code == 200
        assert unknown.delete(f"/v1/agents/{agent['id']}").status_code == 200


@pytest.mark.promise("doors.slash")
def test_the_other_form_of_an_address_redirects_to_the_exact_one(tenant: Tenant) -> None:
    base = tenant.house.server.base_url
    for path in ("agents/", "blocks/", "tools/", "models/", "tags/", "health/", "runs/"):
        answer = tenant.http.get(f"/v1/{path[:-1]}?limit=3&order=asc")
        assert answer.status_code == 307
        assert answer.headers["location"] == f"{base}/v1/{path}?limit=3&order=asc"
    agent = tenant.agent()
    for path in ("agents/count", f"agents/{agent['id']}", f"agents/{agent['id']}/tools", "models/embedding"):
        answer = tenant.http.get(f"/v1/{path}/")
        assert answer.status_code == 307
        assert answer.headers["location"] == f"{base}/v1/{path}"
        assert answer.headers["x-request-id"]


@pytest.mark.promise("doors.slash")
def test_a_body_survives_the_redirect(tenant: Tenant) -> None:
    answer = tenant.http.post("/v1/agents", json={"model": MODEL, "name": "ada"}, follow_redirects=True)
    assert answer.json()["name"] == "ada"


@pytest.mark.promise("doors.latest")
def test_the_older_prefix_serves_the_same_routes(tenant: Tenant) -> None:
    agent = tenant.http.post("/latest/agents/", json={"model": MODEL}).json()
    assert tenant.http.get(f"/latest/agents/{agent['id']}").json() == tenant.state(agent["id"])
    assert tenant.http.get("/latest/health/").json()["status"] == "ok"
    assert tenant.http.get("/latest/agents").status_code == 307
    assert tenant.http.get("/latest/nothing").status_code == 404


def failures(tenant: Tenant) -> Iterator[tuple[int, httpx.Response]]:
    """One of each kind of refusal."""
    block = tenant.block("human")
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": ""}])
    attach = f"/v1/agents/{agent['id']}/core-memory/blocks/attach/{block['id']}"
    yield 400, tenant.http.post("/v1/agents/", json={"model": "x"})
    yield 400, tenant.http.get("/v1/agents/", headers={"user_id": "bad"})
    yield 404, tenant.http.get(f"/v1/agents/agent-{NOBODY}")
    yield 404, tenant.http.get("/v1/nothing-here")
    yield 405, tenant.http.post("/v1/health/")
    yield 409, tenant.http.patch(attach)
    yield 422, tenant.http.get("/v1/agents/agent-123")
    yield 422, tenant.http.post("/v1/agents/", json=[])
    yield 422, tenant.http.get("/v1/agents/", params={"name": "\0"})
    yield 422, tenant.http.post("/v1/agents/", content="{bad", headers={"content-type": "application/json"})


@pytest.mark.promise("doors.request-id", "doors.errors")
def test_every_refusal_carries_the_id_of_its_request_and_a_text(tenant: Tenant) -> None:
    for status, answer in failures(tenant):
        assert answer.status_code == status, answer.text
        body = answer.json()
        assert isinstance(body["detail"], str)
        assert body["request_id"] == answer.headers["x-request-id"]
        assert answer.headers["content-type"] == "application/json"
    ids = [answer.headers["x-request-id"] for _, answer in failures(tenant)]
    assert len(set(ids)) == len(ids)


@pytest.mark.promise("doors.request-id")
def test_a_given_request_id_is_kept(tenant: Tenant) -> None:
    named = {"x-request-id": "mine-7"}
    answer = tenant.http.get(f"/v1/agents/agent-{NOBODY}", headers=named)
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "mine-7"
    assert tenant.http.get("/v1/health/", headers=named).headers["x-request-id"] == "mine-7"
    for odd in (b"\xff\xfe", b"", b"x" * 1000):
        answer = tenant.http.get("/v1/health/", headers=[(b"x-request-id", odd)])
        assert answer.status_code == 200
        assert 0 < len(answer.headers["x-request-id"]) <= 128


@pytest.mark.promise("doors.ids")
@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("agents/agent-123", "agent"),
        (f"agents/AGENT-{NOBODY}", "agent"),
        (f"agents/agent-{NOBODY.replace('4', '3')}", "agent"),
        (f"agents/{NOBODY}/tools", "agent"),
        ("blocks/notablock", "block"),
        (f"blocks/agent-{NOBODY}", "block"),
        ("tools/tool-", "tool"),
        (f"tools/tool-{NOBODY}%0A", "tool"),
    ],
)
def test_a_malformed_id_is_refused_with_an_example(tenant: Tenant, path: str, prefix: str) -> None:
    answer = tenant.http.get(f"/v1/{path}")
    assert answer.status_code == 422
    body = answer.json()
    assert list(body) == ["trace_id", "detail", "examples", "request_id"]
    assert [example.partition("-")[0] for example in body["examples"]] == [prefix]
    assert tenant.http.get(f"/v1/{prefix}s/{body['examples'][0]}").status_code == 404
