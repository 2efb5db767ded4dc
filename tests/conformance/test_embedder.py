"""Every embedder gives one vector of length one for each text, alike for texts that are alike."""

from collections.abc import AsyncIterator

import pytest
from tests.support.scripted_model import ScriptedModel

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector, dimensions_of, unpack_vector
from remanence.errors import BadReply, ProviderError
from remanence.kit.json import JsonObject
from remanence.llm.adapters import Adapters
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.local.embedded import EmbeddedSource
from remanence.llm.local.embedding import LOCAL_EMBEDDING
from remanence.llm.ports import Embedder
from remanence.llm.registry import EmbedderRegistry
from remanence.llm.transport import CallPolicy, Transport

HOSTED = EmbeddingConfig(
    embedding_endpoint_type="openai",
    embedding_model="text-embedding-3-small",
    embedding_dim=64,
    handle="openai/text-embedding-3-small",
    batch_size=2,
)


@pytest.fixture
async def registry(model: ScriptedModel) -> AsyncIterator[EmbedderRegistry]:
    transport = Transport(CallPolicy(pause_s=0.001))
    provider = Provider("openai", "openai", model.base_url, "sk-openai")
    hosted = HostedSource(provider, transport, Adapters(transport))
    yield EmbedderRegistry([hosted, EmbeddedSource(None)], transport)
    await transport.close()


@pytest.fixture(params=["hosted", "embedded"])
def embedder(request: pytest.FixtureRequest, registry: EmbedderRegistry) -> Embedder:
    config = HOSTED if request.param == "hosted" else LOCAL_EMBEDDING.embedding_config()
    return registry.embedder_for(config)


def alike(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(unpack_vector(one), unpack_vector(other), strict=True))


async def test_each_text_has_a_vector_of_length_one_in_order(embedder: Embedder) -> None:
    texts = ["The owl nests in the old barn.", "Basil needs sun.", "An owl in a barn.", "x" * 40_000, " "]
    vectors = await embedder.embed(texts)
    assert len(vectors) == 5
    assert len({dimensions_of(vector) for vector in vectors}) == 1
    assert alike(vectors[0], vectors[0]) == pytest.approx(1, abs=1e-3)
    assert alike(vectors[0], vectors[2]) > alike(vectors[0], vectors[1])
    again = await embedder.embed(texts[:1])
    assert alike(again[0], vectors[0]) == pytest.approx(1, abs=1e-5)
    assert await embedder.embed([]) == []


@pytest.mark.parametrize("vendor", ["google_ai", "voyage", "ollama"])
async def test_each_providers_format_is_spoken(model: ScriptedModel, vendor: str) -> None:
    transport = Transport(CallPolicy(pause_s=0.001))
    base_url = model.base_url.removesuffix("/v1")
    hosted = HostedSource(Provider(vendor, vendor, base_url, "sk-x"), transport, Adapters(transport))
    config = HOSTED.model_copy(update={"embedding_endpoint_type": vendor, "handle": f"{vendor}/some"})
    embedder = EmbedderRegistry([hosted], transport).embedder_for(config)
    stored = await embedder.embed(["The owl nests.", "Basil needs sun.", "Owl"])
    [asked] = await embedder.embed(["owl"], is_query=True)
    await transport.close()
    assert alike(asked, stored[2]) == pytest.approx(1, abs=1e-3)
    assert alike(asked, stored[0]) > alike(asked, stored[1])
    assert model.embedded[-1] == ["owl"]


async def test_the_embedded_model_knows_what_words_mean(registry: EmbedderRegistry) -> None:
    embedder = registry.embedder_for(LOCAL_EMBEDDING.embedding_config())
    dog, puppy, tax = await embedder.embed(
        ["my dog loves the park", "the puppy enjoys walks outside", "quarterly tax report"]
    )
    assert alike(dog, puppy) > alike(dog, tax) + 0.2


async def test_many_texts_go_in_batches(model: ScriptedModel, registry: EmbedderRegistry) -> None:
    vectors = await registry.embedder_for(HOSTED).embed(["a", "b", "c"])
    assert model.embedded == [["a", "b"], ["c"]]
    assert len({bytes(vector) for vector in vectors}) == 3


async def test_what_goes_wrong_is_a_typed_error(model: ScriptedModel, registry: EmbedderRegistry) -> None:
    model.embedding_status = 400
    with pytest.raises(ProviderError, match="no vectors today"):
        await registry.embedder_for(HOSTED).embed(["a"])
    model.embedding_status = 503
    with pytest.raises(ProviderError):
        await registry.embedder_for(HOSTED).embed(["a"])
    assert len(model.embedded) == 1 + 3


async def test_an_answer_of_another_shape_is_refused(
    model: ScriptedModel, registry: EmbedderRegistry
) -> None:
    odd_answers: list[JsonObject] = [{"data": []}, {"vectors": [[1]]}, {"data": [{"embedding": ["x"]}]}]
    for odd in odd_answers:
        model.embedding_answer = odd
        with pytest.raises(BadReply):
            await registry.embedder_for(HOSTED).embed(["a"])


async def test_an_address_without_a_provider_is_asked_without_a_key(
    model: ScriptedModel, registry: EmbedderRegistry
) -> None:
    elsewhere = HOSTED.model_copy(
        update={"handle": None, "embedding_endpoint": model.base_url, "embedding_endpoint_type": "vllm"}
    )
    assert len(await registry.embedder_for(elsewhere).embed(["a"])) == 1
