"""Servers that die at bad moments: what was acknowledged is there, and the next message works at once."""

import asyncio
from collections.abc import Awaitable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from tests.conftest import BOTH
from tests.support.api import Api, assert_takes_turns, assert_well_formed, open_api, spoken
from tests.support.databases import Databases
from tests.support.scripted_model import Gate, ScriptedModel, SeenRequest, calls, says
from tests.support.server_process import ServerProcess
from tests.support.waiting import until
from tests.support.write_locks import hold_writes

AT_ONCE_S = 5
"""Well below the time in which a lease lapses, so that nobody can have waited for that."""

INSERT = calls("memory_insert", label="human", new_string="Likes tea")


pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    scripted = ScriptedModel.start_in_thread()
    yield scripted
    scripted.stop_thread()


@pytest.fixture(scope="module", params=BOTH)
def mortal(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel
) -> Iterator[ServerProcess]:
    """One server for all of these: each test kills it and starts it again."""
    databases: Databases = request.getfixturevalue(f"{request.param}_databases")
    server = ServerProcess(databases.fresh(), tmp_path_factory.mktemp("server"), model_url=model.base_url)
    yield server
    server.kill()


@pytest.fixture
def process(mortal: ServerProcess, model: ScriptedModel) -> ServerProcess:
    model.forget()
    return mortal if mortal.is_running else mortal.start()


async def gone(sending: "asyncio.Task[object]") -> None:
    """The client of a killed server sees its connection break."""
    with pytest.raises(httpx.TransportError):
        await sending


async def start_again(server: ServerProcess) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


async def soon(answer: Awaitable[str]) -> str:
    async with asyncio.timeout(AT_ONCE_S):
        return await answer


def said_in(request: SeenRequest) -> list[str]:
    return [str(message["content"]) for message in request.messages if message["role"] == "user"]


async def check_agent_is_well(api: Api, model: ScriptedModel, agent: str, *, knows: list[str]) -> None:
    """It answers the next message without delay, having seen just what it should."""
    model.script(says("Here I am."))
    assert await soon(api.ask(agent, "Are you there?")) == "Here I am."
    assert said_in(model.last) == [*knows, "Are you there?"]
    assert_takes_turns(model.last.messages)
    history = await api.history(agent)
    assert_well_formed(history)
    users = [message["content"] for message in history if message["message_type"] == "user_message"]
    assert users == [*knows, "Are you there?"]
    statuses = {run["status"] for run in await api.runs(agent)}
    assert statuses <= {"completed", "failed"}


async def test_killed_before_the_input_is_on_disk(process: ServerProcess, model: ScriptedModel) -> None:
    async with open_api(process.base_url) as api:
        agent = await api.create_agent()
        model.script(says("Hello."))
        await api.ask(agent, "Good morning")
        async with hold_writes(process.database_url) as held:
            sending = asyncio.create_task(api.send(agent, "I was never heard"))
            await held.someone_waits()
            process.kill()
            await gone(sending)
    await start_again(process)
    async with open_api(process.base_url) as api:
        assert [run["status"] for run in await api.runs(agent)] == ["completed"]
        await check_agent_is_well(api, model, agent, knows=["Good morning"])


async def test_killed_while_the_model_thinks(process: ServerProcess, model: ScriptedModel) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await api.create_agent()
        model.script(says("Hello."), says("Too late").held(gate))
        await api.ask(agent, "Good morning")
        sending = asyncio.create_task(api.send(agent, "I was not answered"))
        await gate.reached.wait()
        process.kill()
        await gone(sending)
    gate.open()
    await start_again(process)
    async with open_api(process.base_url) as api:
        await check_agent_is_well(api, model, agent, knows=["Good morning"])
        runs = await api.runs(agent)
        assert [run["status"] for run in runs] == ["completed", "failed", "completed"]
        assert runs[1]["stop_reason"] == "error"
        kept = await api.run_messages(runs[1]["id"])
        assert [message["content"] for message in kept] == ["I was not answered"]


