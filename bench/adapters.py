"""CPU of our adapters beside the vendors' own clients: per call, and per streamed token.

The scripted model runs in a process of its own, so that only the caller's CPU is counted.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.keepers import KEEPERS, Keeper
from tests.support.requests import config, message, request, tool

from bench.figures import Figure
from bench.measures import Bench
from remanence.core.llm import ModelRequest
from remanence.kit.json import JsonObject
from remanence.llm.adapters import Adapters
from remanence.llm.ports import ModelAdapter
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor

_CALLS, _WARM = 60, 10
_SHORT, _LONG = 1, 400

Ask = Callable[[], Coroutine[Any, Any, None]]


@contextmanager
def scripted(tokens: int) -> Iterator[str]:
    """The address of a model that answers with so many tokens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.scripted_model", "--tokens", str(tokens)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip().removesuffix("/v1")
    finally:
        process.kill()
        process.wait()


def conversation(keeper: Keeper) -> ModelRequest:
    history = [message("user", "How is the garden?"), message("assistant", "It rained.")] * 10
    return request(
        message("system", "Be kind. " * 200),
        *history,
        message("user", "And now?"),
        config=config(keeper.model, max_tokens=4_000),
        tools=[tool("look", at="string"), tool("speak", text="string")],
    )


def ours(adapter: ModelAdapter, asked: ModelRequest) -> Ask:
    async def ask() -> None:
        async for _ in adapter.stream(asked):
            pass

    return ask


def theirs(keeper: Keeper, address: str, body: JsonObject) -> Ask:
    import anthropic  # here, because they take seconds to load and nothing else needs them
    import openai
    from google import genai

    client: Any
    match keeper.format:
        case "chat":
            client = openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="sk").chat.completions
        case "responses":
            client = openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="sk").responses
        case "anthropic":
            client = anthropic.AsyncAnthropic(base_url=address, api_key="sk").messages
            body.pop("temperature", None)  # which the client knows no more
        case "gemini":
            client = genai.Client(
                api_key="sk", http_options=genai.types.HttpOptions(base_url=address, api_version="v1beta")
            )

    async def ask() -> None:
        async for _ in await client.create(**body):
            pass

    async def ask_gemini() -> None:
        options = body["generationConfig"] | {"system_instruction": body["systemInstruction"]}
        options |= {"tools": body["tools"], "tool_config": body["toolConfig"]}
        async for _ in await client.aio.models.generate_content_stream(
            model=keeper.model, contents=body["contents"], config=options
        ):
            pass

    return ask_gemini if keeper.format == "gemini" else ask


async def cpu_us(ask: Ask) -> float:
    for _ in range(_WARM):
        await ask()
    started = time.process_time()
    for _ in range(_CALLS):
        await ask()
    return (time.process_time() - started) / _CALLS * 1e6


async def measure(tokens: int) -> dict[str, tuple[float, float]]:
    figures: dict[str, tuple[float, float]] = {}
    transport = Transport()
    with scripted(tokens) as address:
        for keeper in KEEPERS:
            asked, vendor = conversation(keeper), get_vendor(keeper.vendor)
            adapter = Adapters(transport).get(keeper.format, vendor, f"{address}{keeper.root}", "sk", "bench")
            sdk = theirs(keeper, address, adapter.payload(asked))
            figures[keeper.format] = (await cpu_us(ours(adapter, asked)), await cpu_us(sdk))
    await transport.close()
    return figures


async def measure_adapters(bench: Bench) -> None:
    """Not for a quick look: loading the vendors' clients takes longer than all the rest of one."""
    if bench.is_quick:
        return
    warnings.simplefilter("ignore")
    known = _once()
    if not known:
        known.extend([await measure(_SHORT), await measure(_LONG)])
    short, long = known
    for name in short:
        tokens = [(b - a) / (_LONG - _SHORT) for a, b in zip(short[name], long[name], strict=True)]
        for what, (ours_us, theirs_us) in (("call", short[name]), ("token", tokens)):
            note = f"{ours_us:.1f} µs, the vendor's client {theirs_us:.1f}"
            bench.figures[f"{name}_{what}"] = Figure(ours_us / theirs_us * 100, note=note)


@cache
def _once() -> list[dict[str, tuple[float, float]]]:
    """The database makes no difference, so that both get the same figures."""
    return []
