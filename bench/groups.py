"""What several agents cost: a round of a group, and an agent's own latency while a helper tends its memory."""

import time

from bench.client import Client
from bench.figures import Figure, in_ms, median
from bench.measures import TEXT, Bench

_MEMBERS = 3


async def measure_groups(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        await _measure_round(bench, client)
        await _measure_helped(bench, client)


async def _measure_round(bench: Bench, client: Client) -> None:
    members = [await client.create_agent("bench-say") for _ in range(_MEMBERS)]
    group = await client.post("/groups/", {"agent_ids": members, "description": ""})
    path = f"/groups/{group['id']}/messages"
    times: list[float] = []
    for _ in range(bench.scaled(100, 3)):
        began = time.perf_counter()
        answer = await client.post(path, {"input": TEXT})
        times.append(time.perf_counter() - began)
        assert answer["usage"]["step_count"] == _MEMBERS, answer
    bench.figures["group_round"] = in_ms(times)


async def _measure_helped(bench: Bench, client: Client) -> None:
    """By turns, so that both meet the same machine; a visit follows every other turn of the helped one."""
    plain, helped = [
        await client.create_agent("bench-say", include_base_tool_rules=False, **more)
        for more in ({}, {"enable_sleeptime": True})
    ]
    agent = await client.get(f"/agents/{helped}", include="agent.managed_group")
    every = {"manager_config": {"sleeptime_agent_frequency": 2}}
    await client.patch(f"/groups/{agent['managed_group']['id']}", every)
    times: dict[str, list[float]] = {plain: [], helped: []}
    for _ in range(bench.scaled(200, 4)):
        for agent_id, found in times.items():
            found.append(await client.timed_send(agent_id, TEXT))
    visits = await client.get("/runs/", agent_id=agent["managed_group"]["agent_ids"][0], limit=1000)
    assert len(visits) == len(times[helped]) // 2, len(visits)
    bench.figures["helped"] = in_ms(times[helped])
    bench.figures["helped_over"] = Figure((median(times[helped]) - median(times[plain])) * 1000)
