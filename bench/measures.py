"""The measurements, each a function over one running server."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from tests.support.server_process import ServerProcess

from bench.client import Client, Failed, open_client
from bench.figures import Figure, in_ms, median, percentile
from bench.lasting import measure_background
from bench.processes import ModelProcess, Storage, cpu_s, memory_mib
from bench.seeding import Talk, database_bytes, seed_history

TEXT = "I had a long day in the garden, and tomorrow my sister comes to visit from Marseille."


@dataclass
class Bench:
    """One database, one server, and what has been found out so far."""

    storage: Storage
    model: ModelProcess
    folder: Path
    is_quick: bool
    figures: dict[str, Figure] = field(default_factory=dict[str, Figure])
    _server: ServerProcess | None = None

    @property
    def server(self) -> ServerProcess:
        if self._server is None:
            self._server = self.new_server().start()
        return self._server

    def new_server(self) -> ServerProcess:
        folder = self.folder / f"server-{self.storage.kind}-{time.monotonic_ns()}"
        folder.mkdir()
        return ServerProcess(self.storage.fresh(), folder, model_url=self.model.base_url, is_cold=True)

    def restart(self) -> None:
        self.note_memory()
        code = self.server.stop()
        if code != 0:
            raise RuntimeError(f"the server ended with {code}:\n{self.server.log[-2000:]}")
        self.server.start()

    def note_memory(self) -> None:
        used = memory_mib(self.server.pid)
        before = self.figures.get("memory_loaded")
        self.figures["memory_loaded"] = Figure(max(used, before.value if before else 0))

    def close(self) -> None:
        if self._server is not None and self._server.is_running:
            self._server.stop()

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Client]:
        async with open_client(self.server.base_url) as client:
            yield client

    def scaled(self, count: int, quick: int) -> int:
        return quick if self.is_quick else count

    async def warm_up(self, client: Client) -> None:
        """Compiles the statements and opens the connections that the first requests need."""
        for model in ("bench-say", "bench-steps"):
            agents = await asyncio.gather(*(client.create_agent(model) for _ in range(self.scaled(4, 1))))
            for _ in range(self.scaled(8, 1)):
                await asyncio.gather(*(client.send(agent, TEXT) for agent in agents))


async def measure_start(bench: Bench) -> None:
    """Alone with an empty database, so that it comes first and leaves nothing behind."""
    server = bench.new_server()
    began = time.perf_counter()
    server.start()
    bench.figures["start_first"] = Figure(time.perf_counter() - began)
    times: list[float] = []
    idle: list[float] = []
    cpu: list[float] = []
    for _ in range(bench.scaled(5, 1)):
        server.stop()
        began = time.perf_counter()
        server.start()
        times.append(time.perf_counter() - began)
        cpu.append(cpu_s(server.pid))
        await asyncio.sleep(bench.scaled(1, 0))  # what is done right after the start counts as idle too
        idle.append(memory_mib(server.pid))
    server.stop()
    bench.figures["start"] = Figure(median(times), max(times))
    bench.figures["start_cpu"] = Figure(median(cpu), max(cpu))
    bench.figures["memory_idle"] = Figure(median(idle))


async def measure_agents(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        agents: list[str] = []
        times: list[float] = []
        for _ in range(bench.scaled(200, 5)):
            began = time.perf_counter()
            agents.append(await client.create_agent("bench-say"))
            times.append(time.perf_counter() - began)
        bench.figures["create"] = in_ms(times)
        bench.figures["get"] = in_ms(await _timed(bench.scaled(300, 10), client, f"/agents/{agents[0]}"))
        while len(agents) < bench.scaled(1000, 20):
            agents += await asyncio.gather(*(client.create_agent("bench-say") for _ in range(8)))
        bench.figures["list"] = in_ms(await _timed(bench.scaled(100, 5), client, "/agents/", limit=50))


async def measure_message(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        for model, steps, count in (("bench-say", 1, 400), ("bench-steps", 3, 150)):
            agent = await client.create_agent(model)
            await _check_tools(client, agent, steps)
            count = bench.scaled(count, 6)
            cpu = cpu_s(bench.server.pid)
            times = [await client.timed_send(agent, TEXT) for _ in range(count)]
            spent = cpu_s(bench.server.pid) - cpu
            bench.figures[f"message_{steps}"] = in_ms(times)
            bench.figures[f"cpu_{steps}"] = Figure(spent / count * 1000)


async def measure_crowds(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        for model, steps, each in (("bench-say", 1, 40), ("bench-steps", 3, 15)):
            lanes = bench.scaled(32, 3)
            agents = [await client.create_agent(model) for _ in range(lanes)]
            each = bench.scaled(each, 1)

            async def lane(agent: str, count: int) -> None:
                for _ in range(count):
                    await client.send(agent, TEXT)

            await asyncio.gather(*(lane(agent, 1) for agent in agents))
            cpu, began = cpu_s(bench.server.pid), time.perf_counter()
            await asyncio.gather(*(lane(agent, each) for agent in agents))
            wall, spent = time.perf_counter() - began, cpu_s(bench.server.pid) - cpu
            bench.figures[f"burst_{steps}"] = Figure(lanes * each / wall)
            if steps == 1:
                bench.figures["burst_cpu_1"] = Figure(spent / (lanes * each) * 1000)
        await _measure_crowd(bench, client)
        await _measure_queue(bench, client)


async def _measure_crowd(bench: Bench, client: Client) -> None:
    agents = [await client.create_agent("bench-say") for _ in range(bench.scaled(100, 5))]
    times: list[float] = []
    failed = 0
    for _ in range(bench.scaled(5, 1)):
        outcomes = await asyncio.gather(
            *(client.timed_send(agent, TEXT) for agent in agents), return_exceptions=True
        )
        times += [outcome for outcome in outcomes if isinstance(outcome, float)]
        failed += sum(not isinstance(outcome, float) for outcome in outcomes)
    bench.figures["crowd_failed"] = Figure(failed)
    bench.figures["crowd"] = Figure(percentile(times, 0.95) * 1000 if times else float("inf"))


async def _measure_queue(bench: Bench, client: Client) -> None:
    """All eight must stand in the next prompt, each followed by its answer, in the order of their runs."""
    agent = await client.create_agent("bench-journal")
    await client.send(agent, "before")
    texts = [f"number {index} {TEXT}" for index in range(8)]
    await asyncio.gather(*(client.send(agent, text) for text in texts))
    await _journal(bench)
    await client.send(agent, "after")
    prompt = orjson.loads((await _journal(bench))[0])["messages"]
    runs = await client.get("/runs/", agent_id=agent, order="asc", limit=100)
    arrived = [await client.get(f"/runs/{run['id']}/messages", limit=1) for run in runs[1:9]]
    expected = [messages[0]["content"] for messages in arrived]
    said = [each["content"] for each in prompt if each["role"] == "user"][1:-1]
    answered = [
        prompt[at + 1]["role"] == "assistant" for at, each in enumerate(prompt[:-1]) if each["role"] == "user"
    ]
    right = sum(mine == theirs for mine, theirs in zip(said, expected, strict=False))
    if sorted(said) != sorted(texts) or not all(answered):
        right = min(right, 7)
    bench.figures["queue"] = Figure(right)


async def measure_streams(bench: Bench) -> None:
    async with bench.client() as client:
        await bench.warm_up(client)
        agent = await client.create_agent("bench-say")
        firsts = [await client.stream(agent, TEXT) for _ in range(bench.scaled(100, 3))]
        bench.figures["first_token"] = in_ms([first for first, _ in firsts])
        agents = [await client.create_agent("bench-tokens-200") for _ in range(bench.scaled(16, 2))]
        await asyncio.gather(*(client.stream(agent, TEXT) for agent in agents))
        cpu, began, tokens = cpu_s(bench.server.pid), time.perf_counter(), 0
        for _ in range(bench.scaled(15, 1)):
            streams = await asyncio.gather(*(client.stream(agent, TEXT) for agent in agents))
            tokens += sum(count for _, count in streams)
        wall, spent = time.perf_counter() - began, cpu_s(bench.server.pid) - cpu
        bench.figures["tokens"] = Figure(tokens / wall)
        bench.figures["token_cpu"] = Figure(spent / tokens * 1e6)


async def measure_history(bench: Bench) -> None:
    sizes = {10: bench.scaled(10, 10), 500: bench.scaled(500, 20), 2000: bench.scaled(2000, 30)}
    copies = bench.scaled(7, 1)
    held: dict[int, list[str]] = {}
    async with bench.client() as client:
        for name, size in sizes.items():
            held[name] = [await client.create_agent("bench-say") for _ in range(copies)]
            for agent in held[name]:
                await seed_history(bench.server.database_url, agent, size, in_window=True)
    bench.restart()
    async with bench.client() as client:
        await bench.warm_up(client)
        for name, agents in held.items():
            cold = [await client.timed_send(agent, TEXT) for agent in agents]
            warm = [await client.timed_send(agents[0], TEXT) for _ in range(bench.scaled(100, 3))]
            bench.figures[f"history_{name}"] = in_ms(warm)
            bench.figures[f"history_cold_{name}"] = in_ms(cold)


async def measure_search(bench: Bench) -> None:
    """The tool as the model calls it; the time is what the step has on record for its tool."""
    talk = Talk()
    async with bench.client() as client:
        await bench.warm_up(client)
        for name, size in (("1k", bench.scaled(1_000, 50)), ("10k", bench.scaled(10_000, 100))):
            agent = await client.create_agent("bench-search")
            await seed_history(bench.server.database_url, agent, size, in_window=False, talk=talk)
            await _check_tools(client, agent, 2)
            await _wait_for_vectors(client, agent)
            times: list[float] = []
            for _ in range(bench.scaled(40, 2)):
                answer = await client.send(agent, f"{talk.query(2, True)} {talk.query(2, False)}")
                step_id = answer["messages"][0]["step_id"]
                metrics = await client.get(f"/steps/{step_id}/metrics")
                times.append(metrics["tool_execution_ns"] / 1e9)
            bench.figures[f"search_{name}"] = in_ms(times)


async def measure_archives(bench: Bench) -> None:
    """Passages inserted one by one and searched through the API, with the embedded model at work."""
    talk = Talk()
    async with bench.client() as client:
        agent = await client.create_agent("bench-say")
        path = f"/agents/{agent}/archival-memory"
        stored = await client.post(path, {"text": talk.sentence()})
        archive = stored[0]["archive_id"]
        held = 1
        for name, size in (("1k", bench.scaled(1_000, 50)), ("10k", bench.scaled(10_000, 100))):
            while held < size:
                batch = [{"text": talk.sentence()} for _ in range(min(500, size - held))]
                await client.post(f"/archives/{archive}/passages/batch", {"passages": batch})
                held += len(batch)
            searches: list[float] = []
            for _ in range(bench.scaled(40, 2)):
                query = f"{talk.query(2, True)} {talk.query(2, False)}"
                searches += await _timed(1, client, f"{path}/search", query=query)
            bench.figures[f"archival_search_{name}"] = in_ms(searches)
        inserts: list[float] = []
        for _ in range(bench.scaled(60, 2)):
            began = time.perf_counter()
            await client.post(path, {"text": talk.sentence()})
            inserts.append(time.perf_counter() - began)
        bench.figures["archival_insert"] = in_ms(inserts)


async def _wait_for_vectors(client: Client, agent: str) -> None:
    while (await client.get(f"/agents/{agent}/embedding"))["waiting"]:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0.05)


async def measure_prefix(bench: Bench) -> None:
    async with bench.client() as client:
        await _journal(bench)
        agent = await client.create_agent("bench-journal")
        for turn in range(bench.scaled(30, 4)):
            if turn % 5 == 4:
                value = {"value": f"Noted in turn {turn}: {TEXT[:80]}"}
                await client.patch(f"/agents/{agent}/core-memory/blocks/human", value)
            await client.send(agent, f"This is turn {turn}. {TEXT}")
    prompts = [_as_seen(orjson.loads(body)) for body in await _journal(bench)]
    shares = [_common(before, after) / len(before) * 100 for before, after in pairwise(prompts)]
    bench.figures["prefix_mean"] = Figure(sum(shares) / len(shares))
    bench.figures["prefix_least"] = Figure(min(shares))


async def measure_bytes(bench: Bench) -> None:
    """What the database grows by, indexes, runs, steps and search included, while agents are spoken to.

    Vectors are told apart: how large they are is the embedding model's choice.
    """
    talk = Talk()
    async with bench.client() as client:
        lanes = bench.scaled(16, 4)
        agents = [await client.create_agent("bench-say") for _ in range(lanes)]

        async def load(each: int) -> None:
            for _ in range(each):
                await asyncio.gather(*(client.send(agent, talk.sentence()) for agent in agents))

        url = bench.server.database_url
        await load(bench.scaled(30, 2))
        before = await database_bytes(url)
        await load(bench.scaled(60, 2))
        after = await database_bytes(url)
    messages = 2 * lanes * bench.scaled(60, 2)
    grown = {name: (size - before.get(name, 0)) / messages for name, size in after.items()}
    vectors = sum(size for name, size in grown.items() if "search_vectors" in name)
    total = grown.pop("all") - vectors
    largest = sorted(grown.items(), key=lambda item: -item[1])[:6]
    note = ", ".join(f"{name} {size:.0f}" for name, size in largest if size >= 1)
    bench.figures["bytes"] = Figure(total, note=note or None)


async def measure_memory(bench: Bench) -> None:
    async with bench.client() as client:
        if "memory_loaded" not in bench.figures:
            await bench.warm_up(client)
    bench.note_memory()


Measure = Callable[[Bench], Coroutine[Any, Any, None]]
MEASURES: dict[str, Measure] = {
    "start": measure_start,
    "agents": measure_agents,
    "message": measure_message,
    "crowds": measure_crowds,
    "streams": measure_streams,
    "background": measure_background,
    "history": measure_history,
    "search": measure_search,
    "archives": measure_archives,
    "prefix": measure_prefix,
    "bytes": measure_bytes,
    "memory": measure_memory,
}


async def _timed(count: int, client: Client, path: str, **query: Any) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        await client.fetch(path, **query)
        times.append(time.perf_counter() - began)
    return times


async def _check_tools(client: Client, agent: str, steps: int) -> None:
    answer = await client.send(agent, TEXT)
    returns = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    if answer["usage"]["step_count"] != steps or any(each["status"] != "success" for each in returns):
        said = [each["tool_return"] for each in returns]
        raise Failed(f"{answer['usage']['step_count']} steps instead of {steps}; tools returned {said}")


async def _journal(bench: Bench) -> list[str]:
    """The requests that the model got since it was last asked."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(bench.model.base_url.removesuffix("/v1") + "/journal") as response,
    ):
        return orjson.loads(await response.read())


def _as_seen(body: dict[str, Any]) -> bytes:
    """In the order in which providers put it before the model: tools, then messages."""
    messages: Sequence[object] = body["messages"]
    return orjson.dumps(body.get("tools")) + b"".join(orjson.dumps(each) for each in messages)


def _common(before: bytes, after: bytes) -> int:
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
