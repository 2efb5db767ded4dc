"""Tools that never answer: they are given up after a while, or when somebody cancels, and the agent goes on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.api import Api, assert_takes_turns, assert_well_formed, open_api
from tests.support.databases import Databases
from tests.support.mcp_stub import http_stub
from tests.support.scripted_model import ScriptedModel, calls, says
from tests.support.server import RunningServer
from tests.support.waiting import until


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    with http_stub("streamable_http") as url:
        yield url


async def dreamer(api: Api, stub: str) -> str:
    """An agent with a tool that never answers."""
    config = {"mcp_server_type": "streamable_http", "server_url": stub}
    made = await api.post("/mcp-servers/", {"server_name": "stub", "config": config})
    tools = await api.get(f"/mcp-servers/{made['id']}/tools")
    (tool,) = [each["id"] for each in tools if each["name"] == "dream"]
    return await api.create_agent(tool_ids=[tool])


async def check_it_goes_on(api: Api, model: ScriptedModel, agent: str) -> None:
    model.script(says("Here I am."))
    assert await api.ask(agent, "Are you there?") == "Here I am."
    assert_takes_turns(model.last.messages)
    assert_well_formed(await api.history(agent))
    model.verify()


@pytest.mark.promise("regressions.tool-timeout")
async def test_a_tool_that_never_answers_is_no_dead_end(
    databases: Databases, tmp_path: Path, model: ScriptedModel, stub: str
) -> None:
    key, url = "sk-test", model.base_url
    server = RunningServer(
        databases.fresh(), tmp_path, openai_api_key=key, openai_base_url=url, mcp_timeout_s=0.5
    )
    await asyncio.to_thread(server.start)
    try:
        async with open_api(server.base_url) as api:
            agent = await dreamer(api, stub)
            model.script(calls("dream"), says("It took too long."))
            answer = await api.send(agent, "Dream")
            assert answer["stop_reason"]["stop_reason"] == "end_turn"
            returned = next(m for m in answer["messages"] if m["message_type"] == "tool_return_message")
            assert returned["status"] == "error"
            await check_it_goes_on(api, model, agent)
    finally:
        await asyncio.to_thread(server.stop)


@pytest.mark.promise("regressions.tool-timeout")
async def test_cancelled_in_a_tool_that_never_answers_the_run_ends_at_once(
    server: RunningServer, model: ScriptedModel, stub: str
) -> None:
    async with open_api(server.base_url) as api:
        agent = await dreamer(api, stub)
        model.script(calls("dream"))
        sending = asyncio.create_task(api.stream(agent, "Dream"))
        await model.arrived(1)
        await model.last.answered.wait()

        async def is_running() -> bool:
            return [run["status"] for run in await api.runs(agent)] == ["running"]

        await until(is_running)
        async with asyncio.timeout(10):
            await api.post(f"/agents/{agent}/messages/cancel", {})
            stream = await sending
        assert '"stop_reason":"cancelled"' in stream
        assert stream.endswith("data: [DONE]\n\n")
        await check_it_goes_on(api, model, agent)
