"""What providers tell of their models, each in its own way, asked over real sockets."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from remanence.errors import ProviderError
from remanence.llm.adapters import Adapters
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.keys import Site
from remanence.llm.listing import Lister
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor

Answers = dict[str, Any]
Serve = Callable[[Answers], Any]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a server that gives these answers by path, and notes what it was asked; gives its address."""
    runners: list[web.AppRunner] = []

    async def start(answers: Answers) -> tuple[str, list[web.Request]]:
        seen: list[web.Request] = []

        async def answer(request: web.Request) -> web.Response:
            seen.append(request)
            found = answers.get(request.path)
            if callable(found):
                found = found(await request.json())
            return web.json_response(
                found if found is not None else {}, status=200 if found is not None else 404
            )

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}", seen

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport()
    yield transport
    await transport.close()


def source(transport: Transport, vendor: str, base_url: str, **fields: Any) -> HostedSource:
    return HostedSource(Provider(vendor, vendor, base_url, "sk-x", **fields), transport, Adapters(transport))


def windows(source: HostedSource) -> list[tuple[str, int]]:
    return [(model.name, model.max_context_window) for model in source.models()]


async def test_ollama_tells_the_window_that_a_model_really_gets(serve: Serve, transport: Transport) -> None:
    about: dict[str, Any] = {
        "chosen": {"model_info": {"qwen3.context_length": 40_960}, "parameters": "stop x\nnum_ctx  8192"},
        "running": {
            "model_info": {"llama.context_length": 131_072},
            "capabilities": ["completion", "thinking"],
        },
        "large": {"model_info": {"llama.context_length": 131_072}},
        "vectors": {"model_info": {"bert.context_length": 512}, "capabilities": ["embedding"]},
    }

    def show(body: dict[str, str]) -> Any:
        return about[body["model"]]

    address, _ = await serve(
        {
            "/api/tags": {"models": [{"name": name} for name in about]},
            "/api/ps": {"models": [{"name": "running", "context_length": 4_096}]},
            "/api/show": show,
        }
    )
    ollama = source(transport, "ollama", address)
    await ollama.refresh()
    assert windows(ollama) == [("chosen", 8_192), ("large", 32_768), ("running", 4_096)]
    assert [model.name for model in ollama.models() if model.is_reasoning] == ["running"]


async def test_lm_studio_tells_windows_and_kinds(serve: Serve, transport: Transport) -> None:
    address, _ = await serve(
        {
            "/api/v0/models": {
                "data": [
                    {
                        "id": "qwen",
                        "type": "llm",
                        "max_context_length": 32_768,
                        "loaded_context_length": 8_192,
                    },
                    {"id": "nomic", "type": "embeddings", "max_context_length": 2_048},
                ]
            }
        }
    )
    studio = source(transport, "lmstudio_openai", address)
    await studio.refresh()
    assert windows(studio) == [("qwen", 8_192)]


async def test_llama_cpp_tells_what_it_was_started_with(serve: Serve, transport: Transport) -> None:
    address, _ = await serve(
        {
            "/v1/models": {"data": [{"id": "qwen.gguf", "meta": {"n_ctx_train": 131_072}}]},
            "/props": {"default_generation_settings": {"n_ctx": 16_384}},
        }
    )
    llama = source(transport, "llamacpp", address)
    await llama.refresh()
    assert windows(llama) == [("qwen.gguf", 16_384)]


