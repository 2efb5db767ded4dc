"""Providers over HTTP: their lists, their addresses, and who gets the key."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request
from tests.support.requests import config, request
from tests.support.scripted_model import ScriptedModel, says

from remanence.core.access import Grant
from remanence.core.actor import Actor
from remanence.core.llm import LLMConfig
from remanence.errors import BadArgument, NotFound
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID
from remanence.llm.adapters import Adapters
from remanence.llm.catalogue import Catalogue
from remanence.llm.endpoints import router
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.registry import AdapterRegistry
from remanence.llm.transport import Transport

DEAD = "http://127.0.0.1:9/v1"
"""Nobody listens there."""


class House:
    """What the composition root builds of this room."""

    def __init__(self, *providers: Provider) -> None:
        self.transport = Transport()
        adapters = Adapters(self.transport)
        self.sources = [HostedSource(provider, self.transport, adapters) for provider in providers]
        self.catalogue = Catalogue(self.sources)
        self.registry = AdapterRegistry(self.sources, adapters)

    async def ask(self, given: LLMConfig) -> None:
        async for _ in self.registry.adapter_for(given).stream(request(config=given)):
            pass

    async def close(self) -> None:
        await self.catalogue.close()
        await self.transport.close()


@pytest.fixture
async def house(model: ScriptedModel) -> AsyncIterator[House]:
    house = House(
        Provider("openai", "openai", model.base_url, "sk-openai"),
        Provider("deepseek", "deepseek", DEAD, "sk-deepseek"),
    )
    yield house
    await house.close()


async def test_the_providers_list_is_offered(model: ScriptedModel, house: House) -> None:
    model.models = [
        {"id": "house-blend", "max_model_len": 4_096},
        {"id": "gpt-4o"},
        {"id": "text-embedding-3-small"},
    ]
    listed = [each for each in await house.catalogue.list_models() if each.provider_name == "openai"]
    assert [(each.handle, each.max_context_window) for each in listed] == [
        ("openai/gpt-4o", 128_000),
        ("openai/house-blend", 4_096),
    ]
    assert [each.handle for each in await house.catalogue.list_embeddings()] == [
        "openai/text-embedding-3-small"
    ]


async def test_the_default_configuration_of_a_model(model: ScriptedModel, house: House) -> None:
    resolved = await house.catalogue.resolve_llm("openai/gpt-4o-mini")
    assert resolved.model_dump(exclude_defaults=True) == {
        "model": "gpt-4o-mini",
        "model_endpoint_type": "openai",
        "model_endpoint": model.base_url,
        "provider_name": "openai",
        "provider_category": "base",
        "context_window": 128_000,
        "handle": "openai/gpt-4o-mini",
        "max_tokens": 16_384,
        "enable_reasoner": False,
    }
    embedding = await house.catalogue.resolve_embedding("openai/text-embedding-3-small")
    assert embedding.model_dump() == {
        "embedding_endpoint_type": "openai",
        "embedding_endpoint": model.base_url,
        "embedding_model": "text-embedding-3-small",
        "embedding_dim": 1_536,
        "embedding_chunk_size": 300,
        "handle": "openai/text-embedding-3-small",
        "batch_size": 32,
        "azure_endpoint": None,
        "azure_version": None,
        "azure_deployment": None,
    }


async def test_well_known_models_resolve_when_the_provider_cannot_be_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House(Provider("openai", "openai", DEAD, "sk-openai"))
    assert (await house.catalogue.resolve_llm("openai/gpt-4o-mini")).context_window == 128_000
    assert (await house.catalogue.resolve_embedding("openai/text-embedding-3-small")).embedding_dim == 1_536
    assert "openai/gpt-4o" in [each.handle for each in await house.catalogue.list_models()]
    with pytest.raises(NotFound):
        await house.catalogue.resolve_llm("openai/house-blend")
    await house.close()
    assert "sk-openai" not in caplog.text


async def test_a_list_refused_by_the_provider_is_no_list(model: ScriptedModel, house: House) -> None:
    model.models_status = 401
    assert "openai/gpt-4o-mini" in [each.handle for each in await house.catalogue.list_models()]


async def test_a_resolved_model_can_be_asked(model: ScriptedModel, house: House) -> None:
    model.script(says("Hi"))
    await house.ask(await house.catalogue.resolve_llm("openai/gpt-4o"))
    assert model.last.model == "gpt-4o"
    assert model.last.headers["Authorization"] == "Bearer sk-openai"


async def test_a_resolved_model_follows_its_provider_when_it_moves(
    model: ScriptedModel, house: House
) -> None:
    model.script(says("Hi"))
    resolved = await house.catalogue.resolve_llm("openai/gpt-4o")
    await house.ask(resolved.model_copy(update={"model_endpoint": DEAD}))


async def test_the_vendors_usual_address_means_the_configured_one(model: ScriptedModel, house: House) -> None:
    model.script(says("Hi"))
    await house.ask(config("gpt-4o", model_endpoint="https://api.openai.com/v1"))
    assert model.last.headers["Authorization"] == "Bearer sk-openai"


async def test_a_whole_configuration_of_ones_own_is_followed(model: ScriptedModel, house: House) -> None:
    model.script(says("Hi"))
    given = LLMConfig(
        model="deepseek-chat",
        model_endpoint_type="deepseek",
        context_window=16_384,
        model_endpoint=model.base_url,
        put_inner_thoughts_in_kwargs=True,
    )
    await house.ask(given)
    assert model.last.model == "deepseek-chat"
    # The key was issued for DeepSeek's own servers, and whoever may write a configuration may write any address.
    assert "Authorization" not in model.last.headers


async def test_the_key_goes_to_the_server_it_was_configured_for(model: ScriptedModel, house: House) -> None:
    model.script(says("Hi"))
    await house.ask(config("gpt-4o", model_endpoint=model.base_url.removesuffix("/v1")))
    assert model.last.headers["Authorization"] == "Bearer sk-openai"


async def test_without_a_configured_provider_the_address_is_asked_without_a_key(model: ScriptedModel) -> None:
    model.script(says("Hi"))
    house = House()
    await house.ask(config("qwen", model_endpoint_type="vllm", model_endpoint=model.base_url))
    await house.close()
    assert "Authorization" not in model.last.headers


async def test_an_unknown_endpoint_type_is_refused_with_those_that_work(house: House) -> None:
    with pytest.raises(BadArgument, match=r"'koboldcpp' is not supported here.*deepseek.*openai"):
        house.registry.adapter_for(config(model_endpoint_type="koboldcpp"))


async def _nobody_in_particular(_: Request) -> Grant:
    return Grant(actor=Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID))


async def test_models_are_listed_over_rest(model: ScriptedModel, house: House) -> None:
    model.models = [{"id": "gpt-4"}, {"id": "text-embedding-3-large"}]
    app = FastAPI()
    app.state.auth = _nobody_in_particular
    app.include_router(router(house.catalogue, house.registry))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        everything = (await client.get("/v1/models/")).json()
        assert everything[0] == {
            "handle": "openai/gpt-4",
            "name": "gpt-4",
            "display_name": "gpt-4",
            "provider_type": "openai",
            "provider_name": "openai",
            "model_type": "llm",
            "model": "gpt-4",
            "model_endpoint_type": "openai",
            "model_endpoint": model.base_url,
            "provider_category": "base",
            "model_wrapper": None,
            "context_window": 8_192,
            "put_inner_thoughts_in_kwargs": False,
            "temperature": 1.0,
            "max_tokens": 2_048,
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
            "max_context_window": 8_192,
        }
        embeddings = (await client.get("/v1/models/embedding")).json()
        assert embeddings == [
            {
                "handle": "openai/text-embedding-3-large",
                "name": "text-embedding-3-large",
                "display_name": "text-embedding-3-large",
                "provider_type": "openai",
                "provider_name": "openai",
                "model_type": "embedding",
                "embedding_endpoint_type": "openai",
                "embedding_endpoint": model.base_url,
                "embedding_model": "text-embedding-3-large",
                "embedding_dim": 3_072,
                "embedding_chunk_size": 300,
                "batch_size": 32,
                "azure_endpoint": None,
                "azure_version": None,
                "azure_deployment": None,
            }
        ]

        async def names(**query: str | list[str]) -> set[str]:
            listed = (await client.get("/v1/models/", params=query)).json()
            return {each["provider_name"] for each in listed}

        assert await names(provider_name="deepseek") == {"deepseek"}
        assert await names(provider_type="openai") == {"openai"}
        assert await names(provider_category=["base", "byok"]) == {"openai", "deepseek"}
        assert await names(provider_category="byok") == set()
        assert (await client.get("/v1/models/", params={"provider_category": "odd"})).status_code == 422
