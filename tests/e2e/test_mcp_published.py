"""MCP servers that others published: connected, read, attached and called as users would."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.script import calls, says
from tests.support.server_process import free_port
from tests.support.talks import Talk

from remanence.kit.json import JsonObject

pytestmark = [
    pytest.mark.parametrize("house", ["sqlite"], indirect=True),  # the other database sees no difference
    pytest.mark.promise("mcp.published"),
]

_EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
_LOOPBACK_ONLY = (
    "data:text/javascript,import net from 'node:net'; const listen = net.Server.prototype.listen;"
    "net.Server.prototype.listen = function (port, ...rest) {"
    " return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...rest); };"
)
"""It has no option for the address, and would listen on all of them."""


def add(talk: Talk, name: str, **config: object) -> tuple[str, dict[str, JsonObject]]:
    """The id of the server, and its tools by their names."""
    server = talk.ask("POST", "/v1/mcp-servers/", json={"server_name": name, "config": config})
    return server["id"], {tool["name"]: tool for tool in talk.get(f"/v1/mcp-servers/{server['id']}/tools")}


def returned(answer: JsonObject) -> list[tuple[str, str]]:
    found = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    return [(each["status"], each["tool_return"]) for each in found]


def test_the_time_server_from_pypi(talk: Talk) -> None:
    server, tools = add(
        talk, "time", mcp_server_type="stdio", command=sys.executable, args=["-m", "mcp_server_time"]
    )
    assert set(tools) == {"get_current_time", "convert_time"}
    agent = talk.agent(tool_ids=[tool["id"] for tool in tools.values()])
    noon = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    wrong = noon | {"time": "noon"}
    answer = talk.say(
        agent, "When is that?", calls("convert_time", **noon), calls("convert_time", **wrong), says("Then.")
    )
    (status, text), (wrong_status, wrong_text) = returned(answer)
    assert (status, '"Asia/Tokyo"' in text) == ("success", True)
    assert wrong_status == "error", wrong_text
    assert talk.ask("PATCH", f"/v1/mcp-servers/{server}/refresh") == {
        "added": [],
        "updated": [],
        "deleted": [],
    }


def test_the_git_server_from_pypi(talk: Talk, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "poem.txt").write_text("Roses are red\n")
    args = ["-m", "mcp_server_git", "--repository", str(tmp_path)]
    _, tools = add(talk, "git", mcp_server_type="stdio", command=sys.executable, args=args)
    assert {"git_status", "git_add", "git_commit", "git_log"} <= set(tools)
    agent = talk.agent(tool_ids=[tools[name]["id"] for name in ("git_status", "git_add")])
    place = {"repo_path": str(tmp_path)}
    answer = talk.say(
        agent,
        "Stage my poem.",
        calls("git_add", files=["poem.txt"], **place),
        calls("git_status", **place),
        calls("git_status", repo_path=str(tmp_path.parent)),
        says("It is staged."),
    )
    assert [status for status, _ in returned(answer)] == ["success", "success", "error"]
    assert "new file:   poem.txt" in returned(answer)[1][1]


@pytest.fixture(scope="module")
def everything(npm_folder: Path) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        ["node", "--import", _LOOPBACK_ONLY, _EVERYTHING, "streamableHttp"],
        cwd=npm_folder,
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "listening" not in (line := process.stderr.readline()):
        assert line, "it ended at its start"
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()
    process.stderr.close()


def test_the_everything_server_from_npm_over_http(talk: Talk, everything: str) -> None:
    _, tools = add(talk, "everything", mcp_server_type="streamable_http", server_url=everything)
    assert {"echo", "get-sum", "get-tiny-image", "get-structured-content"} <= set(tools)
    names = ("get-sum", "get-tiny-image", "trigger-long-running-operation")
    agent = talk.agent(tool_ids=[tools[name]["id"] for name in names])
    answer = talk.say(
        agent,
        "Go on.",
        calls("get-sum", a=2, b=3),
        calls("get-sum", a="two", b=3),
        calls("get-tiny-image"),
        calls("trigger-long-running-operation", duration=0.2, steps=4),
        says("Done."),
    )
    outcomes = returned(answer)
    assert [status for status, _ in outcomes] == ["success", "error", "success", "success"]
    assert "5" in outcomes[0][1]
    assert "a must be number" in outcomes[1][1]
    seen = talk.model.journal[3].messages
    assert "data:image/png;base64," in str(seen), "the model is shown the picture"
