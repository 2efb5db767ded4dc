"""What is sent to Anthropic, OpenAI Responses and Gemini, letter by letter and case by case."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.keepers import KEEPERS
from tests.support.requests import config, message, request, returned, tool

from remanence.core.llm import ModelRequest, ResponseFormat
from remanence.core.message import Base64Image, ImagePart, ReasoningPart, TextPart, ToolCall, ToolReturn
from remanence.kit.json import JsonObject
from remanence.llm.adapters import Adapters
from remanence.llm.claude_models import version_of
from remanence.llm.gemini_schema import gemini_schema
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor

LOOK = tool("look", at="string")
CALL = ToolCall(id="call:1", name="look", arguments='{"at": "tea"}')
IMAGE = ImagePart(source=Base64Image(media_type="image/png", data="QUJD"))


def payload(format: str, asked: ModelRequest) -> JsonObject:
    keeper = next(each for each in KEEPERS if each.format == format)
    adapters = Adapters(Transport())
    vendor = get_vendor(keeper.vendor)
    return adapters.get(keeper.format, vendor, vendor.base_url, None, keeper.vendor).payload(asked)


def talk(model: str, **fields: Any) -> ModelRequest:
    """A turn of tools in the middle of which a model is asked, with an image that a tool returned."""
    seen = ToolReturn(
        tool_call_id="call:1", name="look", status="error", content=(TextPart(text="hot"), IMAGE)
    )
    return request(
        message("system", "Be kind."),
        message("user", "Look!"),
        message("assistant", "A moment.", tool_calls=(CALL,), model=fields.pop("spoken_by", model)),
        message("tool", tool_returns=(seen,)),
        **{"config": config(model, max_tokens=4_000, temperature=0.5), "tools": [LOOK]} | fields,
    )


def test_a_request_to_anthropic() -> None:
    assert payload("anthropic", talk("claude-sonnet-4-5")) == snapshot(
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 4000,
            "stream": True,
            "temperature": 0.5,
            "tools": [
                {
                    "name": "look",
                    "description": "Does look",
                    "input_schema": {
                        "type": "object",
                        "properties": {"at": {"type": "string"}},
                        "required": ["at"],
                    },
                }
            ],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "Look!", "cache_control": {"type": "ephemeral"}}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "A moment."},
                        {
                            "type": "tool_use",
                            "id": "call_efa422ffb186d365ad80ccdc",
                            "name": "look",
                            "input": {"at": "tea"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "call_efa422ffb186d365ad80ccdc",
                            "content": [
                                {"type": "text", "text": "hot"},
                                {
                                    "type": "image",
                                    "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
                                },
                            ],
                            "cache_control": {"type": "ephemeral"},
                        }
                    ],
                },
            ],
        }
    )


def test_a_request_over_responses() -> None:
    assert payload("responses", talk("gpt-5-mini", cache_key="agent-1")) == snapshot(
        {
            "model": "gpt-5-mini",
            "stream": True,
            "store": False,
            "max_output_tokens": 4000,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"summary": "auto"},
            "prompt_cache_key": "agent-1",
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "description": "Does look",
                    "parameters": {
                        "type": "object",
                        "properties": {"at": {"type": "string"}},
                        "required": ["at"],
                    },
                    "strict": False,
                }
            ],
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            "input": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Look!"},
                {"role": "assistant", "content": "A moment."},
                {
                    "type": "function_call",
                    "call_id": "call_efa422ffb186d365ad80ccdc",
                    "name": "look",
                    "arguments": '{"at": "tea"}',
                },
                {
                    "type": "function_call_output",
                    "call_id": "call_efa422ffb186d365ad80ccdc",
                    "output": [
                        {"type": "input_text", "text": "hot"},
                        {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"},
                    ],
                },
            ],
        }
    )


def test_a_request_to_gemini() -> None:
    assert payload("gemini", talk("gemini-2.5-flash")) == snapshot(
        {
            "generationConfig": {
                "temperature": 0.5,
                "maxOutputTokens": 4000,
                "thinkingConfig": {"includeThoughts": True},
            },
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": "look",
                            "description": "Does look",
                            "parametersJsonSchema": {
                                "type": "object",
                                "properties": {"at": {"type": "string"}},
                                "required": ["at"],
                            },
                        }
                    ]
                }
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Look!"}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "A moment."},
                        {
                            "functionCall": {
                                "id": "call_efa422ffb186d365ad80ccdc",
                                "name": "look",
                                "args": {"at": "tea"},
                            }
                        },
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "call_efa422ffb186d365ad80ccdc",
                                "name": "look",
                                "response": {"error": "hot"},
                            }
                        }
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"text": "What look returned:"},
                        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
                    ],
                },
            ],
        }
    )


@pytest.mark.parametrize(
    ("model", "fields", "thinking"),
    [
        ("claude-sonnet-4-5", {}, {"type": "enabled", "budget_tokens": 1_024}),
        ("claude-opus-4-6", {}, {"type": "adaptive"}),
        ("claude-opus-5", {}, {"type": "adaptive", "display": "summarized"}),
        ("claude-3-5-haiku-latest", {}, None),
        ("claude-opus-5", {"tools": [LOOK], "tool_choice": "required"}, None),
    ],
)
def test_each_generation_of_claude_is_asked_to_think_in_its_own_way(
    model: str, fields: JsonObject, thinking: JsonObject | None
) -> None:
    asked = config(model, max_reasoning_tokens=1_000, max_tokens=8_000, temperature=1.5)
    sent = payload("anthropic", request(config=asked, **fields))
    assert sent.get("thinking") == thinking
    takes_temperature = thinking is None and version_of(model) < (4, 7)
    assert sent.get("temperature") == (1.0 if takes_temperature else None)


def test_claude_does_not_think_in_the_middle_of_a_turn_that_began_without_thoughts() -> None:
    asked = config("claude-sonnet-4-5", max_reasoning_tokens=1_024, max_tokens=8_000)
    assert "thinking" not in payload("anthropic", talk("claude-sonnet-4-5", config=asked))
    thought = ReasoningPart(is_native=True, reasoning="Hm.", signature="sig")
    begun = request(
        message("user", "Look!"),
        message("assistant", content=(thought,), tool_calls=(CALL,), model="claude-sonnet-4-5"),
        message("tool", tool_returns=(returned("call:1", "look", "a cup"),)),
        config=asked,
        tools=[LOOK],
    )
    assert payload("anthropic", begun)["thinking"]["type"] == "enabled"


def test_histories_that_begin_or_end_with_the_agent_get_the_turns_that_are_missing() -> None:
    asked = [message("system", "Be kind."), message("assistant", "Hello."), message("approval")]
    for format, key in (("anthropic", "messages"), ("gemini", "contents")):
        turns = payload(format, request(*asked, config=config("some-model")))[key]
        assert [turn["role"] for turn in turns] == ["user", turns[1]["role"], "user"]


def test_calls_of_another_model_are_excused_from_geminis_signatures() -> None:
    for model, mark in (
        ("gemini-3-flash-preview", "skip_thought_signature_validator"),
        ("gemini-2.5-pro", None),
    ):
        parts = payload("gemini", talk(model, spoken_by="gpt-4o"))["contents"][1]["parts"]
        assert parts[-1].get("thoughtSignature") == mark


def test_schemas_keep_what_gemini_understands() -> None:
    given: JsonObject = {
        "type": "object",
        "$schema": "x",
        "properties": {
            "kind": {"const": "a"},
            "when": {"type": "string", "format": "date-time", "pattern": "x"},
            "mail": {"type": "string", "format": "email"},
            "one": {"oneOf": [{"type": "string"}, {"$ref": "#/definitions/Two"}]},
            "all": {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}], "default": {}},
        },
        "definitions": {"Two": {"type": "array", "items": {"type": "string", "minLength": 1}}},
    }
    assert gemini_schema(given) == snapshot(
        {
            "type": "object",
            "properties": {
                "kind": {"enum": ["a"]},
                "when": {"type": "string", "format": "date-time"},
                "mail": {"type": "string"},
                "one": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Two"}]},
                "all": {"type": "object", "properties": {"a": {"type": "integer"}}},
            },
            "$defs": {"Two": {"type": "array", "items": {"type": "string"}}},
        }
    )


def test_answers_are_held_to_a_schema_in_each_format() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wanted = ResponseFormat(type="json_schema", json_schema={"name": "n", "schema": schema})
    closed = schema | {"additionalProperties": False}
    claude = payload("anthropic", request(config=config("claude-sonnet-5"), response_format=wanted))
    assert claude["output_config"] == {"format": {"type": "json_schema", "schema": closed}}
    gpt = payload("responses", request(config=config("gpt-5"), response_format=wanted))
    assert gpt["text"] == {"format": {"type": "json_schema", "name": "n", "schema": schema}}
    gemini = payload("gemini", request(config=config("gemini-2.5-pro"), response_format=wanted))
    assert gemini["generationConfig"]["responseJsonSchema"] == schema
