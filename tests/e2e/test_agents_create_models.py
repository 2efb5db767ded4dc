"""What an agent thinks with: handles, whole configurations, settings, compaction, shapes of answers."""

from typing import Any

import pytest
from letta_client import BadRequestError, NotFoundError
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import Tenant

from remanence.kit.json import JsonObject

MODEL = "openai/gpt-4o-mini"


def refuse(tenant: Tenant, status: int, **given: Any) -> str:
    response = tenant.http.post("/v1/agents/", json=given)
    assert response.status_code == status, response.text[:500]
    assert tenant.http.get("/v1/agents/count").json() == 0
    return response.json()["detail"]


@pytest.mark.promise("agents.create.model")
def test_a_handle_becomes_a_whole_configuration(tenant: Tenant, shared_model: ScriptedModel) -> None:
    assert tenant.agent()["llm_config"] == {
        "model": "gpt-4o-mini",
        "display_name": None,
        "model_endpoint_type": "openai",
        "model_endpoint": shared_model.base_url,
        "provider_name": "openai",
        "provider_category": "base",
        "model_wrapper": None,
        "context_window": 128_000,
        "put_inner_thoughts_in_kwargs": False,
        "handle": MODEL,
        "temperature": 1.0,
        "max_tokens": 16_384,
        "enable_reasoner": False,
        "reasoning_effort": None,
        "max_reasoning_tokens": 0,
        "effort": None,
        "frequency_penalty": None,
        "compatibility_type": None,
        "verbosity": None,
        "tier": None,
        "parallel_tool_calls": False,
        "response_format": None,
        "strict": False,
        "return_logprobs": False,
        "top_logprobs": None,
        "return_token_ids": False,
        "tool_call_parser": None,
    }


@pytest.mark.promise("agents.create.model")
def test_the_proxy_spelling_of_a_handle_finds_the_same_model(tenant: Tenant) -> None:
    assert tenant.agent(model="openai-proxy/gpt-4o-mini")["llm_config"]["model"] == "gpt-4o-mini"


@pytest.mark.promise("agents.create.model-errors")
def test_a_model_that_is_not_there_is_refused_by_what_is_wrong_with_it(tenant: Tenant) -> None:
    assert refuse(tenant, 400, model="gpt-4o-mini").startswith("INVALID_ARGUMENT: ")
    assert refuse(tenant, 404, model="openai/no-such-model").startswith("NOT_FOUND: ")
    assert refuse(tenant, 404, model="nobody/gpt-4o-mini").startswith("NOT_FOUND: ")
    assert refuse(tenant, 400, model=MODEL, embedding="openai/no-such-model").startswith("INVALID_ARGUMENT: ")
    assert refuse(tenant, 400, model=MODEL, embedding="no-slash").startswith("INVALID_ARGUMENT: ")
    with pytest.raises(BadRequestError):
        tenant.sdk.agents.create(model="gpt-4o-mini")
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.create(model="openai/no-such-model")


@pytest.mark.promise("agents.create.model-errors")
def test_no_model_at_all_is_refused_where_the_server_has_no_default(tenant: Tenant) -> None:
    assert refuse(tenant, 400, name="nomodel").startswith("INVALID_ARGUMENT: ")
    assert refuse(tenant, 400, model=None).startswith("INVALID_ARGUMENT: ")
    refuse(tenant, 400, model="")


@pytest.mark.promise("agents.create.embedding")
def test_an_embedding_handle_becomes_a_whole_configuration(
    tenant: Tenant, shared_model: ScriptedModel
) -> None:
    agent = tenant.agent(embedding="openai/text-embedding-3-small")
    assert agent["embedding"] == "openai/text-embedding-3-small"
    assert agent["embedding_config"] == {
        "embedding_endpoint_type": "openai",
        "embedding_endpoint": shared_model.base_url,
        "embedding_model": "text-embedding-3-small",
        "embedding_dim": 1536,
        "embedding_chunk_size": 300,
        "handle": "openai/text-embedding-3-small",
        "batch_size": 32,
        "azure_endpoint": None,
        "azure_version": None,
        "azure_deployment": None,
    }


DEEPSEEK: JsonObject = {
    "llm_config": {
        "model": "deepseek-chat",
        "model_endpoint_type": "deepseek",
        "context_window": 16384,
        "model_endpoint": "https://api.deepseek.com/v1",
        "put_inner_thoughts_in_kwargs": True,
    },
    "embedding_config": {
        "embedding_model": "glm-4.6",
        "embedding_endpoint_type": "ollama",
        "embedding_dim": 1024,
    },
    "memory_blocks": [
        {"label": "human", "value": "我叫小明，是产品经理"},
        {"label": "persona", "value": "你是 Letta，我的智能助理"},
    ],
}


@pytest.mark.promise("agents.create.llm-config")
def test_configurations_given_in_full_need_no_provider_here(tenant: Tenant) -> None:
    response = tenant.http.post("/v1/agents", json=DEEPSEEK, follow_redirects=True)
    agent = response.json()
    assert response.status_code == 200, response.text
    assert agent["llm_config"] | DEEPSEEK["llm_config"] == agent["llm_config"]
    assert agent["embedding_config"] | DEEPSEEK["embedding_config"] == agent["embedding_config"]
    assert (agent["max_files_open"], agent["per_file_view_window_char_limit"]) == (5, 15_000)
    assert agent["model_settings"]["provider_type"] == "deepseek"
    assert [block["value"] for block in agent["blocks"]] == [
        "我叫小明，是产品经理",
        "你是 Letta，我的智能助理",
    ]
    assert tenant.state(agent["id"])["llm_config"] == agent["llm_config"]


