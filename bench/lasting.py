"""The measurements of runs that outlive their clients: reading a stream again, many at once, and what is kept."""

import asyncio
import time
from typing import TYPE_CHECKING

from bench.client import Client
from bench.figures import Figure, in_ms
from bench.processes import cpu_s, memory_mib
from bench.seeding import database_bytes

if TYPE_CHECKING:
    from bench.measures import Bench

TEXT = "Tell me about your day in the garden, from the beginning."
_TOKENS = 200
_MODEL = f"bench-tokens-{_TOKENS}"
_LOOK_S = 0.02


async def measure_background(bench: "Bench") -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        await _measure_resume(bench, client)
        await _measure_drain(bench, client)
        await _measure_event_log(bench, client)


async def _measure_resume(bench: "Bench", client: Client) -> None:
    """To the first frame behind the last of many, as a client sees it that was cut off."""
    agent = await client.create_agent(_MODEL)
    run = await client.post(f"/agents/{agent}/messages/async", {"input": TEXT, "stream_tokens": True})
    await _drained(client)
    times: list[float] = []
    for _ in range(bench.scaled(100, 5)):
        began = time.perf_counter()
        rest = await client.first_bytes(f"/runs/{run['id']}/stream", {"starting_after": _TOKENS - 2})
        times.append(time.perf_counter() - began)
        assert rest.startswith(b"data: "), rest[:200]
    bench.figures["resume"] = in_ms(times)


async def _measure_drain(bench: "Bench", client: Client) -> None:
    """Many runs at once, each of an agent of its own, until the last is over."""
    count = bench.scaled(200, 6)
    agents = [await client.create_agent("bench-steps") for _ in range(count)]
    began = time.perf_counter()
    await asyncio.gather(
        *(client.post(f"/agents/{agent}/messages/async", {"input": TEXT}) for agent in agents)
    )
    await _drained(client)
    bench.figures["drain"] = Figure(time.perf_counter() - began)
    bench.figures["drain_memory"] = Figure(memory_mib(bench.server.pid))
    failed = [run for run in await client.get("/runs/", limit=count) if run["status"] != "completed"]
    if failed:
        raise RuntimeError(f"{len(failed)} of {count} runs failed: {failed[0]}")


async def _measure_event_log(bench: "Bench", client: Client) -> None:
    """What a background stream costs more than a plain one, in CPU, and what it takes on disk."""
    streams, rounds = bench.scaled(16, 2), bench.scaled(3, 1)
    spent: dict[bool, float] = {}
    before = 0
    for is_background in (False, True):
        agents = [await client.create_agent(_MODEL) for _ in range(streams)]
        before = (await database_bytes(bench.server.database_url))["all"]
        cpu = cpu_s(bench.server.pid)
        for _ in range(rounds):
            await asyncio.gather(*(client.stream(agent, TEXT, background=is_background) for agent in agents))
        spent[is_background] = cpu_s(bench.server.pid) - cpu
    written = streams * _TOKENS * rounds
    after = (await database_bytes(bench.server.database_url))["all"]
    bench.figures["event_cpu"] = Figure(max(0.0, spent[True] - spent[False]) / written * 1e6)
    bench.figures["event_bytes"] = Figure((after - before) / written)


async def _drained(client: Client) -> None:
    while await client.get("/runs/", active="true", limit=1):  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(_LOOK_S)
