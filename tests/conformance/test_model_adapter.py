"""What every model adapter promises to the loop, tried over real sockets."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

import pytest
from tests.support.keepers import Keeper
from tests.support.requests import config, message, request, returned, stored, tool
from tests.support.script import Line
from tests.support.scripted_model import (
    Gate,
    ScriptedModel,
    SeenRequest,
    calls,
    calls_raw,
    fails,
    hangs_up,
    redacts,
    says,
    sends,
    thinks,
)

from remanence.core.llm import (
    Delta,
    Finished,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from remanence.core.reply import ReplyBuilder
from remanence.errors import (
    BadReply,
    ContextOverflow,
    ModelUnavailable,
    ProviderAuth,
    ProviderCredits,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from remanence.kit import json
from remanence.llm.adapters import Adapters
from remanence.llm.failures import CutConnection
from remanence.llm.ports import ModelAdapter
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor

MakeAdapter = Callable[..., ModelAdapter]


async def collect(
    adapter: ModelAdapter, asked: ModelRequest | None = None, *, into: list[Delta] | None = None
) -> list[Delta]:
    received: list[Delta] = [] if into is None else into
    async with asyncio.timeout(10):
        async for batch in adapter.stream(asked or request()):
            received.extend(batch)
    return received


def text_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls_of(deltas: Sequence[Delta]) -> list[tuple[str | None, str | None, Any]]:
    """Id, name and arguments of each call; arguments that are no JSON as they are."""
    found: dict[int, tuple[str | None, str | None, str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            call_id, name, arguments = found.get(delta.index, (None, None, ""))
            found[delta.index] = (call_id or delta.id, name or delta.name, arguments + delta.arguments)
    return [(id, name, _read(text)) for _, (id, name, text) in sorted(found.items())]


def _read(arguments: str) -> Any:
    try:
        return json.decode(arguments)
    except ValueError:
        return arguments


def thoughts_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def finished(deltas: Sequence[Delta]) -> Finished:
    last = deltas[-1]
    assert isinstance(last, Finished)
    assert not any(isinstance(delta, Finished) for delta in deltas[:-1])
    return last


async def test_text_arrives_in_pieces_and_ends_with_finished(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(says("The tea is ready."))
    deltas = await collect(adapter)
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == [
        "The ",
        "tea ",
        "is ",
        "ready.",
    ]
    assert finished(deltas).reason == "stop"
    assert finished(deltas).request_id == "req-1"


async def test_the_request_carries_messages_tools_and_key(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(says("Hi"))
    asked = request(
        message("system", "Be kind."), message("user", "Hello"), tools=[tool("lookup", query="string")]
    )
    await collect(adapter, asked)
    seen = model.last
    assert seen.system == "Be kind."
    assert seen.last_user == "Hello"
    assert seen.tool_names == ["lookup"]
    assert any(value.removeprefix("Bearer ") == "sk-secret" for value in seen.headers.values())
    assert seen.is_stream


async def test_the_payload_shown_is_the_payload_sent(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(says("Hi"))
    asked = request(message("user", "Hello"), tools=[tool("lookup", query="string")])
    await collect(adapter, asked)
    assert adapter.payload(asked) == model.last.body


async def test_a_tool_call_arrives_with_its_id_name_and_arguments(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(calls("memory_replace", label="human", new="Likes tea, and a long walk in the evening"))
    deltas = await collect(adapter)
    expected = {"label": "human", "new": "Likes tea, and a long walk in the evening"}
    assert calls_of(deltas) == [("call_1_0", "memory_replace", expected)]
    assert finished(deltas).reason == "tool_calls"


async def test_parallel_calls_stay_apart(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(says("Two things.") + calls("first", at=1) + calls("second", at=2))
    deltas = await collect(adapter)
    assert text_of(deltas) == "Two things."
    assert calls_of(deltas) == [("call_1_0", "first", {"at": 1}), ("call_1_1", "second", {"at": 2})]


async def test_reasoning_is_told_apart_from_text(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(thinks("Let me see.") + says("Four."))
    deltas = await collect(adapter)
    assert thoughts_of(deltas) == "Let me see."
    assert text_of(deltas) == "Four."


async def test_usage_is_reported_with_what_was_cached_and_reasoned(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    model.script(says("Four.").counting(prompt=100, completion=7, cached=64, reasoning=5, written=20))
    assert finished(await collect(adapter)).usage == Usage(
        prompt_tokens=100,
        completion_tokens=7,
        total_tokens=107,
        cached_input_tokens=64,
        cache_write_tokens=20 if keeper.counts_writes else None,
        reasoning_tokens=5,
    )


async def test_an_answer_cut_at_the_limit_says_so(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(says("Once upon").finishing("length"))
    assert finished(await collect(adapter)).reason == "length"


async def test_a_whole_reply_where_a_stream_was_asked_for_is_one_batch(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script((thinks("Hm.") + says("All at once.") + calls("look", at=1)).whole())
    batches = [batch async for batch in adapter.stream(request())]
    assert len(batches) == 1
    assert text_of(batches[0]) == "All at once."
    assert calls_of(batches[0]) == [("call_1_0", "look", {"at": 1})]
    assert finished(batches[0]).usage.completion_tokens > 0


async def test_what_arrives_together_comes_together(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    model.script(keeper.burst(50))
    batches = [batch async for batch in adapter.stream(request())]
    assert len(batches) <= 2
    assert text_of([delta for batch in batches for delta in batch]) == "a" * 50


async def test_a_broken_argument_text_is_passed_on_as_it_is(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    if keeper.writes_arguments:
        model.script(calls_raw("look", '{"at": ', call_id="call_x"))
        assert calls_of(await collect(adapter)) == [("call_x", "look", '{"at": ')]


async def test_a_call_without_arguments_has_empty_ones(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(calls("look"))
    assert calls_of(await collect(adapter)) == [("call_1_0", "look", {})]


@pytest.mark.parametrize("forced", [None, "speak"])
async def test_a_call_can_be_forced(model: ScriptedModel, adapter: ModelAdapter, forced: str | None) -> None:
    model.script(calls("speak", text="Hi"))
    tools = [tool("look", at="string"), tool("speak", text="string")]
    await collect(adapter, request(tools=tools, tool_choice="required", forced_tool=forced))
    said = json.encode_text(
        model.last.body.get("tool_choice") or model.last.body["toolConfig"]["functionCallingConfig"]
    )
    assert ("speak" in said) is (forced is not None)
    assert forced or any(word in said for word in ("required", "any", "ANY"))


async def test_an_answer_that_was_filtered_says_so(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(says("I would").finishing("content_filter"))
    deltas = await collect(adapter)
    assert text_of(deltas) == "I would"
    assert finished(deltas).reason == "content_filter"


async def test_an_empty_answer_is_an_answer(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(Line())
    deltas = await collect(adapter)
    assert deltas == [finished(deltas)]


@pytest.mark.parametrize("at_once", [1, 7])
async def test_an_answer_may_be_cut_at_any_byte(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper, at_once: int
) -> None:
    """The bytes of an answer in pieces of this size, as a slow line brings them."""
    line = thinks("Hm, naïve 茶.", signature="sig") + says("Grüße 😀\n\ndata: x") + calls("look", at="茶")
    seen = SeenRequest({"model": keeper.model}, {}, "", [], [], "")
    whole = b"".join(keeper.wire.frames(line, seen, 1))
    pieces = [whole[at : at + at_once] for at in range(0, len(whole), at_once)]
    model.script(sends(*pieces), sends(whole))
    slow, quick = await collect(adapter), await collect(adapter)
    assert thoughts_of(slow) == thoughts_of(quick) == "Hm, naïve 茶."
    assert text_of(slow) == text_of(quick) == "Grüße 😀\n\ndata: x"
    assert calls_of(slow) == calls_of(quick) == [("call_1_0", "look", {"at": "茶"})]


async def test_thoughts_go_back_to_the_model_that_had_them(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    if keeper.format == "chat":
        return  # the format has no place for them
    line = thinks("I must look.", signature="sig-1")
    if keeper.format != "gemini":  # it redacts nothing
        line += redacts("blob")
    model.script(line + calls_raw("look", '{"at": 1}', signature="sig-2"), says("Done."), says("Done."))
    asked = config(keeper.model, max_reasoning_tokens=1024, max_tokens=8_000)
    builder = ReplyBuilder()
    builder.add(await collect(adapter, request(message("user", "Look"), config=asked)))
    reply = builder.build()
    history = stored(
        message("user", "Look"),
        message("assistant", content=reply.content, tool_calls=reply.calls, model=keeper.model),
        message("tool", tool_returns=(returned(reply.calls[0].id, "look", "a cup"),)),
    )
    await collect(adapter, request(*history, config=asked))
    sent = json.encode_text(model.last.body)
    marks = {"responses": ("sig-1", "blob"), "anthropic": ("sig-1", "blob"), "gemini": ("sig-1", "sig-2")}
    assert all(mark in sent for mark in marks[keeper.format]), sent

    other = asked.model_copy(update={"model": f"{keeper.model}-b"})
    await collect(adapter, request(*history, config=other))
    sent = json.encode_text(model.last.body)
    assert not any(mark in sent for mark in ("sig-1", "sig-2", "blob")), sent


async def test_the_beginning_of_a_request_stays_as_it_was(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    """What providers keep of a prompt they find again only if no byte before it has changed."""
    first = [message("system", "Be kind."), message("user", "Hello")]
    model.script(says("Hi"), says("Fine"))
    await collect(adapter, request(*first))
    later = [*first, message("assistant", "Hi"), message("user", "How are you?")]
    await collect(adapter, request(*later))

    def without_marks(seen: SeenRequest) -> str:
        content = seen.body.get("messages") or seen.body.get("input") or seen.body["contents"]
        return json.encode_text(content).replace(',"cache_control":{"type":"ephemeral"}', "")

    assert without_marks(model.journal[1]).startswith(without_marks(model.journal[0])[:-1])


@pytest.mark.parametrize(
    "failure",
    [
        fails(429),
        fails(500),
        fails(503, "<html><body>Busy</body></html>"),
        fails(408),
        fails(409),
        hangs_up(),
    ],
    ids=["429", "500", "503", "408", "409", "hang-up"],
)
async def test_a_passing_failure_is_tried_again(
    model: ScriptedModel, adapter: ModelAdapter, failure: Any
) -> None:
    model.script(failure, failure, says("At last."))
    assert text_of(await collect(adapter)) == "At last."
    assert len(model.journal) == 3


async def test_a_connection_cut_before_the_first_token_is_tried_again(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(says("Never mind").cut(), says("Here."))
    assert text_of(await collect(adapter)) == "Here."


async def test_an_error_inside_a_stream_before_the_first_token_is_tried_again(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    model.script(keeper.busy(), says("Here."))
    assert text_of(await collect(adapter)) == "Here."


async def test_three_tries_are_enough(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(*[fails(500, {"error": {"message": "The engine is down"}})] * 3)
    with pytest.raises(ProviderError, match="The engine is down") as caught:
        await collect(adapter)
    assert caught.value.status == 500
    assert len(model.journal) == 3


async def test_nothing_is_tried_again_after_the_first_token(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(says("One two three").cut(after=2))
    received: list[Delta] = []
    with pytest.raises(CutConnection):
        await collect(adapter, into=received)
    assert text_of(received).startswith("One")
    assert len(model.journal) == 1


async def test_a_stream_that_ends_early_is_an_error(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    model.script(keeper.half())
    with pytest.raises(CutConnection):
        await collect(adapter)


async def test_the_wait_that_a_provider_asks_for_is_kept(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(fails(429, retry_after="0.2"), says("Now."))
    started = asyncio.get_running_loop().time()
    await collect(adapter)
    assert asyncio.get_running_loop().time() - started >= 0.2


async def test_a_wait_beyond_reason_is_told_instead_of_waited(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(fails(429, {"error": {"message": "Come back tomorrow"}}, retry_after="86400"))
    with pytest.raises(RateLimited, match="Come back tomorrow") as caught:
        await collect(adapter)
    assert caught.value.retry_after_s == 86400


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (fails(400, {"error": {"message": "Unknown field"}}), ProviderRefused),
        (fails(401, {"error": {"message": "Bad key sk-secret"}}), ProviderAuth),
        (fails(402, {"error": {"message": "No funds"}}), ProviderCredits),
        (fails(429, {"error": {"message": "No funds", "code": "insufficient_quota"}}), ProviderCredits),
        (sends("<html>Log in to the hotel</html>", content_type="text/html"), BadReply),
        (sends("data: {nonsense\n\n"), BadReply),
    ],
)
async def test_a_lasting_failure_is_told_at_once(
    model: ScriptedModel, adapter: ModelAdapter, failure: Any, expected: type[ProviderError]
) -> None:
    model.script(failure)
    with pytest.raises(expected) as caught:
        await collect(adapter)
    assert "sk-secret" not in str(caught.value)
    assert len(model.journal) == 1


async def test_a_prompt_that_does_not_fit_is_told(
    model: ScriptedModel, adapter: ModelAdapter, keeper: Keeper
) -> None:
    model.script(keeper.overflow)
    with pytest.raises(ContextOverflow):
        await collect(adapter)


async def test_a_server_that_is_not_there_is_unavailable(model: ScriptedModel, adapter: ModelAdapter) -> None:
    await model.stop()
    with pytest.raises(ModelUnavailable, match="No connection to openai"):
        await collect(adapter)


async def test_a_model_that_never_begins_times_out(model: ScriptedModel, make_adapter: MakeAdapter) -> None:
    gate = Gate()
    model.script(says("Too late").held(gate))
    with pytest.raises(ProviderTimeout):
        await collect(make_adapter(first_token_s=0.1))
    await model.journal[0].hung_up.wait()


async def test_headers_alone_are_not_a_first_token(model: ScriptedModel, make_adapter: MakeAdapter) -> None:
    gate = Gate()
    model.script(sends(": still thinking\n\n", "data: [DONE]\n\n").paused(gate, after=1))
    with pytest.raises(ProviderTimeout, match="no word"):
        await collect(make_adapter(first_token_s=0.4))
    await model.journal[0].hung_up.wait()


async def test_a_model_that_falls_silent_times_out(model: ScriptedModel, make_adapter: MakeAdapter) -> None:
    gate = Gate()
    model.script(says("One two").paused(gate, after=1))
    received: list[Delta] = []
    with pytest.raises(ProviderTimeout, match="fell silent"):
        await collect(make_adapter(idle_s=0.1), into=received)
    assert text_of(received) == "One "


async def test_a_slow_reader_is_not_a_silent_model(model: ScriptedModel, make_adapter: MakeAdapter) -> None:
    model.script(says("One two three"))
    received: list[Delta] = []
    async for batch in make_adapter(idle_s=0.1).stream(request()):
        received.extend(batch)
        await asyncio.sleep(0.15)
    assert text_of(received) == "One two three"


async def test_closing_the_iterator_closes_the_connection(
    model: ScriptedModel, adapter: ModelAdapter
) -> None:
    gate = Gate()
    model.script(says("One two three").paused(gate, after=1))
    async with aclosing(cast("Any", adapter.stream(request()))) as batches:
        await anext(batches)
    await model.journal[0].hung_up.wait(timeout_s=2)


async def test_cancelling_closes_the_connection(model: ScriptedModel, adapter: ModelAdapter) -> None:
    gate = Gate()
    model.script(says("Too late").held(gate))
    task = asyncio.create_task(collect(adapter))
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.journal[0].hung_up.wait(timeout_s=2)


async def test_connections_are_used_again(model: ScriptedModel, adapter: ModelAdapter) -> None:
    ports: set[object] = set()
    model.on_connection = ports.add
    model.script(*[says("Hi")] * 5)
    for _ in range(5):
        await collect(adapter)
    assert len(ports) == 1


async def test_a_prompt_of_several_megabytes_is_sent(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.script(says("Long."))
    await collect(adapter, request(message("user", "word " * 500_000), config=config()))
    assert len(model.last.last_user) == 2_500_000


async def test_a_hundred_answers_stream_at_once(model: ScriptedModel, adapter: ModelAdapter) -> None:
    model.responder = lambda seen: says(f"Echo {seen.last_user}")
    asked = [request(message("user", str(number))) for number in range(100)]
    answers = await asyncio.gather(*(collect(adapter, each) for each in asked))
    assert [text_of(each) for each in answers] == [f"Echo {number}" for number in range(100)]


async def test_a_server_of_ones_own_may_take_its_time_while_it_lives(
    model: ScriptedModel, transports: Callable[..., Transport]
) -> None:
    """Before the headers, as Ollama waits, and after them, as llama.cpp does."""
    asked = Adapters(transports(first_token_s=0.05))
    adapter = asked.get("chat", get_vendor("ollama"), model.base_url, None, "ollama")
    early, late = Gate(), Gate()
    model.script(says("One").held(early), sends(": thinking\n\n", *_words("Two")).paused(late, after=1))
    for number, gate in enumerate((early, late)):
        task = asyncio.create_task(collect(adapter))
        await gate.reached.wait()
        await model.lists_asked(2 * (number + 1))
        gate.open()
        assert text_of(await task) == ("One", "Two")[number]


async def test_a_server_of_ones_own_that_died_is_not_waited_for(
    model: ScriptedModel, transports: Callable[..., Transport]
) -> None:
    asked = Adapters(transports(first_token_s=0.05))
    adapter = asked.get("chat", get_vendor("ollama"), model.base_url, None, "ollama")
    model.script(says("Never").held(Gate()))
    model.refuses_lists = True
    with pytest.raises(ProviderTimeout):
        await collect(adapter)


def _words(text: str) -> list[str]:
    piece = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    return [f"data: {json.encode_text(piece)}\n\ndata: [DONE]\n\n"]


async def test_a_model_that_takes_no_tools_gets_them_in_writing(
    model: ScriptedModel, transports: Callable[..., Transport]
) -> None:
    adapter = Adapters(transports()).get("chat", get_vendor("ollama"), model.base_url, None, "ollama")
    refusal = fails(400, {"error": {"message": "registry.ollama.ai/library/gemma does not support tools"}})
    printed = says('<tool_call>\n{"name": "look", "arguments": {"at": "tea"}}\n</tool_call>')
    model.script(refusal, printed, printed)
    asked = request(message("user", "Look"), tools=[tool("look", at="string")])
    for _ in range(2):
        [(_, name, arguments)] = calls_of(await collect(adapter, asked))
        assert (name, arguments) == ("look", {"at": "tea"})
    assert ["tools" in seen.body for seen in model.journal] == [True, False, False]
    assert "look" in model.last.system


async def test_a_call_that_a_server_does_not_force_is_held_to_its_schema(
    model: ScriptedModel, transports: Callable[..., Transport]
) -> None:
    """Found out once, and the words that were no call are seen by nobody."""
    adapter = Adapters(transports()).get("chat", get_vendor("llamacpp"), model.base_url, None, "llamacpp")
    written = says('{"name": "look", "arguments": {"at": "tea"}}')
    model.script(says("Hello! What shall I look at?"), written, written)
    tools = [tool("look", at="string"), tool("speak", text="string")]
    asked = request(message("user", "Hi"), tools=tools, tool_choice="required", forced_tool="look")
    for _ in range(2):
        deltas = await collect(adapter, asked)
        [(_, name, arguments)] = calls_of(deltas)
        assert (name, arguments, text_of(deltas)) == ("look", {"at": "tea"}, "")
    assert [seen.body.get("tool_choice") for seen in model.journal] == ["required", None, None]
    schema = model.last.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["name"] == {"const": "look"}


async def test_a_server_that_takes_no_schema_is_asked_in_words(
    model: ScriptedModel, transports: Callable[..., Transport]
) -> None:
    adapter = Adapters(transports()).get("chat", get_vendor("llamacpp"), model.base_url, None, "llamacpp")
    refusal = fails(400, {"error": {"message": "response_format is not supported"}})
    model.script(says("Hello!"), refusal, says('{"name": "look", "arguments": {"at": "tea"}}'))
    asked = request(message("user", "Hi"), tools=[tool("look", at="string")], tool_choice="required")
    [(_, name, _)] = calls_of(await collect(adapter, asked))
    assert name == "look"
    assert "response_format" not in model.last.body


@pytest.mark.parametrize(
    ("vendor", "name", "told"),
    [
        ("fireworks", "some-model", {"prompt_cache_key": "agent-1"}),
        ("azure", "gpt-4o", {"prompt_cache_key": "agent-1"}),
        ("openrouter", "anthropic/claude-sonnet-4.5", {"cache_control": {"type": "ephemeral"}}),
        ("openrouter", "openai/gpt-4o", {}),
        ("openai", "gpt-4o", {}),  # elsewhere than at OpenAI it may be refused
        ("xai", "grok-4", {}),
    ],
)
async def test_a_conversation_finds_its_warm_cache_in_each_vendors_way(
    model: ScriptedModel, transports: Callable[..., Transport], vendor: str, name: str, told: dict[str, Any]
) -> None:
    adapter = Adapters(transports()).get("chat", get_vendor(vendor), model.base_url, "k", vendor)
    model.script(says("Hi"))
    await collect(adapter, request(message("user", "Hi"), config=config(name), cache_key="agent-1"))
    sent = {key: value for key, value in model.last.body.items() if "cache" in key}
    assert sent == told
    assert model.last.headers.get("x-grok-conv-id") == ("agent-1" if vendor == "xai" else None)
