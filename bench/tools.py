"""What tools cost: a call of one's own, many at once, one of an MCP server, and packages to install first."""

import asyncio
import sys
import time
from typing import Any

from tests.support import mcp_tiny

from bench.client import Client
from bench.figures import Figure, in_ms
from bench.measures import Bench

_SOURCE = 'def f(n: int):\n    """F.\n\n    Args:\n        n: A number.\n    """\n    return n + 1\n'


async def measure_tools(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        tool = await client.post("/tools/", {"source_code": _SOURCE})
        agent = await client.create_agent("bench-say", tool_ids=[tool["id"]])
        await _call(client, agent)
        times: list[float] = []
        for _ in range(bench.scaled(200, 5)):
            began = time.perf_counter()
            await _call(client, agent)
            times.append(time.perf_counter() - began)
        bench.figures["tool_call"] = in_ms(times)
        count = bench.scaled(300, 10)
        began = time.perf_counter()
        for _ in range(count // 50 or 1):
            await asyncio.gather(*(_call(client, agent) for _ in range(min(50, count))))
        done = (count // 50 or 1) * min(50, count)
        bench.figures["tool_rate"] = Figure(done / (time.perf_counter() - began))
        await _measure_mcp(bench, client)
        if not bench.is_quick:
            await _measure_cold(bench, client)


async def _call(client: Client, agent: str) -> None:
    answer = await client.post(f"/agents/{agent}/tools/f/run", {"args": {"n": 1}})
    assert answer["func_return"] == 2, answer


async def _measure_mcp(bench: Bench, client: Client) -> None:
    config = {"mcp_server_type": "stdio", "command": sys.executable, "args": ["-S", mcp_tiny.__file__]}
    server = await client.post("/mcp-servers/", {"server_name": "tiny", "config": config})
    tools = await client.get(f"/mcp-servers/{server['id']}/tools")
    path = f"/mcp-servers/{server['id']}/tools/{next(t['id'] for t in tools if t['name'] == 'add')}/run"
    times: list[float] = []
    for _ in range(bench.scaled(300, 5)):
        began = time.perf_counter()
        answer = await client.post(path, {"args": {"a": 1, "b": 1}})
        times.append(time.perf_counter() - began)
        assert answer["func_return"] == "2", answer
    bench.figures["mcp_call"] = in_ms(times)


async def _measure_cold(bench: Bench, client: Client) -> None:
    wanted = [{"name": "iniconfig", "version": "2.0.0"}]
    body: dict[str, Any] = {"source_code": _SOURCE, "args": {"n": 1}, "pip_requirements": wanted}
    began = time.perf_counter()
    answer = await client.post("/tools/run", body)
    spent = time.perf_counter() - began
    note = None if answer["status"] == "success" else "could not be installed"
    bench.figures["tool_cold"] = Figure(spent, note=note)
