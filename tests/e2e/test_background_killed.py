"""Background runs whose process is killed: another carries them on, each step once, and their stream ends."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.api import Api, assert_takes_turns, assert_well_formed, open_api
from tests.support.databases import Databases
from tests.support.receiver import Receiver
from tests.support.scripted_model import Gate, ScriptedModel, calls, says
from tests.support.server import RunningServer
from tests.support.server_process import ServerProcess
from tests.support.waiting import until
from tests.support.wire import Frame, read_frames

from remanence.kit import json
from remanence.kit.failpoints import VARIABLE

WITHIN_S = 30
INSERT = calls("memory_insert", label="human", new_string="Likes tea")

Server = ServerProcess | RunningServer


class Servers:
    """Servers on one database: those that will be killed are processes of their own."""

    def __init__(self, url: str, folder: Path, model: ScriptedModel) -> None:
        self._url = url
        self._folder = folder
        self._model = model
        hasty = {"REMANENCE_DRAIN_S": "0"}
        self.dying = ServerProcess(url, folder, model_url=model.base_url, settings=hasty)
        self._living: RunningServer | None = None

    async def both(self) -> tuple[ServerProcess, RunningServer]:
        """One to be killed, and one to live on."""
        key, url = "sk-test", self._model.base_url
        self._living = RunningServer(self._url, self._folder, openai_api_key=key, openai_base_url=url)
        await asyncio.gather(asyncio.to_thread(self.dying.start), asyncio.to_thread(self._living.start))
        return self.dying, self._living

    async def close(self) -> None:
        self.dying.kill()
        if self._living is not None:
            await asyncio.to_thread(self._living.stop)


@pytest.fixture
async def servers(databases: Databases, tmp_path: Path, model: ScriptedModel) -> AsyncIterator[Servers]:
    found = Servers(databases.fresh(), tmp_path, model)
    yield found
    await found.close()


async def post(server: Server, path: str, **body: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=f"{server.base_url}/v1", timeout=WITHIN_S, verify=False) as client:
        response = await client.post(path, json=body)
        assert response.status_code == 200, response.text
        return response


async def begin(server: Server, agent: str, text: str, **options: Any) -> str:
    return (await post(server, f"/agents/{agent}/messages/async", input=text, **options)).json()["id"]


async def follow(server: Server, run_id: str, after: int = 0) -> bytes:
    async with asyncio.timeout(WITHIN_S):
        return (await post(server, f"/runs/{run_id}/stream", starting_after=after)).content


async def check_each_step_is_there_once(api: Api, model: ScriptedModel, agent: str, run_id: str) -> None:
    run = (await api.runs(agent))[0]
    assert (run["id"], run["status"], run["stop_reason"]) == (run_id, "completed", "end_turn")
    history = await api.history(agent)
    assert_well_formed(history)
    assert [message["message_type"].removesuffix("_message") for message in history][:4] == [
        "user",
        "tool_call",
        "tool_return",
        "assistant",
    ]
    assert await api.block(agent, "human") == "Name: Eve\nLikes tea"
    for request in model.journal:
        assert_takes_turns(request.messages)
    assert [m["id"] for m in await api.run_messages(run_id)] == [m["id"] for m in history[:4]]


def check_the_stream_is_whole(stream: bytes) -> list[Frame]:
    frames = read_frames(stream)
    assert [frame.kind for frame in frames[-3:]] == ["stop_reason", "usage_statistics", "[DONE]"]
    assert frames[-3]["stop_reason"] == "end_turn"
    assert frames[-2]["step_count"] == 2, "steps of both processes count"
    numbers = [
        (frame["seq_id"], place)
        for place, frame in enumerate(frames, 1)
        if isinstance(frame.data, dict) and "seq_id" in frame.data
    ]
    assert all(number == place for number, place in numbers)
    return frames


@pytest.mark.promise("background.crash")
@pytest.mark.parametrize("way", ["another process", "a restart", "an orderly stop"])
async def test_killed_between_steps_the_run_is_carried_on(
    servers: Servers, model: ScriptedModel, way: str
) -> None:
    gate = Gate()
    living: Server
    if way == "another process":
        dying, living = await servers.both()
    else:
        dying = living = servers.dying
        await asyncio.to_thread(dying.start)
    async with open_api(dying.base_url) as api:
        agent = await api.create_agent()
    model.script(INSERT, says("Never heard").held(gate), says("Noted."))
    run_id = await begin(dying, agent, "I like tea")
    await gate.reached.wait()
    if way == "an orderly stop":
        await asyncio.to_thread(dying.stop)
    else:
        dying.kill()
    gate.open()
    if living is dying:
        await asyncio.to_thread(dying.start)
    stream = await follow(living, run_id)
    frames = check_the_stream_is_whole(stream)
    assert [frame.kind for frame in frames[:-3]] == [
        "ping",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
    ]
    parts = stream.split(b"\n\n")
    for after in range(len(frames)):
        assert await follow(living, run_id, after) == b"\n\n".join(parts[after:])
    async with open_api(living.base_url) as api:
        await check_each_step_is_there_once(api, model, agent, run_id)
        model.script(says("Here I am."))
        assert await api.ask(agent, "Are you there?") == "Here I am."
    model.verify()


async def test_killed_in_its_first_words_the_run_starts_again(servers: Servers, model: ScriptedModel) -> None:
    gate = Gate()
    dying, living = await servers.both()
    async with open_api(living.base_url) as api:
        agent = await api.create_agent()
        model.script(says("Never to be finished").paused(gate, after=2), INSERT, says("Noted."))
        run_id = await begin(dying, agent, "I like tea", stream_tokens=True)
        await gate.reached.wait()
        reading = asyncio.create_task(follow(living, run_id))  # from before the death to after it
        await until(partial(is_told, living, run_id, b'"to "'))
        dying.kill()
        gate.open()
        frames = check_the_stream_is_whole(await reading)
        assert "".join(f["content"] for f in frames if f.kind == "assistant_message") == "Never to Noted."
        await check_each_step_is_there_once(api, model, agent, run_id)
    model.verify()


@pytest.mark.promise("background.crash-untold")
async def test_killed_when_all_was_saved_and_little_told_the_rest_is_told_and_called_back(
    databases: Databases, tmp_path: Path, model: ScriptedModel
) -> None:
    url = databases.fresh()
    model.script(INSERT, says("That is noted."))
    fail_point = {VARIABLE: "runs.checkpoint.Checkpoint._write:after:2"}
    dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings=fail_point)
    living = ServerProcess(url, tmp_path, model_url=model.base_url)
    with Receiver() as receiver:
        try:
            await asyncio.to_thread(dying.start)
            async with open_api(dying.base_url) as api:
                agent = await api.create_agent()
            run_id = await begin(dying, agent, "I like tea", stream_tokens=True, callback_url=receiver.url)
            await asyncio.to_thread(dying.wait)
            await asyncio.to_thread(living.start)
            stream = await follow(living, run_id)
            frames = check_the_stream_is_whole(stream)
            assert "".join(f["content"] for f in frames if f.kind == "assistant_message") == "That is noted."
            assert await follow(living, run_id, 2) == b"".join(
                frame + b"\n\n" for frame in stream.split(b"\n\n")[2:-1]
            )
            async with open_api(living.base_url) as api:
                await check_each_step_is_there_once(api, model, agent, run_id)
            await until(partial(was_called, receiver))
        finally:
            dying.kill()
            living.kill()
    assert [json.decode(each.body)["run_id"] for each in receiver.received] == [run_id]
    model.verify()


async def was_called(receiver: Receiver) -> bool:
    return bool(receiver.received)


async def is_told(server: Server, run_id: str, text: bytes) -> bool:
    async with (
        httpx.AsyncClient(base_url=f"{server.base_url}/v1", timeout=WITHIN_S, verify=False) as client,
        client.stream("POST", f"/runs/{run_id}/stream", json={}) as response,
    ):
        seen = b""
        async for chunk in response.aiter_bytes():
            seen += chunk
            if text in seen:
                return True
    return False


@pytest.mark.promise("background.crash-queue")
async def test_those_who_wait_for_it_are_served_after_it_was_carried_on(
    servers: Servers, model: ScriptedModel
) -> None:
    """Also those of the process that carries it on, and a background run that stood in line."""
    gate = Gate()
    dying, living = await servers.both()
    async with open_api(living.base_url) as api:
        agent = await api.create_agent()
        model.script(INSERT, says("Never heard").held(gate))
        run_id = await begin(dying, agent, "I like tea")
        await gate.reached.wait()
        asking = asyncio.create_task(api.ask(agent, "Second"))
        await until(partial(has_runs, api, agent, 2))
        queued = await begin(dying, agent, "Third")
        await until(partial(has_runs, api, agent, 3))
        model.script(says("Noted."), says("Second it is."), says("Third it is."))
        dying.kill()
        gate.open()
        async with asyncio.timeout(WITHIN_S):
            assert await asking == "Second it is."
        assert read_frames(await follow(living, queued))[-1].kind == "[DONE]"
        await check_each_step_is_there_once(api, model, agent, run_id)
        said = [m["content"] for m in await api.history(agent) if m["message_type"] == "assistant_message"]
        assert said == ["Noted.", "Second it is.", "Third it is."]
        assert [run["status"] for run in await api.runs(agent)] == ["completed"] * 3
    model.verify()


async def has_runs(api: Api, agent: str, count: int) -> bool:
    return len(await api.runs(agent)) == count


async def test_killed_after_an_approval_the_answer_is_not_asked_for_again(
    servers: Servers, model: ScriptedModel
) -> None:
    gate = Gate()
    dying, living = await servers.both()
    async with open_api(living.base_url) as api:
        agent = await api.create_agent(
            include_base_tool_rules=False,
            tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}],
        )
        model.script(INSERT, says("Never heard").held(gate), says("Noted."))
        asked = await api.send(agent, "I like tea")
        call_id = asked["messages"][0]["tool_call"]["tool_call_id"]
        answer = {
            "type": "approval",
            "approvals": [{"type": "approval", "tool_call_id": call_id, "approve": True}],
        }
        path = f"/agents/{agent}/messages/async"
        run_id = (await post(dying, path, messages=[answer])).json()["id"]
        await gate.reached.wait()
        dying.kill()
        gate.open()
        frames = read_frames(await follow(living, run_id))
        assert [frame.kind for frame in frames] == [
            "ping",
            "tool_return_message",
            "assistant_message",
            "stop_reason",
            "usage_statistics",
            "[DONE]",
        ]
        assert await api.block(agent, "human") == "Name: Eve\nLikes tea", "the call was run once"
        kinds = [m["message_type"].removesuffix("_message") for m in await api.history(agent)]
        assert kinds == ["user", "approval_request", "approval_response", "tool_return", "assistant"]
    model.verify()


async def test_cancelled_while_nobody_runs_it_the_stream_still_ends(
    servers: Servers, model: ScriptedModel
) -> None:
    gate = Gate()
    dying, living = await servers.both()
    async with open_api(living.base_url) as api:
        agent = await api.create_agent()
        model.script(INSERT, says("Never heard").held(gate))
        run_id = await begin(dying, agent, "I like tea")
        await gate.reached.wait()
        dying.kill()
        assert (await post(living, f"/agents/{agent}/messages/cancel", run_ids=[run_id])).json() == {
            run_id: "cancelled"
        }
        gate.open()
        frames = read_frames(await follow(living, run_id))
        assert [frame.kind for frame in frames[-3:]] == ["stop_reason", "usage_statistics", "[DONE]"]
        assert frames[-3]["stop_reason"] == "cancelled"
        model.script(says("Here I am."))
        async with asyncio.timeout(WITHIN_S):
            assert await api.ask(agent, "Are you there?") == "Here I am."
    model.verify()
