"""What is sent beside the messages, vendor by vendor and model by model."""

from typing import Any

import pytest
from tests.support.requests import config, request, tool

from remanence.core.llm import ReasoningEffort, ResponseFormat, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.chat_options import make_options
from remanence.llm.openai_models import fitting_effort, is_reasoning_model
from remanence.llm.vendors import VENDORS, find_vendor, get_vendor

TOOLS = [tool("look", at="string"), tool("speak", text="string")]


def options(vendor: str = "openai", **fields: Any) -> JsonObject:
    return make_options(request(**fields), get_vendor(vendor).quirks, takes_cache_key=True)


def test_a_plain_request_to_openai() -> None:
    assert options(config=config(max_tokens=100, temperature=0.3)) == {
        "model": "gpt-4o-mini",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
        "temperature": 0.3,
    }


def test_a_request_with_tools() -> None:
    sent = options(tools=[TOOLS[0]], parallel_tool_calls=True, cache_key="agent-1")
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {"name": "look", "description": "Does look", "parameters": TOOLS[0].parameters},
        }
    ]
    assert sent["tool_choice"] == "auto"
    assert sent["parallel_tool_calls"] is True
    assert sent["prompt_cache_key"] == "agent-1"


def test_without_tools_nothing_is_said_about_them() -> None:
    sent = options(tool_choice="required", forced_tool="look", parallel_tool_calls=True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & sent.keys()


def test_a_tool_can_be_forced() -> None:
    assert options(tools=TOOLS, tool_choice="required")["tool_choice"] == "required"
    assert options(tools=TOOLS, tool_choice="none")["tool_choice"] == "none"
    forced = options(tools=TOOLS, tool_choice="required", forced_tool="speak")
    assert forced["tool_choice"] == {"type": "function", "function": {"name": "speak"}}
    assert len(forced["tools"]) == 2


def test_where_no_tool_can_be_named_the_others_are_left_out() -> None:
    sent = options("lmstudio", tools=TOOLS, tool_choice="required", forced_tool="speak")
    assert sent["tool_choice"] == "required"
    assert [each["function"]["name"] for each in sent["tools"]] == ["speak"]


def test_where_nothing_can_be_forced_the_choice_is_the_models() -> None:
    assert options("zai", tools=TOOLS, tool_choice="required")["tool_choice"] == "auto"
    assert "tools" not in options("zai", tools=TOOLS, tool_choice="none")


def test_deepseek_thinks_unless_a_tool_is_forced() -> None:
    deepseek = config("deepseek-chat", model_endpoint_type="deepseek")
    assert "thinking" not in options("deepseek", config=deepseek, tools=TOOLS)
    forced = options("deepseek", config=deepseek, tools=TOOLS, tool_choice="required")
    assert forced["tool_choice"] == "required"
    assert forced["thinking"] == {"type": "disabled"}
    calm = config("deepseek-chat", model_endpoint_type="deepseek", enable_reasoner=False)
    assert options("deepseek", config=calm)["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    "model", ["o1", "o3", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5-mini", "gpt-5.1"]
)
def test_reasoning_models_get_effort_in_place_of_temperature(model: str) -> None:
    assert is_reasoning_model(model)
    sent = options(
        config=config(model, reasoning_effort="low", frequency_penalty=0.5, max_tokens=10), tools=TOOLS
    )
    assert not {"temperature", "frequency_penalty", "max_tokens"} & sent.keys()
    assert sent["reasoning_effort"] == "low"
    assert sent["max_completion_tokens"] == 10
    assert ("parallel_tool_calls" in sent) is not model.startswith("o")


@pytest.mark.parametrize(
    "model", ["gpt-4o-mini", "gpt-4.1", "gpt-5-chat-latest", "chatgpt-4o-latest", "o-other"]
)
def test_other_models_get_temperature_and_no_effort(model: str) -> None:
    sent = options(config=config(model, reasoning_effort="high", verbosity="low", frequency_penalty=0.5))
    assert sent["temperature"] == 1.0
    assert sent["frequency_penalty"] == 0.5
    assert not {"reasoning_effort", "verbosity"} & sent.keys()


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("o3", "minimal", "low"),
        ("o3", "none", "low"),
        ("o3", "xhigh", "high"),
        ("gpt-5", "none", "minimal"),
        ("gpt-5-mini", "minimal", "minimal"),
        ("gpt-5.1", "minimal", "none"),
        ("gpt-5.1", "none", "none"),
    ],
)
def test_an_effort_that_a_model_does_not_know_becomes_the_nearest(
    model: str, asked: ReasoningEffort, sent: str
) -> None:
    assert fitting_effort(model, asked) == sent


def test_verbosity_goes_to_the_family_that_knows_it() -> None:
    assert options(config=config("gpt-5", verbosity="low"))["verbosity"] == "low"


def test_response_formats() -> None:
    schema: JsonObject = {"type": "object", "properties": {}}
    envelope: JsonObject = {"name": "answer", "schema": schema, "strict": True}

    def sent(**fields: Any) -> Any:
        return options(response_format=ResponseFormat(**fields)).get("response_format")

    assert sent(type="text") is None
    assert sent(type="json_object") == {"type": "json_object"}
    assert sent(type="json_schema", json_schema=envelope) == {"type": "json_schema", "json_schema": envelope}
    assert sent(type="json_schema", json_schema=schema) == {
        "type": "json_schema",
        "json_schema": {"name": "response", "schema": schema},
    }
    assert options(config=config(response_format=ResponseFormat(type="json_object")))["response_format"] == {
        "type": "json_object"
    }


def test_strict_is_asked_for_where_it_changes_nothing_but_the_certainty() -> None:
    optional = ToolSpec("maybe", "Maybe", {"type": "object", "properties": {"a": {"type": "string"}}})
    sent = options(tools=[TOOLS[0], optional], config=config(strict=True))["tools"]
    assert sent[0]["function"]["strict"] is True
    assert sent[0]["function"]["parameters"]["additionalProperties"] is False
    assert "strict" not in sent[1]["function"]
    assert sent[1]["function"]["parameters"] == optional.parameters
    assert "additionalProperties" not in TOOLS[0].parameters


def test_vendors_get_only_what_they_take() -> None:
    sent = options("mistral", config=config("mistral-large", max_tokens=5), tools=TOOLS)
    assert "stream_options" not in sent
    assert sent["max_tokens"] == 5
    assert "parallel_tool_calls" not in options("deepseek", tools=TOOLS)
    assert "strict" not in options("groq", tools=TOOLS, config=config(strict=True))["tools"][0]["function"]


def test_vendors_are_found_by_name_and_alias() -> None:
    assert find_vendor("openai-proxy") is find_vendor("openai")
    assert find_vendor("lmstudio-chatcompletions") is find_vendor("lmstudio_openai")
    assert find_vendor("nobody") is None
    assert len({vendor.name for vendor in VENDORS}) == len(VENDORS)
