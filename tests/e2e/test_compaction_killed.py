"""A server that dies while room is made: the answer stands, the window is as it was, and nothing is lost."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from tests.conftest import BOTH
from tests.support.api import Api, assert_takes_turns, assert_well_formed, open_api
from tests.support.databases import Databases
from tests.support.filling import PLUMS, full
from tests.support.scripted_model import Gate, ScriptedModel, says
from tests.support.server_process import ServerProcess
from tests.support.waiting import until
from tests.support.write_locks import hold_writes

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
    databases: Databases = request.getfixturevalue(f"{request.param}_databases")
    server = ServerProcess(databases.fresh(), tmp_path_factory.mktemp("server"), model_url=model.base_url)
    yield server
    server.kill()


@pytest.fixture
def process(mortal: ServerProcess, model: ScriptedModel) -> ServerProcess:
    model.forget()
    return mortal if mortal.is_running else mortal.start()


async def filled(api: Api, model: ScriptedModel) -> str:
    agent = await api.create_agent(context_window_limit=8_000)
    for number in range(3):
        model.script(says("I see."))
        await api.ask(agent, f"Plum number {number}. {PLUMS}")
    return agent


async def start_again(server: ServerProcess) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


async def check_nothing_is_lost(api: Api, model: ScriptedModel, agent: str) -> None:
    asked = len(model.journal)
    model.script(says("Here I am."))
    assert await api.ask(agent, "Are you there?") == "Here I am."
    assert len(model.journal) == asked + 1, "what was answered is not answered again"
    assert_takes_turns(model.last.messages)
    told = str(model.last.messages)
    assert all(text in told for text in ("Plum number 0", "Count them.", "Counted."))
    history = await api.history(agent)
    assert_well_formed(history)
    assert [message["message_type"] for message in history] == ["user_message", "assistant_message"] * 5


@pytest.mark.promise("compaction.killed")
async def test_killed_while_the_summary_is_written(process: ServerProcess, model: ScriptedModel) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await filled(api, model)
        model.script(full(), says("Never saved.").held(gate))
        sending = asyncio.create_task(api.send(agent, "Count them."))
        await gate.reached.wait()
        process.kill()
        with pytest.raises(httpx.TransportError):
            await sending
    gate.open()
    await start_again(process)
    async with open_api(process.base_url) as api:
        run = (await api.runs(agent))[-1]
        assert (run["status"], run["stop_reason"]) == ("completed", "end_turn")
        await check_nothing_is_lost(api, model, agent)


@pytest.mark.promise("compaction.killed")
async def test_killed_while_the_summary_of_a_background_run_is_saved(
    process: ServerProcess, model: ScriptedModel
) -> None:
    gate = Gate()
    async with open_api(process.base_url) as api:
        agent = await filled(api, model)
        model.script(full(), says("Never saved.").held(gate))
        async with httpx.AsyncClient(base_url=f"{process.base_url}/v1") as client:
            answer = await client.post(f"/agents/{agent}/messages/async", json={"input": "Count them."})
            run_id = answer.json()["id"]
        await gate.reached.wait()
        async with hold_writes(process.database_url) as held:
            gate.open()
            await model.last.answered.wait()
            await held.someone_waits()
            process.kill()
    await start_again(process)
    async with open_api(process.base_url) as api:

        async def is_over() -> bool:
            return (await api.runs(agent))[-1]["status"] != "running"

        await until(is_over)
        run = (await api.runs(agent))[-1]
        assert (run["id"], run["status"], run["stop_reason"]) == (run_id, "completed", "end_turn")
        await check_nothing_is_lost(api, model, agent)
