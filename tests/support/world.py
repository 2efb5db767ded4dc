"""A server that is killed and started again, for tests that go on beyond its death, and how it is talked to."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TypeVar

from bench.chaos.line import Line, open_line
from bench.chaos.records import Lane
from bench.chaos.script import SENSOR, answer, body_of, steps_of
from bench.chaos.warm import Life, WarmServers
from tests.support.databases import Databases
from tests.support.scripted_model import ScriptedModel
from tests.support.waiting import until

from remanence.kit.json import JsonObject

T = TypeVar("T")
WITHIN_S = 30


class World:
    """One database and its server, which is killed and started again."""

    def __init__(self, databases: Databases, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.model = ScriptedModel.start_in_thread()
        self.model.responder = answer
        self._servers = WarmServers(databases.fresh(), folder, model_url=self.model.base_url)
        self._life: Life | None = None
        self._connections = AsyncExitStack()
        self.line: Line
        """To the server that is alive."""
        self.run(self._servers.open())
        self.run(self._start())

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 2 * WITHIN_S))

    async def _start(self) -> None:
        self._life = await self._servers.start()
        self.line = await self._connections.enter_async_context(
            open_line(self._life.base_url, timeout_s=WITHIN_S)
        )

    async def die(self) -> None:
        assert self._life is not None
        self._life.kill()
        await self._life.death

    async def die_and_rise(self) -> None:
        await self.die()
        await self._start()

    def close(self) -> None:
        self.run(self.die())
        self.run(self._connections.aclose())
        self.run(self._servers.close())
        self.model.stop_thread()
        self.loop.close()


async def make_agent(line: Line, *, is_gated: bool) -> str:
    body: JsonObject = {
        "model": "openai/gpt-4o-mini",
        "memory_blocks": [{"label": "human", "value": "Name: Eve", "limit": 100_000}],
        "include_base_tool_rules": False,
        "tool_rules": [{"type": "requires_approval", "tool_name": "memory_insert"}] if is_gated else [],
        "parallel_tool_calls": True,
    }
    return (await line.post("/agents/", body))["id"]


async def read_stream(
    line: Line,
    lane: Lane,
    text: str,
    options: JsonObject,
    count: int | None = None,
    then: Callable[[], Awaitable[None]] | None = None,
) -> tuple[bytes, int]:
    """A stream and how many frames of it were read: all, or so many, and then something happens."""
    path = lane.path + ("" if lane.conversation else "/stream")
    read, number = b"", 0
    async with aclosing(line.stream(path, body_of(text) | options | {"streaming": True})) as frames:
        async for frame in frames:
            read += frame
            number += 1
            if number == count:
                break
        if then is not None:
            await then()
    return read, number


async def resume_stream(line: Line, run_id: str, after: int) -> bytes:
    body = {"starting_after": after}
    return b"".join([frame async for frame in line.stream(f"/runs/{run_id}/stream", body)])


def answer_body(ids: list[str], lane: Lane, *, approves: bool, text: str) -> JsonObject:
    status = "success" if approves else "error"
    is_client = any(name == "read_sensor" for name in _names(text, ids))
    items: list[JsonObject] = [
        {"type": "tool", "tool_call_id": id, "tool_return": "21", "status": status}
        if is_client
        else {"type": "approval", "tool_call_id": id, "approve": approves}
        for id in ids
    ]
    return {"messages": [{"type": "approval", "approvals": items}], "client_tools": [SENSOR]}


def _names(text: str, ids: list[str]) -> list[str]:
    return [name for step in steps_of(text) for id, name in step if id in ids]


async def nothing_is_open(line: Line) -> None:
    async def holds() -> bool:
        return not await line.get("/runs/", active="true", limit=100)

    await until(holds, WITHIN_S)