@pytest.mark.promise("agents.create.llm-config")
@pytest.mark.parametrize(
    "config",
    [{}, {"model": "m"}, {"model": "m", "model_endpoint_type": "openai", "context_window": 0}, "m", []],
)
def test_a_configuration_that_lacks_the_essentials_is_refused(tenant: Tenant, config: Any) -> None:
    refuse(tenant, 422, llm_config=config)


@pytest.mark.promise("agents.create.window")
def test_a_chosen_window_goes_into_the_configuration(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(model=MODEL, context_window_limit=64_000)
    assert agent.llm_config.context_window == 64_000


@pytest.mark.promise("agents.create.window")
def test_a_window_of_nothing_or_beyond_counting_is_refused(tenant: Tenant) -> None:
    refuse(tenant, 422, model=MODEL, context_window_limit=0)
    refuse(tenant, 422, model=MODEL, context_window_limit=2**31)
    refuse(tenant, 422, llm_config=DEEPSEEK["llm_config"] | {"context_window": 2**31})
    refuse(tenant, 422, model=MODEL, context_window_limit="large")


@pytest.mark.promise("agents.create.settings")
def test_settings_and_configuration_are_two_views_of_one_truth(tenant: Tenant) -> None:
    settings = {
        "provider_type": "openai",
        "temperature": 0.3,
        "max_output_tokens": 2048,
        "parallel_tool_calls": True,
        "reasoning": {"reasoning_effort": "high"},
        "strict": True,
        "response_format": {"type": "json_object"},
    }
    agent = tenant.agent(model_settings=settings)
    config = agent["llm_config"]
    assert (config["temperature"], config["max_tokens"], config["parallel_tool_calls"]) == (0.3, 2048, True)
    assert (config["reasoning_effort"], config["strict"]) == ("high", True)
    assert config["response_format"] == {"type": "json_object"}
    assert agent["model_settings"] == settings
    assert tenant.state(agent["id"])["model_settings"] == settings


@pytest.mark.promise("agents.create.settings")
def test_settings_that_are_not_mentioned_keep_the_models_own(tenant: Tenant) -> None:
    agent = tenant.agent(model_settings={"provider_type": "openai", "temperature": 0.5})
    assert agent["model_settings"] == {
        "max_output_tokens": 16_384,
        "parallel_tool_calls": False,
        "provider_type": "openai",
        "temperature": 0.5,
        "reasoning": {"reasoning_effort": "minimal"},
        "response_format": None,
        "strict": False,
    }


@pytest.mark.promise("agents.create.settings")
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": "hot"},
        {"response_format": "json"},
        {"response_format": {"type": "poem"}},
        {"max_output_tokens": "many"},
        {"reasoning": {"reasoning_effort": "heroic"}},
    ],
)
def test_settings_of_the_wrong_type_are_refused(tenant: Tenant, settings: JsonObject) -> None:
    refuse(tenant, 422, model=MODEL, model_settings=settings)


@pytest.mark.promise("agents.create.settings")
def test_older_single_fields_still_reach_the_configuration(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(
        model=MODEL, parallel_tool_calls=True, max_tokens=512, max_reasoning_tokens=256, reasoning=True
    )
    config = agent.llm_config
    assert (config.parallel_tool_calls, config.max_tokens) == (True, 512)
    assert (config.max_reasoning_tokens, config.enable_reasoner) == (256, True)
    assert agent.api_model_settings is not None
    assert agent.api_model_settings.parallel_tool_calls is True
    assert tenant.agent(enable_reasoner=False)["llm_config"]["enable_reasoner"] is False


@pytest.mark.promise("agents.create.response-format")
@pytest.mark.parametrize(
    "shape",
    [
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    ],
)
def test_a_shape_for_answers_is_kept(tenant: Tenant, shape: JsonObject) -> None:
    agent = tenant.agent(response_format=shape)
    assert agent["response_format"] == shape
    assert tenant.state(agent["id"])["response_format"] == shape


@pytest.mark.promise("agents.create.compaction")
def test_compaction_is_filled_with_its_defaults(tenant: Tenant) -> None:
    settings = tenant.agent()["compaction_settings"]
    assert settings.pop("prompt")
    assert settings == {
        "model": "openai/gpt-5-mini",
        "model_settings": None,
        "prompt_acknowledgement": False,
        "clip_chars": 50_000,
        "mode": "sliding_window",
        "sliding_window_percentage": 0.3,
    }


@pytest.mark.promise("agents.create.compaction")
def test_given_compaction_settings_win_and_each_mode_has_its_prompt(tenant: Tenant) -> None:
    given = {
        "mode": "all",
        "model": MODEL,
        "clip_chars": None,
        "sliding_window_percentage": 0.5,
        "prompt_acknowledgement": True,
    }
    settings = tenant.agent(compaction_settings=given)["compaction_settings"]
    assert settings | given == settings
    modes = ["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"]
    made = [tenant.agent(compaction_settings={"mode": mode})["compaction_settings"] for mode in modes]
    assert [each["mode"] for each in made] == modes
    assert len({each["prompt"] for each in made}) == len(modes)
    assert tenant.agent(compaction_settings={"prompt": "Mine."})["compaction_settings"]["prompt"] == "Mine."


@pytest.mark.promise("agents.create.compaction")
@pytest.mark.parametrize(
    "settings", [{"mode": "sometimes"}, {"sliding_window_percentage": 2}, {"clip_chars": "x"}, "all"]
)
def test_compaction_that_makes_no_sense_is_refused(tenant: Tenant, settings: Any) -> None:
    refuse(tenant, 422, model=MODEL, compaction_settings=settings)