async def test_killed_between_two_steps(process: ServerProcess, model: ScriptedModel) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await api.create_agent()
        model.script(INSERT, says("Too late").held(gate))
        sending = asyncio.create_task(api.send(agent, "I like tea"))
        await gate.reached.wait()
        process.kill()
        await gone(sending)
    gate.open()
    await start_again(process)
    async with open_api(process.base_url) as api:
        assert "Likes tea" in await api.block(agent, "human")
        (run,) = await api.runs(agent)
        assert run["status"] == "failed"
        await check_agent_is_well(api, model, agent, knows=["I like tea"])
        assert [return_.status for return_ in model.last.tool_returns] == ["success"]


async def test_killed_while_the_last_step_is_being_saved(
    process: ServerProcess, model: ScriptedModel
) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await api.create_agent()
        model.script(says("Never saved").held(gate))
        sending = asyncio.create_task(api.send(agent, "I was nearly answered"))
        await gate.reached.wait()
        async with hold_writes(process.database_url) as held:
            gate.open()
            await model.last.answered.wait()
            await held.someone_waits()
            process.kill()
            await gone(sending)
    await start_again(process)
    async with open_api(process.base_url) as api:
        (run,) = await api.runs(agent)
        assert run["status"] == "failed"
        kept = await api.run_messages(run["id"])
        assert [message["content"] for message in kept] == ["I was nearly answered"]
        await check_agent_is_well(api, model, agent, knows=[])


SHOUTS_AND_WAITS = """
def shout(words: str):
    \"\"\"
    Says it where all can hear.

    Args:
        words: What to say.
    \"\"\"
    import json, os, time, urllib.request
    url = f"{os.environ['LETTA_BASE_URL']}/v1/agents/{os.environ['LETTA_AGENT_ID']}"
    body = json.dumps({"description": words}).encode()
    headers = {"authorization": f"Bearer {os.environ['LETTA_API_KEY']}", "content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PATCH"))
    time.sleep(1000)
"""


@pytest.mark.promise("tools.run.killed")
async def test_killed_in_the_middle_of_a_tool_the_model_is_told_that_nobody_knows(
    process: ServerProcess, model: ScriptedModel
) -> None:
    async with open_api(process.base_url) as api:
        tool = await api.post("/tools/", {"source_code": SHOUTS_AND_WAITS})
        agent = await api.create_agent(tool_ids=[tool["id"]], secrets={"LETTA_API_KEY": ""})
        model.script(calls("shout", words="Fire!"), says("I shall ask whether it was heard."))
        await api.post(f"/agents/{agent}/messages/async", {"input": "Shout!"})
        await until(partial(is_described, api, agent, "Fire!"))
    await start_again(process)
    async with open_api(process.base_url) as api:
        await model.arrived(2)
        await until(partial(all_are_over, api, agent))
        assert model.last.last_tool_return.status == "error"
        assert "nobody knows whether it had its effect" in model.last.last_tool_return.message
        assert [run["status"] for run in await api.runs(agent)] == ["completed"]
        assert spoken(await api.history(agent)) == "I shall ask whether it was heard."
        await check_agent_is_well(api, model, agent, knows=["Shout!"])
    model.verify()


async def is_described(api: Api, agent: str, words: str) -> bool:
    return (await api.get(f"/agents/{agent}"))["description"] == words


async def all_are_over(api: Api, agent: str) -> bool:
    return all(run["status"] in ("completed", "failed") for run in await api.runs(agent))


async def test_killed_with_others_waiting_in_line(process: ServerProcess, model: ScriptedModel) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await api.create_agent()
        model.script(says("Too late").held(gate))
        sends = [asyncio.create_task(api.send(agent, "first"))]
        await gate.reached.wait()
        for number in (2, 3):
            sends.append(asyncio.create_task(api.send(agent, f"number {number}")))
            await until(partial(has_runs, api, agent, number))
        process.kill()
        for sending in sends:
            await gone(sending)
    gate.open()
    await start_again(process)
    async with open_api(process.base_url) as api:
        runs = await api.runs(agent)
        assert [run["status"] for run in runs] == ["failed"] * 3
        kept = [spoken_by_user(await api.run_messages(run["id"])) for run in runs]
        assert kept == ["first", "number 2", "number 3"]
        await check_agent_is_well(api, model, agent, knows=[])


