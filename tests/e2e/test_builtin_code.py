"""The built-in tools that run programs and look at the web."""

import shutil
from typing import Any

import pytest
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.tenants import Tenant


def run(tenant: Tenant, agent: dict[str, Any], name: str, **args: Any) -> Any:
    return tenant.sdk.agents.tools.run(name, agent_id=agent["id"], args=args)


@pytest.mark.promise("builtins.run-code")
def test_programs_are_run_and_tell_what_they_printed(tenant: Tenant) -> None:
    agent = tenant.agent(tools=["run_code"], include_base_tools=False, secrets={"OWN": "s3cret"})
    done = run(
        tenant, agent, "run_code", language="python", code="import os\nprint(os.environ['OWN'])\n6 * 7"
    )
    assert (done.status, done.stdout, done.func_return) == ("success", ["s3cret\n"], 42)
    failed = run(tenant, agent, "run_code", language="python", code="1 / 0")
    assert failed.status == "error"
    assert "ZeroDivisionError" in failed.stderr[0]
    if shutil.which("node"):
        script = run(tenant, agent, "run_code", language="js", code="console.log([1, 2].map((n) => n * 2))")
        assert script.stdout == ["[ 2, 4 ]\n"]
    for language, command in (("r", "Rscript"), ("java", "java")):
        if shutil.which(command) is None:
            missing = run(tenant, agent, "run_code", language=language, code="1")
            assert "is not installed" in missing.stderr[0]


@pytest.mark.promise("builtins.run-code-with-tools")
def test_a_program_calls_the_agents_tools(talk: Talk) -> None:
    agent = talk.agent(tools=["run_code_with_tools", "core_memory_append"], include_base_tools=False)
    code = (
        "for word in ('figs', 'dates'):\n    core_memory_append(label='human', content=word)\nprint('done')"
    )
    answer = talk.say(agent, "Note!", calls("run_code_with_tools", code=code), says("Noted."))
    returned = next(each for each in answer["messages"] if each["message_type"] == "tool_return_message")
    assert (returned["status"], returned["tool_return"]) == ("success", "done")
    assert talk.block(agent, "human") == "Name: Eve\nfigs\ndates"


@pytest.mark.promise("builtins.run-code-with-tools")
def test_a_program_calls_no_tool_that_a_person_must_approve(tenant: Tenant) -> None:
    agent = tenant.agent(
        memory_blocks=[{"label": "human", "value": "Eve"}],
        tools=["run_code_with_tools", "core_memory_append"],
        include_base_tools=False,
        tool_rules=[{"type": "requires_approval", "tool_name": "core_memory_append"}],
    )
    code = "core_memory_append(label='human', content='figs')"
    failed = run(tenant, agent, "run_code_with_tools", code=code)
    assert "approval" in failed.stderr[0]
    assert tenant.state(agent["id"])["blocks"][0]["value"] == "Eve"


@pytest.mark.promise("builtins.fetch")
def test_pages_inside_this_network_are_not_fetched(tenant: Tenant) -> None:
    agent = tenant.agent(tools=["fetch_webpage"], include_base_tools=False)
    port = tenant.house.server.base_url.rpartition(":")[2]
    for host in (
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
        "[::ffff:127.0.0.1]",
    ):
        refused = run(tenant, agent, "fetch_webpage", url=f"http://{host}:{port}/v1/health/")
        assert refused.status == "error", host
        assert "inside this network" in refused.stderr[0], refused.stderr
    assert "not a web address" in run(tenant, agent, "fetch_webpage", url="file:///etc/passwd").stderr[0]


@pytest.mark.promise("builtins.search")
def test_a_search_without_a_key_says_what_is_missing(tenant: Tenant) -> None:
    agent = tenant.agent(tools=["web_search"], include_base_tools=False)
    assert "EXA_API_KEY" in run(tenant, agent, "web_search", query="figs").stderr[0]