async def test_gemini_tells_limits_and_what_a_model_is_for(serve: Serve, transport: Transport) -> None:
    address, seen = await serve(
        {
            "/v1beta/models": {
                "models": [
                    {
                        "name": "models/gemini-9-flash",
                        "displayName": "Gemini 9 Flash",
                        "inputTokenLimit": 2_000_000,
                        "outputTokenLimit": 100_000,
                        "supportedGenerationMethods": ["generateContent"],
                        "thinking": True,
                    },
                    {"name": "models/veo", "supportedGenerationMethods": ["predict"]},
                    {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
                ]
            }
        }
    )
    gemini = source(transport, "google_ai", address)
    await gemini.refresh()
    [model] = gemini.models()
    assert (model.handle, model.display_name) == ("google_ai/gemini-9-flash", "Gemini 9 Flash")
    assert (model.max_context_window, model.max_output_tokens) == (2_000_000, 100_000)
    config = model.llm_config()
    assert (config.enable_reasoner, config.max_reasoning_tokens, config.context_window) == (
        True,
        1_024,
        128_000,
    )
    assert seen[0].headers["x-goog-api-key"] == "sk-x"


async def test_anthropic_is_asked_with_its_own_headers(serve: Serve, transport: Transport) -> None:
    listed = {
        "id": "claude-next-7",
        "display_name": "Claude Next",
        "max_input_tokens": 3_000_000,
        "max_tokens": 9_000,
    }
    address, seen = await serve({"/v1/models": {"data": [listed]}})
    anthropic = source(transport, "anthropic", address)
    await anthropic.refresh()
    assert windows(anthropic) == [("claude-next-7", 3_000_000)]
    assert seen[0].headers["anthropic-version"]
    assert seen[0].headers["x-api-key"] == "sk-x"


async def test_a_window_that_no_list_tells_comes_from_the_table(serve: Serve, transport: Transport) -> None:
    """Only for the vendor's own servers: elsewhere the same name may be anything."""
    address, _ = await serve({"/v1/models": {"data": [{"id": "grok-4.20"}]}})
    elsewhere = source(transport, "xai", address)
    await elsewhere.refresh()
    assert windows(elsewhere) == [("grok-4.20", 128_000)]


async def test_a_server_of_ones_own_that_is_gone_offers_nothing(serve: Serve, transport: Transport) -> None:
    answers: Answers = {"/v1/models": {"data": [{"id": "qwen", "max_model_len": 4_096}]}}
    address, _ = await serve(answers)
    vllm = source(transport, "vllm", address)
    await vllm.refresh()
    assert windows(vllm) == [("qwen", 4_096)]
    answers.clear()
    await vllm.refresh()
    assert windows(vllm) == []


async def test_who_is_only_looked_for_is_missed_in_silence(
    transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    missing = source(transport, "ollama", "http://127.0.0.1:9", is_found=True)
    await missing.refresh()
    assert missing.models() == []
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_azures_key_has_a_header_of_its_own(serve: Serve, transport: Transport) -> None:
    address, seen = await serve({"/openai/v1/models": {"data": [{"id": "gpt-4o"}]}})
    await source(transport, "azure", address).refresh()
    assert seen[0].headers["api-key"] == "sk-x"
    assert "Authorization" not in seen[0].headers


async def test_openrouter_lists_to_everybody_so_its_key_is_asked_about(
    serve: Serve, transport: Transport
) -> None:
    address, _ = await serve({"/api/v1/models": {"data": [{"id": "a/b", "context_length": 5}]}})
    site = Site(get_vendor("openrouter"), f"{address}/api/v1", "sk-x", "openrouter")
    lister = Lister(transport, site)
    assert [model.context for model in await lister.fetch()] == [5]
    with pytest.raises(ProviderError, match="404"):
        await lister.check()


async def test_bedrock_tells_models_and_the_profiles_that_stand_for_them(
    serve: Serve, transport: Transport
) -> None:
    haiku, sonnet = "anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"
    address, seen = await serve(
        {
            "/foundation-models": {
                "modelSummaries": [
                    {
                        "modelId": haiku,
                        "modelName": "Claude 3 Haiku",
                        "inferenceTypesSupported": ["ON_DEMAND"],
                    },
                    {"modelId": sonnet, "inferenceTypesSupported": ["INFERENCE_PROFILE"]},
                    {"modelId": "amazon.nova-pro-v1:0", "inferenceTypesSupported": ["ON_DEMAND"]},
                ]
            },
            "/inference-profiles": {"inferenceProfileSummaries": [{"inferenceProfileId": f"eu.{sonnet}"}]},
        }
    )
    bedrock = source(transport, "bedrock", address, access_key="AKID", region="eu-west-1")
    await bedrock.sync()
    listed = {each.name: each for each in bedrock.models()}
    assert set(listed) == {haiku, f"eu.{sonnet}"}
    assert listed[f"eu.{sonnet}"].max_context_window == 200_000
    assert listed[f"eu.{sonnet}"].is_reasoning
    assert all(request.headers["Authorization"].startswith("AWS4-HMAC-SHA256") for request in seen)


async def test_vertex_tells_googles_models(serve: Serve, transport: Transport) -> None:
    names = ("gemini-2.5-pro", "imagegeneration", "text-embedding-005")
    listed = [{"name": f"publishers/google/models/{name}"} for name in names]
    address, _ = await serve({"/v1beta1/publishers/google/models": {"publisherModels": listed}})
    vertex = source(transport, "google_vertex", f"{address}/v1/publishers")
    await vertex.sync()
    assert [(each.name, each.max_context_window) for each in vertex.models()] == [
        ("gemini-2.5-pro", 1_048_576)
    ]
