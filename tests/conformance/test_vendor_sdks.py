"""Both sides of the wire are held to the vendors' own clients.

They read what our scripted model answers, and send, given what we send, the same request.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from anthropic import AsyncAnthropic
from google import genai
from google.genai import types
from openai import AsyncOpenAI
from tests.support.keepers import Keeper
from tests.support.requests import config, message, request, returned, tool
from tests.support.scripted_model import ScriptedModel, calls, says, thinks

from remanence.core.llm import ModelRequest
from remanence.core.message import (
    Base64Image,
    ImagePart,
    ReasoningPart,
    ReasoningSummary,
    SummarizedReasoningPart,
    TextPart,
    ToolCall,
)
from remanence.kit.json import JsonObject
from remanence.llm.ports import ModelAdapter

Heard = tuple[str, str, list[tuple[str, Any]], int]
"""Thoughts, words, calls, and tokens of the prompt."""


def conversation(keeper: Keeper) -> ModelRequest:
    thought = {
        "responses": SummarizedReasoningPart(
            id="rs_1", summary=(ReasoningSummary(index=0, text="I look."),), encrypted_content="sig-1"
        )
    }.get(keeper.format, ReasoningPart(is_native=True, reasoning="I look.", signature="c2ln"))
    call = ToolCall(id="call_1", name="look", arguments='{"at": "tea"}', signature="c2ln")
    return request(
        message("system", "Be kind."),
        message("user", content=(TextPart(text="What is this?"), ImagePart(source=IMAGE))),
        message(
            "assistant",
            content=(thought, TextPart(text="A moment.")),
            tool_calls=(call,),
            model=keeper.model,
        ),
        message("tool", tool_returns=(returned("call_1", "look", '{"status": "OK", "message": "a cup"}'),)),
        message("user", "And now?"),
        config=config(keeper.model, max_tokens=4_000, max_reasoning_tokens=2_000, temperature=0.5),
        tools=[tool("look", at="string")],
        parallel_tool_calls=True,
    )


IMAGE = Base64Image(media_type="image/png", data="iVBORw0KGgo=")


async def ask_chat(address: str, body: JsonObject) -> Heard:
    words, found, tokens = "", dict[int, tuple[str, str]](), 0
    thoughts = ""
    client: Any
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="sk") as client:
        async for chunk in await client.chat.completions.create(**body):
            for choice in chunk.choices:
                words += choice.delta.content or ""
                thoughts += getattr(choice.delta, "reasoning_content", None) or ""
                for call in choice.delta.tool_calls or ():
                    name, arguments = found.get(call.index, ("", ""))
                    found[call.index] = (
                        name + (call.function.name or ""),
                        arguments + (call.function.arguments or ""),
                    )
            tokens = chunk.usage.prompt_tokens if chunk.usage else tokens
    return thoughts, words, list(found.values()), tokens


async def ask_responses(address: str, body: JsonObject) -> Heard:
    client: Any
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="sk") as client:
        events: list[Any] = [event async for event in await client.responses.create(**body)]
    last = events[-1].response
    items = last.output
    thoughts = "".join(part.text for item in items if item.type == "reasoning" for part in item.summary)
    found = [(item.name, item.arguments) for item in items if item.type == "function_call"]
    return thoughts, last.output_text, found, last.usage.input_tokens


async def ask_anthropic(address: str, body: JsonObject) -> Heard:
    body.pop("stream")
    client: Any
    stream: Any
    async with (
        AsyncAnthropic(base_url=address, api_key="sk") as client,
        client.messages.stream(**body) as stream,
    ):
        said = await stream.get_final_message()
    thoughts = "".join(block.thinking for block in said.content if block.type == "thinking")
    words = "".join(block.text for block in said.content if block.type == "text")
    found = [(block.name, block.input) for block in said.content if block.type == "tool_use"]
    return thoughts, words, found, said.usage.input_tokens


async def ask_gemini(address: str, body: JsonObject) -> Heard:
    client: Any = genai.Client(
        api_key="sk", http_options=types.HttpOptions(base_url=address, api_version="v1beta")
    )
    asked = types.GenerateContentConfig.model_validate(
        body["generationConfig"] | {key: body[key] for key in ("tools", "toolConfig", "systemInstruction")}
    )
    contents = [types.Content.model_validate(each) for each in body["contents"]]
    thoughts = words = ""
    found: list[tuple[str, Any]] = []
    tokens = 0
    async for chunk in await client.aio.models.generate_content_stream(
        model="gemini-2.5-flash", contents=contents, config=asked
    ):
        for part in chunk.candidates[0].content.parts or ():
            if part.function_call:
                found.append((str(part.function_call.name), part.function_call.args))
            elif part.thought:
                thoughts += part.text or ""
            else:
                words += part.text or ""
        tokens = chunk.usage_metadata.prompt_token_count if chunk.usage_metadata else tokens
    await client.aio.aclose()
    return thoughts, words, found, tokens


ASK: dict[str, Callable[[str, JsonObject], Any]] = {
    "chat": ask_chat,
    "responses": ask_responses,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
}


# Their own matters: models that end one day, and a class that aiohttp would rather not see inherited from.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_vendors_client_reads_our_answers_and_sends_our_request(
    keeper: Keeper, model: ScriptedModel, adapter: ModelAdapter
) -> None:
    model.script(
        (thinks("Hm.", signature="c2ln") + says("Two things.") + calls("look", at="tea")).counting(prompt=42)
    )
    body = adapter.payload(conversation(keeper))
    thoughts, words, found, tokens = await ASK[keeper.format](model.base_url.removesuffix("/v1"), dict(body))
    assert (thoughts, words, tokens) == ("Hm.", "Two things.", 42)
    assert [name for name, _ in found] == ["look"]
    assert "tea" in str(found[0][1])
    assert _camel(model.last.body) == body if keeper.format == "gemini" else model.last.body == body


def _camel(value: Any) -> Any:
    """Google takes its names in either spelling, and its client uses both."""
    match value:
        case dict():
            fields = cast("JsonObject", value).items()
            return {
                re.sub(r"_(\w)", lambda found: found[1].upper(), key): _camel(each) for key, each in fields
            }
        case list():
            return [_camel(each) for each in cast("list[Any]", value)]
        case _:
            return value