async def has_runs(api: Api, agent: str, count: int) -> bool:
    return len(await api.runs(agent)) == count


def spoken_by_user(messages: list[dict[str, object]]) -> object:
    return messages[0]["content"]


async def test_a_second_server_goes_on_when_the_first_is_killed(
    process: ServerProcess, tmp_path: Path, model: ScriptedModel
) -> None:
    """Nobody restarts anything: the one that is left finds out by itself."""
    dying = ServerProcess(process.database_url, tmp_path, model_url=model.base_url)
    await asyncio.to_thread(dying.start)
    gate = Gate()
    try:
        async with open_api(dying.base_url) as there, open_api(process.base_url) as here:
            agent = await here.create_agent()
            model.script(says("Too late").held(gate), says("Here I am."))
            sending = asyncio.create_task(there.send(agent, "I was not answered"))
            await gate.reached.wait()
            dying.kill()
            await gone(sending)
            gate.open()
            async with asyncio.timeout(30):
                assert await here.ask(agent, "Are you there?") == "Here I am."
            assert said_in(model.last) == ["Are you there?"]
            assert [run["status"] for run in await here.runs(agent)] == ["failed", "completed"]
    finally:
        dying.kill()


async def test_told_to_stop_it_finishes_what_it_has_begun(
    process: ServerProcess, model: ScriptedModel
) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api, open_api(process.base_url) as newcomer:
        agents = [await api.create_agent(), await api.create_agent()]
        model.responder = lambda seen: INSERT if seen.roles[-1] == "user" else says("All done.").held(gate)
        asking = asyncio.create_task(api.ask(agents[0], "Take your time"))
        streaming = asyncio.create_task(api.stream(agents[1], "Take your time"))
        await model.arrived(4)
        process.ask_to_stop()
        await until(newcomer.is_down)
        gate.open()
        assert await asking == "All done."
        assert (await streaming).endswith("data: [DONE]\n\n")
    assert await asyncio.to_thread(process.wait) == 0
    await start_again(process)
    model.responder = None
    async with open_api(process.base_url) as api:
        for agent in agents:
            assert [run["status"] for run in await api.runs(agent)] == ["completed"]
            assert spoken(await api.history(agent)) == "All done."


@pytest.mark.promise("regressions.stop-in-a-stream")
async def test_told_to_stop_it_ends_the_streams_that_take_too_long_as_every_stream_ends(
    process: ServerProcess, tmp_path: Path, model: ScriptedModel
) -> None:
    hasty = ServerProcess(
        process.database_url, tmp_path, model_url=model.base_url, settings={"REMANENCE_DRAIN_S": "0.2"}
    )
    await asyncio.to_thread(hasty.start)
    gate = Gate()
    try:
        async with open_api(hasty.base_url) as api:
            agent = await api.create_agent()
            model.script(says("one two three").paused(gate, after=2))
            streaming = asyncio.create_task(api.stream(agent, "Count"))
            await gate.reached.wait()
            hasty.ask_to_stop()
            stream = await streaming
        assert '"stop_reason":"cancelled"' in stream
        assert stream.endswith("data: [DONE]\n\n")
        assert await asyncio.to_thread(hasty.wait) == 0
    finally:
        gate.open()
        hasty.kill()
    async with open_api(process.base_url) as api:
        (run,) = await api.runs(agent)
        assert run["status"] == "cancelled"
        assert spoken(await api.history(agent)) == "one two ", "what was said before is kept"
        model.script(says("Here I am."))
        assert await soon(api.ask(agent, "Are you there?")) == "Here I am."
