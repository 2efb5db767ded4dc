"""The promises of the embedded model, kept by the smallest one: what it says is of no matter here."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.support.local_talk import CONFIG, DICE, HEARTBEAT_TOOLS, V1_TOOLS, request, said, system

from remanence.core.llm import Delta, Finished, ModelRequest, TextDelta, ToolCallDelta
from remanence.core.reply import Reply, ReplyBuilder
from remanence.errors import BadReply, ModelUnavailable
from remanence.kit import json
from remanence.llm.local.adapter import LocalAdapter
from remanence.llm.local.engine import Ask, Engine, EngineOptions, Outcome
from remanence.llm.local.prompting import warming_prompt
from remanence.llm.local.source import LocalModels, is_engine_installed
from remanence.llm.local.weights import find_small_weights

SMALL = find_small_weights()

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(SMALL is None or not is_engine_installed(), reason="needs the extra `local`"),
]

ENDLESS = Ask("Count: 1, 2, 3,", max_tokens=2000, schema={"type": "string", "minLength": 5000})
MEMORY = {"persona": "I am brief.", "human": "Name: Chad"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    assert SMALL is not None
    engine = Engine(SMALL, tmp_path_factory.mktemp("states"), EngineOptions(loop_penalty=0.8))
    yield engine
    await engine.close()


@pytest.fixture
def adapter(engine: Engine) -> LocalAdapter:
    async def find_engine(name: str) -> Engine:
        return engine

    return LocalAdapter(find_engine)


def short(request: ModelRequest, tokens: int = 12) -> ModelRequest:
    config = CONFIG.model_copy(update={"max_tokens": tokens})
    return ModelRequest(config, request.messages, request.tools, request.tool_choice, request.forced_tool, cache_key=request.cache_key)  # fmt: skip


def chat(text: str = "Hello!", **options: Any) -> ModelRequest:
    return short(request(system(MEMORY), said("user", text), **options))


def plain(text: str = "Hello!", key: str = "") -> ModelRequest:
    """A short question without tools."""
    return short(request(said("system", "Be brief."), said("user", text), tools=(), cache_key=key))


async def collect(adapter: LocalAdapter, request: ModelRequest) -> list[Sequence[Delta]]:
    return [batch async for batch in adapter.stream(request)]


def fold(batches: list[Sequence[Delta]]) -> Reply:
    builder = ReplyBuilder()
    for batch in batches:
        builder.add(batch)
    return builder.build()


async def read_out(pieces: AsyncIterator[str | Outcome]) -> None:
    async for _ in pieces:
        pass


async def ask(engine: Engine, ask: Ask) -> tuple[str, Outcome]:
    pieces = [piece async for piece in engine.generate(ask)]
    assert isinstance(pieces[-1], Outcome)
    return "".join(piece for piece in pieces if isinstance(piece, str)), pieces[-1]


async def test_text_streams_and_usage_is_counted(adapter: LocalAdapter) -> None:
    batches = await collect(adapter, plain("Tell me a long story about the sea."))
    deltas = [delta for batch in batches for delta in batch]
    assert len(batches) > 3
    assert all(isinstance(delta, TextDelta) for delta in deltas[:-1])
    assert isinstance(deltas[-1], Finished)
    usage = deltas[-1].usage
    assert usage.prompt_tokens > 10
    assert usage.completion_tokens >= len(batches) - 2
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


async def test_a_reply_is_unwrapped_from_its_json_as_it_comes(adapter: LocalAdapter) -> None:
    narrow = [tool for tool in V1_TOOLS if tool.name == "memory_replace"]
    batches = await collect(adapter, short(request(said("user", "Hello!"), tools=narrow)))
    words = [delta.text for batch in batches for delta in batch if isinstance(delta, TextDelta)]
    assert len(words) > 2
    assert not "".join(words).startswith("{")


async def test_a_forced_tool_is_called_with_arguments_that_fit(adapter: LocalAdapter) -> None:
    forced = chat("Roll.", tools=[*V1_TOOLS, DICE], tool_choice="required", forced_tool="roll_dice")
    reply = fold(await collect(adapter, short(forced, tokens=80)))
    (call,) = reply.calls
    assert (call.name, reply.finish) == ("roll_dice", "tool_calls")
    assert isinstance(json.decode(call.arguments)["sides"], int)


async def test_a_correction_quotes_memory(adapter: LocalAdapter) -> None:
    forced = chat("I'm Sue.", tool_choice="required", forced_tool="memory_replace")
    try:
        reply = fold(await collect(adapter, short(forced, tokens=60)))
    except BadReply:
        pytest.skip("the small model went on for too long")
    arguments = json.decode(reply.calls[0].arguments)
    assert arguments["label"] in MEMORY
    assert arguments["old_string"] in MEMORY.values()


async def test_a_heartbeat_agent_speaks_through_its_tool(adapter: LocalAdapter) -> None:
    speaking = chat(tools=HEARTBEAT_TOOLS, tool_choice="required", forced_tool="send_message")
    batches = await collect(adapter, speaking)
    calls = [delta for batch in batches for delta in batch if isinstance(delta, ToolCallDelta)]
    assert len(calls) > 3
    (call,) = fold(batches).calls
    assert call.name == "send_message"
    assert json.decode(call.arguments)["message"]


async def test_the_payload_shows_what_the_model_is_asked(adapter: LocalAdapter) -> None:
    payload = adapter.payload(chat("Hello!"))
    assert payload["prompt"].endswith("Hello!<|im_end|>\n<|im_start|>assistant\n")
    assert payload["max_tokens"] == 12


async def test_all_are_answered_though_there_are_more_than_slots(adapter: LocalAdapter) -> None:
    asked = [plain(f"Hello {n}", key=f"crowd-{n}") for n in range(5)]
    replies = await asyncio.gather(*(collect(adapter, each) for each in asked))
    assert all(fold(batches).content for batches in replies)


async def test_a_conversation_is_not_read_twice(adapter: LocalAdapter) -> None:
    first = fold(await collect(adapter, plain(key="again")))
    second = fold(await collect(adapter, plain(key="again")))
    assert second.usage.cached_input_tokens is not None
    assert second.usage.cached_input_tokens >= first.usage.prompt_tokens - 1


async def test_a_conversation_that_lost_its_slot_gets_its_state_back(adapter: LocalAdapter) -> None:
    first = fold(await collect(adapter, plain(key="lost")))
    for n in range(4):
        await collect(adapter, plain(f"Other {n}", key=f"other-{n}"))
    again = fold(await collect(adapter, plain(key="lost")))
    assert (again.usage.cached_input_tokens or 0) >= first.usage.prompt_tokens - 1


async def test_a_new_conversation_starts_from_the_shared_beginning(engine: Engine) -> None:
    prompt = warming_prompt()
    warm = Ask(prompt.text, prompt.prefix, schema=prompt.schema, max_tokens=1)
    await ask(engine, warm)
    _, fresh = await ask(engine, Ask(prompt.text + "x", prompt.prefix, max_tokens=1, key="fresh"))
    assert fresh.usage.cached_input_tokens is not None
    assert fresh.usage.prompt_tokens - fresh.usage.cached_input_tokens < 20


async def test_a_cancel_frees_the_slot(engine: Engine) -> None:
    for _ in range(6):  # twice the number of slots
        async with aclosing(engine.generate(ENDLESS)) as pieces:
            await anext(pieces)
    async with asyncio.timeout(20):
        text, outcome = await ask(engine, Ask("Hello", max_tokens=3))
    assert text
    assert outcome.is_cut


async def test_who_waits_for_a_slot_can_be_cancelled(engine: Engine) -> None:
    tasks = [asyncio.create_task(ask(engine, Ask("One, two,", max_tokens=20))) for _ in range(6)]
    await asyncio.sleep(0)
    for task in tasks[3:]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [False] * 3 + [True] * 3
    assert (await ask(engine, Ask("Hello", max_tokens=1)))[0]


async def test_a_crash_is_an_error_of_one_message(engine: Engine) -> None:
    async with aclosing(engine.generate(ENDLESS)) as pieces:
        await anext(pieces)
        assert engine.worker_pid is not None
        os.kill(engine.worker_pid, signal.SIGKILL)
        with pytest.raises(ModelUnavailable, match="stopped"):
            await read_out(pieces)
    assert (await ask(engine, Ask("Hello", max_tokens=1)))[0]


async def test_an_idle_engine_gives_its_memory_back(tmp_path: Path) -> None:
    assert SMALL is not None
    engine = Engine(SMALL, tmp_path, EngineOptions(idle_stop_s=0.05))
    await ask(engine, Ask("Hello", max_tokens=1))
    async with asyncio.timeout(10):
        while engine.is_loaded:  # noqa: ASYNC110 - the end of a process sends no event
            await asyncio.sleep(0.01)
    assert (await ask(engine, Ask("Hello", max_tokens=1)))[0]
    await engine.close()


async def test_a_file_that_is_no_model_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"nothing")
    engine = Engine(tmp_path / "bad.gguf", tmp_path)
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        await ask(engine, Ask("Hello"))
    await engine.close()


async def test_the_source_prepares_and_serves_the_small_model(tmp_path: Path) -> None:
    models = LocalModels(tmp_path, which="small")
    assert models.default_handle == "local/smollm2-135m"
    assert models.get_status(models.default_handle).state == "ready"
    await models.prepare(models.default_handle)
    info = models.find_model("smollm2-135m")
    assert info is not None
    assert models.serves(info.llm_config())
    batches = await collect(models.adapter(info.llm_config()), plain())
    assert fold(batches).content
    await models.close()
