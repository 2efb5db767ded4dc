"""Counting as the models count: held to what OpenAI published of its own API, and learned from everybody else."""

import pytest
from tests.support.requests import config, message, request, tool

from remanence.core.budget import count_exactly, request_tokens
from remanence.core.llm import ModelRequest, ToolSpec
from remanence.core.tokenizer import TokenFactors, tokenizer_of
from remanence.kit.tokens import count_tokens

# The examples of OpenAI's cookbook, with the prompt tokens that its API reported for them.
JARGON = [
    message("system", "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."),
    message("system", "New synergies will help drive top-line growth.", name="example_user"),
    message("system", "Things working well together will increase revenue.", name="example_assistant"),
    message(
        "system",
        "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        name="example_user",
    ),
    message("system", "Let's talk later when we're less busy about how to do better.", name="example_assistant"),
    message("user", "This late pivot means we don't have time to boil the ocean for the client deliverable."),
]  # fmt: skip
WEATHER_TALK = [
    message("system", "You are a helpful assistant that can answer to questions about the weather."),
    message("user", "What's the weather like in San Francisco?"),
]
WEATHER = ToolSpec(
    "get_current_weather",
    "Get the current weather in a given location",
    {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "The city and state, e.g. San Francisco, CA",
            },
            "unit": {
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        },
        "required": ["location"],
    },
)


def counted(asked: ModelRequest) -> int:
    count_exactly(asked)
    return request_tokens(asked)


@pytest.mark.parametrize(
    ("model", "talk", "with_tool"),
    [("gpt-4o", 124, 101), ("gpt-4o-mini", 124, 101), ("gpt-4", 129, 105), ("gpt-3.5-turbo", 129, 105)],
)
def test_openai_models_are_counted_as_openai_counts(model: str, talk: int, with_tool: int) -> None:
    assert counted(request(*JARGON, config=config(model))) == talk
    assert counted(request(*WEATHER_TALK, config=config(model), tools=[WEATHER])) == with_tool


@pytest.mark.parametrize(
    ("model", "table", "is_exact"),
    [
        ("gpt-5.2", "o200k_base", True),
        ("openai/o3-mini", "o200k_base", True),
        ("gpt-4-turbo-2024-04-09", "cl100k_base", True),
        ("gpt-4.1-nano", "o200k_base", True),
        ("claude-sonnet-4-5-20250929", "o200k_base", False),
        ("anthropic/claude-opus-5", "o200k_base", False),
        ("qwen3:8b", "o200k_base", False),
        ("something-new", "o200k_base", False),
    ],
)
def test_a_family_has_its_table_and_others_a_margin(model: str, table: str, is_exact: bool) -> None:
    tokenizer = tokenizer_of(config(model))
    assert tokenizer.table == table
    assert (tokenizer.margin == 1.0) is is_exact


def test_a_deployment_at_azure_counts_as_openai_does() -> None:
    deployed = config("my-deployment", model_endpoint_type="azure")
    assert tokenizer_of(deployed).margin == 1.0


def test_what_a_model_counts_is_learned_and_kept_for_it_alone() -> None:
    factors, claude = TokenFactors(), config("claude-sonnet-4-5")
    assert factors.of(claude) == tokenizer_of(claude).margin
    factors.learn(claude, reported=1_150, counted=1_000)
    assert factors.of(claude) == pytest.approx(1.15)
    assert factors.of(config("gpt-4o")) == 1.0


def test_a_rise_is_followed_at_once_and_a_fall_slowly() -> None:
    factors, model = TokenFactors(), config("gpt-4o")
    factors.learn(model, reported=1_200, counted=1_000)
    factors.learn(model, reported=1_000, counted=1_000)
    assert factors.of(model) == pytest.approx(1.14)
    factors.learn(model, reported=1_300, counted=1_000)
    assert factors.of(model) == pytest.approx(1.3)


@pytest.mark.parametrize("reported", [0, 100, 10_000])
def test_a_report_that_cannot_be_true_is_not_learned_from(reported: int) -> None:
    factors, model = TokenFactors(), config("gpt-4o")
    factors.learn(model, reported=reported, counted=1_000)
    assert factors.of(model) == 1.0


def test_schemas_within_schemas_are_counted() -> None:
    nested = {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}
    inner = ToolSpec("save", "Saves", {"type": "object", "properties": {"entries": nested}})
    flat = ToolSpec("save", "Saves", {"type": "object", "properties": {"entries": {"type": "array"}}})
    counts = [counted(request(config=config("gpt-4o"), tools=[each])) for each in (inner, flat)]
    assert counts[0] > counts[1]
    assert counted(request(config=config("claude-sonnet-4-5"), tools=[tool("look", at="string")])) > 0


def test_text_without_a_blank_is_counted_in_parts() -> None:
    """Whole, it would take a minute: merging costs the square of the length."""
    assert count_tokens("ab" * 20_000) == pytest.approx(10_000, rel=0.1)
    assert count_tokens(" " * 40_000) < 40_000
