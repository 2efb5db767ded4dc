"""Tools that are run: once, for an agent, and by an agent itself."""

import shutil
from typing import Any

import pytest
from letta_client import NotFoundError
from sqlalchemy import Connection, text
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.tenants import Tenant

ROLL = '''
def roll_dice(sides: int, times: int = 1) -> str:
    """
    Rolls dice.

    Args:
        sides: How many sides.
        times: How often.
    """
    print("rolling")
    return str(sides * times)
'''


def run_once(tenant: Tenant, source: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    answer = tenant.http.post("/v1/tools/run", json={"source_code": source, "args": args or {}, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def make_agent(tenant: Tenant, source: str, **options: Any) -> tuple[dict[str, Any], str]:
    tool = tenant.http.post("/v1/tools/", json={"source_code": source, **options}).json()
    agent = tenant.agent(tool_ids=[tool["id"]], include_base_tools=False)
    return agent, tool["name"]


@pytest.mark.promise("tools.run")
def test_a_source_is_run_once_and_nothing_is_stored(tenant: Tenant) -> None:
    answer = run_once(tenant, ROLL, {"sides": 6}, name="roll_dice")
    returned = {
        "tool_return": "6",
        "status": "success",
        "tool_call_id": "null",
        "stdout": ["rolling\n"],
        "stderr": [],
    }
    assert answer.pop("date").endswith("+00:00")
    assert answer == {
        "id": "null",
        "name": "roll_dice",
        "message_type": "tool_return_message",
        "otid": None,
        "sender_id": None,
        "step_id": None,
        "is_err": None,
        "seq_id": None,
        "run_id": None,
        **returned,
        "tool_returns": [{"type": "tool", **returned}],
    }
    assert tenant.http.get("/v1/tools/", params={"name": "roll_dice"}).json() == []


@pytest.mark.promise("tools.run")
def test_what_goes_wrong_is_told(tenant: Tenant) -> None:
    answer = run_once(tenant, 'def boom():\n    """Fails."""\n    raise ValueError("no")\n')
    assert answer["status"] == "error"
    assert answer["tool_return"].endswith("ValueError: no")
    assert 'raise ValueError("no")' in answer["stderr"][0]
    refused = run_once(tenant, ROLL, {"sides": "many"})
    assert (refused["status"], refused["stdout"]) == ("error", None)
    assert "sides must be integer" in refused["tool_return"]
    assert tenant.http.post("/v1/tools/run", json={"source_code": "x", "args": {}}).status_code == 400


MODELS = '''
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Dict, List, Optional, Union
from pydantic import BaseModel

class Color(Enum):
    RED = "red"

@dataclass
class Point:
    x: int
    y: int = 2

class Item(BaseModel):
    name: str
    color: Color

async def use(color: Color, point: Point, items: List[Item], day: date, either: Union[int, str], note: Optional[str]):
    """Uses all of it.

    Args:
        color: C.
        point: P.
        items: I.
        day: D.
        either: E.
        note: N.
    """
    assert color is Color.RED and point == Point(1) and day == date(2026, 3, 15) and note is None
    assert items[0].color is Color.RED and items[0].name == "x"
    return {"either": either, "point": point, "items": items, "day": day}
'''


@pytest.mark.promise("tools.run.arguments")
def test_arguments_become_what_the_function_asks_for(tenant: Tenant) -> None:
    args = {
        "color": "red",
        "point": {"x": 1},
        "items": [{"name": "x", "color": "red"}],
        "day": "2026-03-15",
        "either": "a",
    }
    answer = run_once(tenant, MODELS, args)
    assert answer["tool_return"] == (
        '{"either": "a", "point": {"x": 1, "y": 2}, "items": [{"name": "x", "color": "red"}], "day": "2026-03-15"}'
    )
    assert "must be" in run_once(tenant, MODELS, args | {"color": "blue"})["tool_return"]
    assert "day does not fit" in run_once(tenant, MODELS, args | {"day": "soon"})["tool_return"]


@pytest.mark.promise("tools.run.agent")
def test_a_tool_is_run_for_an_agent_that_holds_it(tenant: Tenant) -> None:
    agent, name = make_agent(tenant, ROLL)
    result = tenant.sdk.agents.tools.run(name, agent_id=agent["id"], args={"sides": 6, "times": 2})
    assert (result.status, result.func_return, result.stdout, result.stderr) == (
        "success",
        "12",
        ["rolling\n"],
        [],
    )
    failed = tenant.sdk.agents.tools.run(name, agent_id=agent["id"], args={"sides": None})
    assert (failed.status, failed.func_return) == ("error", None)
    assert failed.stderr
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.tools.run("no_such_tool", agent_id=agent["id"], args={})


@pytest.mark.promise("tools.run.agent")
def test_a_memory_tool_run_by_hand_changes_the_memory(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "Eve"}], tools=["core_memory_append"])
    given: dict[str, object] = {"label": "human", "content": "likes figs"}
    result = tenant.sdk.agents.tools.run("core_memory_append", agent_id=agent["id"], args=given)
    assert result.status == "success"
    assert tenant.state(agent["id"])["blocks"][0]["value"] == "Eve\nlikes figs"


SHOW = '''
def show(agent_state: "AgentState", long: bool = False):
    """Shows its surroundings.

    Args:
        long: Whether to say much.
    """
    import os
    if long:
        return "x" * 1000
    return {"env": dict(os.environ), "name": agent_state.name, "human": agent_state.memory.blocks[0].value}
'''


@pytest.mark.promise("tools.run.variables")
def test_secrets_and_variables_reach_the_tool_and_nothing_else_does(tenant: Tenant) -> None:
    tool = tenant.http.post("/v1/tools/", json={"source_code": SHOW}).json()
    config = tenant.http.post("/v1/sandbox-config/local/default").json()
    for key in ("SHARED", "BOTH"):
        path = f"/v1/sandbox-config/{config['id']}/environment-variable"
        assert tenant.http.post(path, json={"key": key, "value": "of the sandbox"}).status_code == 200
    agent = tenant.agent(
        name="Ada",
        tool_ids=[tool["id"]],
        include_base_tools=False,
        memory_blocks=[{"label": "human", "value": "Eve"}],
        secrets={"BOTH": "of the agent", "OWN": "s3cret"},
    )
    result: Any = tenant.sdk.agents.tools.run("show", agent_id=agent["id"], args={}).func_return
    assert (result["name"], result["human"]) == ("Ada", "Eve")
    assert result["env"].pop("PATH")
    assert result["env"].pop("HOME") == result["env"].pop("TMPDIR")
    assert result["env"] == {
        "LANG": "C.UTF-8",
        "SHARED": "of the sandbox",
        "BOTH": "of the agent",
        "OWN": "s3cret",
        "LETTA_AGENT_ID": agent["id"],
        "LETTA_TOOL_ID": tool["id"],
    }


@pytest.mark.promise("tools.run.called")
def test_an_agent_calls_its_own_tools(talk: Talk) -> None:
    agent, _ = make_agent(talk.tenant, ROLL)
    answer = talk.say(agent, "Roll!", calls("roll_dice", sides=6, times=3), says("18!"))
    returned = next(each for each in answer["messages"] if each["message_type"] == "tool_return_message")
    assert (returned["status"], returned["tool_return"], returned["stdout"]) == (
        "success",
        "18",
        ["rolling\n"],
    )
    answer = talk.say(agent, "Again!", calls("roll_dice", sides="six"), says("Sorry."))
    returned = next(each for each in answer["messages"] if each["message_type"] == "tool_return_message")
    assert returned["status"] == "error"
    assert "sides must be integer" in returned["tool_return"]


@pytest.mark.promise("tools.run.called")
def test_a_long_return_is_cut_with_a_note(talk: Talk) -> None:
    agent, _ = make_agent(talk.tenant, SHOW, return_char_limit=10)
    answer = talk.say(agent, "Show!", calls("show", long=True), says("Long."))
    returned = next(each for each in answer["messages"] if each["message_type"] == "tool_return_message")
    assert returned["tool_return"] == "xxxxxxxxxx\n[The rest, 990 characters, was cut off.]"


WHO = '''
def who_am_i(other: str):
    """Asks the server.

    Args:
        other: Another agent.
    """
    if client is None:
        return "nobody"
    own = client.agents.retrieve(__import__("os").environ["LETTA_AGENT_ID"]).name
    try:
        client.agents.retrieve(other)
    except Exception as error:
        return f"{own}: {type(error).__name__}"
    return "both"
'''


@pytest.mark.promise("tools.run.client")
def test_a_tool_calls_back_with_a_token_for_its_agent_alone(tenant: Tenant) -> None:
    tool = tenant.http.post("/v1/tools/", json={"source_code": WHO}).json()
    options: dict[str, Any] = {"tool_ids": [tool["id"]], "include_base_tools": False}
    stranger = tenant.agent(name="Eve", **options)
    agent = tenant.agent(name="Ada", secrets={"LETTA_API_KEY": ""}, **options)
    run = tenant.sdk.agents.tools.run
    allowed = run("who_am_i", agent_id=agent["id"], args={"other": stranger["id"]})
    assert allowed.func_return == "Ada: PermissionDeniedError", allowed.stderr
    assert run("who_am_i", agent_id=stranger["id"], args={"other": agent["id"]}).func_return == "nobody"


@pytest.mark.promise("tools.run.packages")
def test_packages_that_cannot_be_installed_are_an_error_return(tenant: Tenant) -> None:
    wanted = [{"name": "no-such-package-of-remanence", "version": "9.9"}]
    answer = run_once(tenant, ROLL, {"sides": 6}, pip_requirements=wanted)
    assert answer["status"] == "error"
    assert "no-such-package-of-remanence==9.9 could not be installed" in answer["tool_return"]


@pytest.mark.promise("tools.run.packages")
def test_a_package_is_there_for_the_tool_that_needs_it(tenant: Tenant) -> None:
    source = 'def f():\n    """F."""\n    import iniconfig\n    return iniconfig.__file__\n'
    first = run_once(tenant, source, pip_requirements=[{"name": "iniconfig", "version": "2.0.0"}])
    if "could not be installed" in first["tool_return"]:
        pytest.skip("no package index can be reached from here")
    assert "/environments/python-" in first["tool_return"]
    assert run_once(tenant, source, pip_requirements=[{"name": "iniconfig", "version": "2.0.0"}]) is not None


SCRIPT = """
/** Adds two numbers.
 * @param {number} a - The first.
 * @param {number} b - The second.
 */
async function add(a, b) {
  console.log("adding");
  if (b === 0) throw new RangeError("no zero");
  return { sum: a + b, secret: process.env.OWN ?? null };
}
"""


@pytest.mark.promise("tools.run.scripts")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_is_run_by_node(tenant: Tenant) -> None:
    answer = run_once(tenant, SCRIPT, {"a": 2, "b": 3}, source_type="javascript", env_vars={"OWN": "s"})
    assert answer["tool_return"] == '{"sum":5,"secret":"s"}', answer
    assert answer["stdout"] == ["adding\n"]
    failed = run_once(tenant, SCRIPT, {"a": 2, "b": 0}, source_type="javascript")
    assert failed["tool_return"] == "add failed: RangeError: no zero"
    assert "tool.mjs" in failed["stderr"][0]
    whole = SCRIPT.replace("add(a, b)", "add({ a, b })")
    assert '"sum":5' in run_once(tenant, whole, {"a": 2, "b": 3}, source_type="javascript")["tool_return"]


@pytest.mark.promise("tools.run.scripts")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_typescript_is_run_by_node(tenant: Tenant) -> None:
    source = """
    enum Unit { C = "c", F = "f" }
    /** Converts.
     * @param degrees - How warm.
     * @param unit - To which unit. */
    export function convert(degrees: number, unit: Unit = Unit.F): string {
      const factor: number = 9 / 5;
      return unit === Unit.F ? `${degrees * factor + 32}` : String(degrees as unknown);
    }
    """
    answer = run_once(tenant, source, {"degrees": 100}, source_type="typescript")
    if "could not be installed" in answer["tool_return"]:
        pytest.skip("this node strips no types, and no package index can be reached from here")
    assert answer["tool_return"] == "212"


@pytest.mark.promise("sandbox.config")
def test_the_sandbox_is_configured_and_tells_how_it_fences(tenant: Tenant) -> None:
    [config] = tenant.http.get("/v1/sandbox-config/").json()
    assert config["type"] == "local"
    assert config["config"]["isolation"]["level"] in ("namespaces", "landlock", "limits")
    assert config["config"]["isolation"]["timeout_s"] == 180
    assert tenant.http.get("/v1/sandbox-config/", params={"sandbox_type": "e2b"}).json() == []
    assert tenant.http.post("/v1/sandbox-config/local/default").json() == config
    assert tenant.http.post("/v1/sandbox-config/local", json={}).status_code == 409
    path = f"/v1/sandbox-config/{config['id']}"
    changed = tenant.http.patch(path, json={"config": {"venv_name": "mine"}}).json()
    assert changed["config"]["venv_name"] == "mine"
    assert tenant.http.post("/v1/sandbox-config/local/recreate-venv").json()["id"] == config["id"]
    assert tenant.http.delete(path).status_code == 204
    assert tenant.http.patch(path, json={}).status_code == 404
    created = tenant.http.post("/v1/sandbox-config/", json={"config": {"use_venv": True}}).json()
    assert created["config"]["use_venv"] is True


@pytest.mark.promise("sandbox.e2b")
def test_settings_of_a_hosted_sandbox_are_kept_and_tools_are_run_here(tenant: Tenant) -> None:
    made = tenant.http.post("/v1/sandbox-config/e2b/default").json()
    isolation = made["config"].pop("isolation")
    assert (made["type"], made["config"]) == (
        "e2b",
        {"timeout": 300, "template": None, "pip_requirements": None},
    )
    assert isolation["level"] in ("namespaces", "landlock", "limits")
    assert tenant.http.post("/v1/sandbox-config/e2b/default").json()["id"] == made["id"]
    listed = tenant.http.get("/v1/sandbox-config/").json()
    assert [each["type"] for each in listed] == ["local", "e2b"]
    [alone] = tenant.http.get("/v1/sandbox-config/", params={"sandbox_type": "e2b"}).json()
    path = f"/v1/sandbox-config/{alone['id']}"
    changed = tenant.http.patch(path, json={"config": {"template": "small", "pip_requirements": ["figs"]}})
    assert changed.json()["config"]["template"] == "small"
    for wrong in ({"use_venv": True}, {"pip_requirements": [{"name": "figs"}]}):
        assert tenant.http.patch(path, json={"config": wrong}).status_code == 400
    refused = tenant.http.patch(f"/v1/sandbox-config/{listed[0]['id']}", json={"config": {"timeout": 5}})
    assert refused.status_code == 400
    assert tenant.http.post("/v1/sandbox-config/", json={"config": {"timeout": 5}}).status_code == 409
    assert tenant.http.delete(path).status_code == 204


@pytest.mark.promise("sandbox.variables")
def test_variables_of_the_sandbox_are_kept_encrypted(tenant: Tenant) -> None:
    config = tenant.http.post("/v1/sandbox-config/local/default").json()
    path = f"/v1/sandbox-config/{config['id']}/environment-variable"
    made = tenant.http.post(path, json={"key": "TOKEN", "value": "in clear", "description": "d"}).json()
    assert (made["key"], made["value"], made["value_enc"]) == ("TOKEN", "in clear", None)
    assert tenant.http.post(path, json={"key": "TOKEN", "value": "twice"}).status_code == 409
    assert tenant.http.post(path, json={"key": "no good", "value": "x"}).status_code == 422
    assert tenant.http.get(path).json() == [made]

    def stored(connection: Connection) -> str:
        query = text("SELECT value_enc FROM sandbox_environment_variables WHERE id = :id")
        return connection.execute(query, {"id": made["id"]}).scalar_one()

    assert "in clear" not in tenant.house.read(stored)
    own = f"/v1/sandbox-config/environment-variable/{made['id']}"
    assert tenant.http.patch(own, json={"value": "new"}).json()["value"] == "new"
    assert tenant.http.delete(own).status_code == 204
    assert tenant.http.delete(own).status_code == 404
    assert tenant.http.get(path).json() == []
