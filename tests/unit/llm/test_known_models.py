"""The shipped table, and what providers' own lists tell."""

import pytest

from remanence.errors import BadReply
from remanence.llm.known_models import KnownModel, known_models
from remanence.llm.model_lists import ListedModel, is_language_model, read_model_list
from remanence.llm.openai_models import is_reasoning_model


def test_the_table_knows_the_models_that_must_always_resolve() -> None:
    openai = known_models("openai")
    assert openai.find("gpt-4o-mini") == KnownModel(context=128_000, output=16_384)
    assert openai.embeddings["text-embedding-3-small"] == 1_536


def test_a_dated_name_is_looked_up_without_its_date_unless_it_stands_for_itself() -> None:
    openai = known_models("openai")
    assert openai.find("gpt-4o-2024-08-06") == openai.find("gpt-4o")
    assert openai.find("gpt-4o-2024-05-13") == KnownModel(context=128_000, output=4_096)
    assert openai.find("gpt-9") is None


def test_the_table_and_the_rules_by_name_agree_on_who_reasons() -> None:
    for name, model in known_models("openai").models.items():
        assert model.reasoning is is_reasoning_model(name)


def test_nothing_is_known_of_most_vendors() -> None:
    assert not known_models("ollama").models


def test_lists_of_each_vendors_shape_are_read() -> None:
    body = {
        "data": [
            {"id": "plain"},
            {"id": "groq", "context_window": 8_192, "max_completion_tokens": 4_096},
            {"id": "vllm", "max_model_len": 32_768},
            {"id": "router", "context_length": 1_000, "top_provider": {"max_completion_tokens": 500}},
            {"id": "mistral", "max_context_length": 2_000},
            {"id": "llama.cpp", "meta": {"n_ctx_train": 4_000}},
            {"id": "vectors", "type": "embedding"},
            {"id": "claude", "display_name": "Claude", "max_input_tokens": 200_000, "max_tokens": 64_000},
            {"id": "old-claude", "lifecycle": "retired"},
            {"no": "name"},
            "odd",
        ]
    }
    assert read_model_list(body) == [
        ListedModel("plain"),
        ListedModel("groq", 8_192, 4_096),
        ListedModel("vllm", 32_768),
        ListedModel("router", 1_000, 500),
        ListedModel("mistral", 2_000),
        ListedModel("llama.cpp", 4_000),
        ListedModel("vectors", is_embedding=True),
        ListedModel("claude", 200_000, 64_000, "Claude"),
    ]
    assert read_model_list([{"id": "bare array"}]) == [ListedModel("bare array")]


@pytest.mark.parametrize("body", [None, "text", {"data": 7}, {"models": []}])
def test_a_list_of_another_shape_is_a_bad_reply(body: object) -> None:
    with pytest.raises(BadReply):
        read_model_list(body)


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "gpt-5-mini", "o3", "o4-mini", "gpt-4.1-2025-04-14", "gpt-5-pro", "gpt-5-codex", "gpt-6-sol"],
)
def test_openais_language_models_are_told_from_the_rest(name: str) -> None:
    assert is_language_model(name, is_openai=True)


@pytest.mark.parametrize(
    "name",
    ["whisper-1", "tts-1", "dall-e-3", "text-embedding-3-small", "gpt-4o-realtime-preview", "gpt-4o-audio-preview",
     "gpt-image-1", "o3-deep-research", "gpt-3.5-turbo-instruct", "omni-moderation-latest",
     "gpt-4o-mini-transcribe", "gpt-4o-search-preview", "babbage-002", "sora-2"],
)  # fmt: skip
def test_openais_other_models_are_not_offered(name: str) -> None:
    assert not is_language_model(name, is_openai=True)


def test_elsewhere_any_name_may_be_a_language_model() -> None:
    assert is_language_model("my-own-model", is_openai=False)
    assert is_language_model("qwen3:8b", is_openai=False)
    assert not is_language_model("nomic-embed-text", is_openai=False)
