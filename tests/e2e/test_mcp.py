"""MCP servers over all three transports: on record, in step, called by agents, and harmless when they break."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support import mcp_stub, mcp_tiny
from tests.support.mcp_oauth import guarded_stub
from tests.support.mcp_stub import http_stub
from tests.support.script import calls, says
from tests.support.talks import Talk

from remanence.kit.json import JsonObject

TOOLS = {"add", "environment", "fail", "flood", "die", "dream", "greet", "leave"}
STDIO: JsonObject = {
    "mcp_server_type": "stdio",
    "command": sys.executable,
    "args": ["-m", "tests.support.mcp_stub"],
    "env": {"PYTHONPATH": str(Path(mcp_stub.__file__).parents[2])},
}
TINY: JsonObject = {
    "mcp_server_type": "stdio",
    "command": sys.executable,
    "args": ["-S", mcp_tiny.__file__],
    "env": {"STUB_TOKEN": "hush"},
}
"""It starts ten times as fast: for tests in which processes come and go."""


@pytest.fixture(scope="module")
def streamable() -> Iterator[str]:
    with http_stub("streamable_http") as url:
        yield url


@pytest.fixture(scope="module")
def sse() -> Iterator[str]:
    with http_stub("sse") as url:
        yield url


@pytest.fixture(params=["stdio", "sse", "streamable_http"])
def config(request: pytest.FixtureRequest, sse: str, streamable: str) -> JsonObject:
    if request.param == "stdio":
        return STDIO
    url = sse if request.param == "sse" else streamable
    return {"mcp_server_type": request.param, "server_url": url}


def add_server(talk: Talk, config: JsonObject, name: str = "stub") -> JsonObject:
    return talk.ask("POST", "/v1/mcp-servers/", json={"server_name": name, "config": config})


def tools_of(talk: Talk, server: JsonObject) -> dict[str, JsonObject]:
    return {tool["name"]: tool for tool in talk.get(f"/v1/mcp-servers/{server['id']}/tools")}


def run(talk: Talk, server: JsonObject, name: str, **args: object) -> JsonObject:
    tool = tools_of(talk, server)[name]
    path = f"/v1/mcp-servers/{server['id']}/tools/{tool['id']}/run"
    return talk.ask("POST", path, json={"args": args})


@pytest.mark.promise("mcp.transports")
def test_the_tools_of_a_server_are_there_at_once_and_agents_call_them(talk: Talk, config: JsonObject) -> None:
    server = add_server(talk, config)
    tools = tools_of(talk, server)
    assert set(tools) == TOOLS
    assert (tools["add"]["tool_type"], tools["add"]["tags"]) == ("external_mcp", ["mcp:stub"])
    assert tools["add"]["metadata_"]["mcp"] == {"server_name": "stub", "server_id": server["id"]}
    agent = talk.agent(tool_ids=[tools["add"]["id"], tools["fail"]["id"]])
    both = (calls("add", a=2, b=3), calls("fail"), says("Done."))
    answer = talk.say(agent, "Add them.", *both)
    returns = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    assert [each["status"] for each in returns] == ["success", "error"]
    assert returns[0]["tool_return"] == "5"
    assert run(talk, server, "add", a=4, b=5)["func_return"] == "9"
    talk.http.delete(f"/v1/mcp-servers/{server['id']}")


@pytest.mark.promise("mcp.crud")
def test_servers_are_listed_changed_and_deleted_with_their_tools(talk: Talk, streamable: str) -> None:
    config = {"mcp_server_type": "streamable_http", "server_url": streamable, "auth_token": "Bearer abc"}
    server = add_server(talk, config)
    assert talk.get("/v1/mcp-servers/") == [server]
    assert server == {
        "mcp_server_type": "streamable_http",
        "server_url": streamable,
        "auth_header": None,
        "auth_token": "Bearer abc",
        "custom_headers": None,
        "id": server["id"],
        "server_name": "stub",
    }
    found = talk.sdk.mcp_servers.retrieve(server["id"])
    assert found.server_name == "stub"
    clash = talk.http.post("/v1/mcp-servers/", json={"server_name": "stub", "config": config})
    assert clash.status_code == 409
    path = f"/v1/mcp-servers/{server['id']}"
    changed = talk.ask("PATCH", path, json={"server_name": "other", "config": config})
    assert changed["server_name"] == "other"
    agent = talk.agent(tool_ids=[tools_of(talk, server)["add"]["id"]])
    assert talk.http.delete(path).status_code == 204
    assert talk.http.get(path).status_code == 404
    assert "add" not in [tool["name"] for tool in talk.get(f"/v1/agents/{agent['id']}/tools")]
    assert talk.get("/v1/tools/", name="add") == []


@pytest.mark.promise("mcp.refresh")
def test_a_refresh_brings_what_is_new_and_a_changed_tool_asks_again(talk: Talk) -> None:
    with http_stub("streamable_http") as url:
        server = add_server(talk, {"mcp_server_type": "streamable_http", "server_url": url})
    agent = talk.agent(tool_ids=[tools_of(talk, server)["greet"]["id"]])
    with http_stub("streamable_http", is_changed=True) as url:
        config = {"mcp_server_type": "streamable_http", "server_url": url}
        talk.ask("PATCH", f"/v1/mcp-servers/{server['id']}", json={"config": config})
        changes = talk.ask("PATCH", f"/v1/mcp-servers/{server['id']}/refresh")
        assert changes == {"deleted": ["leave"], "updated": ["greet"], "added": []}
        assert "leave" not in tools_of(talk, server)
        answer = talk.say(agent, "Greet Eve.", calls("greet", name="Eve"))
        assert answer["stop_reason"]["stop_reason"] == "requires_approval"
        again = talk.ask("PATCH", f"/v1/mcp-servers/{server['id']}/refresh")
        assert again == {"deleted": [], "updated": [], "added": []}
    gone = talk.http.patch(f"/v1/mcp-servers/{server['id']}/refresh")
    assert (gone.status_code, gone.json()["detail"]["code"]) == (404, "MCPServerUnavailable")


@pytest.mark.promise("mcp.broken")
def test_a_server_that_dies_floods_or_is_not_there_costs_an_error_and_no_more(
    talk: Talk, streamable: str
) -> None:
    server = add_server(talk, TINY)
    assert run(talk, server, "die")["status"] == "error"
    assert run(talk, server, "add", a=1, b=1)["func_return"] == "2", "it is started again"
    assert run(talk, server, "flood", megabytes=20)["status"] == "error"
    assert run(talk, server, "add", a=1, b=1)["func_return"] == "2"
    remote = add_server(talk, {"mcp_server_type": "streamable_http", "server_url": streamable}, "remote")
    flooded = tools_of(talk, remote)["remote_flood"]["name"]
    assert run(talk, remote, flooded, megabytes=20)["status"] == "error"
    assert run(talk, remote, "remote_add", a=1, b=1)["func_return"] == "2"
    nowhere = {"mcp_server_type": "streamable_http", "server_url": "http://127.0.0.1:9/mcp"}
    far = add_server(talk, nowhere, "far")
    assert tools_of(talk, far) == {}
    missing = add_server(
        talk, {"mcp_server_type": "stdio", "command": "no-such-program", "args": []}, "missing"
    )
    assert tools_of(talk, missing) == {}
    grumpy = TINY | {"args": ["-S", "-c", "raise SystemExit('not today')"]}
    refused = talk.http.patch(f"/v1/mcp-servers/{add_server(talk, grumpy, 'grumpy')['id']}/refresh")
    assert "not today" in refused.json()["detail"]["message"]


@pytest.mark.promise("mcp.environment")
def test_a_process_sees_what_it_was_given_and_none_of_our_secrets(talk: Talk) -> None:
    server = add_server(talk, TINY)
    seen = run(talk, server, "environment")["func_return"].split()
    assert "STUB_TOKEN" in seen
    assert not [name for name in seen if "REMANENCE" in name or "OPENAI" in name or "PYTEST" in name]


@pytest.mark.promise("mcp.per-agent")
def test_headers_are_filled_with_the_secrets_of_the_agent_that_calls(talk: Talk) -> None:
    add_server(talk, TINY | {"env": TINY["env"] | {"STUB_USER": "{{ STUB_USER | nobody }}"}})
    strict = TINY | {"env": TINY["env"] | {"STUB_USER": "{{ STUB_USER }}"}}
    server = add_server(talk, strict, "strict")
    refused = talk.http.patch(f"/v1/mcp-servers/{server['id']}/refresh")
    assert refused.status_code == 404
    assert "STUB_USER" in refused.json()["detail"]["message"]
    agent = talk.agent(secrets={"STUB_USER": "eve"})
    changes = talk.ask("PATCH", f"/v1/mcp-servers/{server['id']}/refresh", params={"agent_id": agent["id"]})
    assert "strict_add" in changes["added"], "another server has a tool of that name"
    tool = tools_of(talk, server)["strict_add"]
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/tools/attach/{tool['id']}")
    answer = talk.say(agent, "Add them.", calls("strict_add", a=2, b=2), says("Four."))
    assert "4" in [each.get("tool_return") for each in answer["messages"]]
    other = talk.agent(tool_ids=[tool["id"]])
    answer = talk.say(other, "Add them.", calls("strict_add", a=2, b=2), says("I cannot."))
    assert any("STUB_USER" in (each.get("tool_return") or "") for each in answer["messages"])


@pytest.mark.promise("mcp.oauth")
def test_a_server_that_asks_for_it_is_signed_in_to_by_a_person_once(talk: Talk) -> None:
    with guarded_stub() as url:
        server = add_server(talk, {"mcp_server_type": "streamable_http", "server_url": url})
        assert tools_of(talk, server) == {}, "nobody has signed in yet"
        seen: list[str] = []
        with talk.http.stream("GET", f"/v1/mcp-servers/connect/{server['id']}", timeout=30) as events:
            for line in events.iter_lines():
                if not line.startswith("data: {"):
                    continue
                event = json.loads(line[6:])
                seen.append(event["event"])
                if event["event"] == "authorization_url":  # what a browser does
                    assert httpx.get(event["url"], follow_redirects=True).status_code == 200
        assert seen == [
            *("connection_attempt", "oauth_required", "authorization_url", "waiting_for_auth", "success"),
        ]
        assert run(talk, server, "whisper")["func_return"] == "The cake is in the oven."
    stale = talk.http.get("/v1/tools/mcp/oauth/callback", params={"state": "made-up", "code": "x"})
    assert stale.status_code == 404


@pytest.mark.promise("mcp.older-routes")
def test_the_older_routes_go_by_name_and_mean_the_same(talk: Talk, streamable: str) -> None:
    path = "/v1/tools/mcp/servers"
    config = {"server_name": "stub", "type": "streamable_http", "server_url": streamable}
    (added,) = talk.ask("PUT", path, json=config)
    assert (added["server_name"], added["type"]) == ("stub", "streamable_http")
    assert list(talk.get(path)) == ["stub"]
    assert {tool["name"] for tool in talk.ask("POST", f"{path}/test", json=config)} == TOOLS
    tried = talk.http.post(f"{path}/connect", json=config | {"server_name": "another"})
    first, last = (json.loads(tried.text.split("data: ")[place]) for place in (1, -2))
    assert first == {"event": "connection_attempt", "server_name": "another"}
    assert (last["event"], set(last["tools"])) == ("success", TOOLS)
    assert list(talk.get(path)) == ["stub"], "nothing is kept of it"
    needy = config | {"auth_token": "{{ NOBODY_HAS_THIS }}"}
    refused = talk.http.post(f"{path}/connect", json=needy)
    assert "NOBODY_HAS_THIS" in json.loads(refused.text.split("data: ")[-2])["message"]
    assert {tool["name"] for tool in talk.get(f"{path}/stub/tools")} == TOOLS
    assert talk.ask("POST", f"{path}/stub/add")["tool_type"] == "external_mcp"
    done = talk.ask("POST", f"{path}/stub/tools/add/execute", json={"args": {"a": 1, "b": 2}})
    assert done["func_return"] == "3"
    assert talk.ask("POST", f"{path}/stub/resync") == {"deleted": [], "updated": [], "added": []}
    changed = talk.ask("PATCH", f"{path}/stub", json={"server_name": "renamed", "token": "abc"})
    assert (changed["server_name"], changed["auth_token"]) == ("renamed", "abc")
    assert talk.http.post(f"{path}/stub/resync").status_code == 404
    assert talk.ask("DELETE", f"{path}/renamed") == []
