"""Handles, lists, and providers that do not answer."""

import asyncio
from collections.abc import Sequence

import pytest

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.errors import BadArgument, NotFound
from remanence.llm.catalogue import Catalogue
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.sources import EmbeddingInfo, ModelInfo


def info(handle: str, *, context: int = 1_000, output: int | None = None) -> ModelInfo:
    provider, _, name = handle.partition("/")
    return ModelInfo(
        handle=handle,
        name=name,
        provider_type=provider,
        provider_name=provider,
        endpoint_type=provider,
        endpoint="http://host/v1",
        max_context_window=context,
        max_output_tokens=output,
    )


class Source:
    """A source whose list changes when it is asked, if it ever answers."""

    def __init__(self, name: str, *names: str, later: Sequence[str] = (), answers: bool = True) -> None:
        self.name = name
        self.names = list(names)
        self.later = later
        self.answers = answers
        self.asked = 0

    def models(self) -> list[ModelInfo]:
        return [info(f"{self.name}/{each}") for each in self.names]

    def embeddings(self) -> list[EmbeddingInfo]:
        return []

    def find_model(self, name: str) -> ModelInfo | None:
        return info(f"{self.name}/{name}") if name in self.names else None

    async def ask_embedding(self, name: str) -> EmbeddingInfo | None:
        return self.find_embedding(name)

    def find_embedding(self, name: str) -> EmbeddingInfo | None:
        return None

    async def refresh(self) -> None:
        self.asked += 1
        if not self.answers:
            await asyncio.Event().wait()
        self.names += [each for each in self.later if each not in self.names]

    def serves(self, config: LLMConfig) -> bool:
        return False

    def adapter(self, config: LLMConfig) -> ModelAdapter:
        raise NotImplementedError

    def embeds(self, config: EmbeddingConfig) -> bool:
        return False

    def embedder(self, config: EmbeddingConfig) -> Embedder:
        raise NotImplementedError


async def test_models_are_listed_in_the_order_of_their_sources() -> None:
    catalogue = Catalogue([Source("b", "one"), Source("a", "two", "three")])
    assert [model.handle for model in await catalogue.list_models()] == ["b/one", "a/two", "a/three"]


async def test_the_first_list_waits_a_moment_for_the_first_answers() -> None:
    catalogue = Catalogue([Source("a", later=["new"])])
    assert [model.name for model in await catalogue.list_models()] == ["new"]


async def test_a_dead_provider_delays_neither_start_nor_later_lists() -> None:
    dead = Source("dead", "known", answers=False)
    catalogue = Catalogue([dead, Source("alive", "one")])
    loop = asyncio.get_running_loop()
    started = loop.time()
    catalogue.start()
    assert loop.time() - started < 0.1
    assert [model.handle for model in await catalogue.list_models()] == ["dead/known", "alive/one"]
    assert loop.time() - started < 1.5
    again = loop.time()
    await catalogue.list_models()
    assert loop.time() - again < 0.1
    await catalogue.close()


async def test_a_list_is_asked_for_again_only_when_it_has_grown_old() -> None:
    lasting, fleeting = Source("a", "one"), Source("a", "one")
    for _ in range(3):
        await (kept := Catalogue([lasting])).list_models()
        await kept.list_models()
    assert lasting.asked == 3
    catalogue = Catalogue([fleeting], stale_after_s=0)
    await catalogue.list_models()
    await catalogue.list_models()
    assert fleeting.asked == 2


async def test_a_source_that_breaks_its_promise_breaks_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Source):
        async def refresh(self) -> None:
            raise RuntimeError("oops")

    catalogue = Catalogue([Broken("bad", "one"), Source("good", "two")])
    assert len(await catalogue.list_models()) == 2
    assert "broke its promise" in caplog.text


@pytest.mark.parametrize("handle", ["gpt-4o", "", "/gpt-4o", "openai/"])
async def test_a_handle_needs_both_its_parts(handle: str) -> None:
    catalogue = Catalogue([Source("openai", "gpt-4o")])
    with pytest.raises(BadArgument):
        await catalogue.resolve_llm(handle)
    with pytest.raises(BadArgument):
        await catalogue.resolve_embedding(handle)


async def test_an_unknown_model_is_not_found_and_an_unknown_embedding_is_a_bad_argument() -> None:
    catalogue = Catalogue([Source("openai", "gpt-4o")])
    with pytest.raises(NotFound, match="nobody/x"):
        await catalogue.resolve_llm("nobody/x")
    with pytest.raises(NotFound, match="gpt-99"):
        await catalogue.resolve_llm("openai/gpt-99")
    with pytest.raises(BadArgument):
        await catalogue.resolve_embedding("openai/gpt-99")


async def test_both_spellings_of_openai_mean_the_same() -> None:
    catalogue = Catalogue([Source("openai", "gpt-4o")])
    assert (await catalogue.resolve_llm("openai-proxy/gpt-4o")).handle == "openai/gpt-4o"


async def test_a_name_may_hold_slashes() -> None:
    catalogue = Catalogue([Source("openrouter", "openai/gpt-4o:free")])
    assert (await catalogue.resolve_llm("openrouter/openai/gpt-4o:free")).model == "openai/gpt-4o:free"


async def test_an_unknown_name_makes_the_provider_be_asked_once_more() -> None:
    source = Source("a", later=["new"])
    catalogue = Catalogue([source])
    assert (await catalogue.resolve_llm("a/new")).model == "new"
    for _ in range(3):
        with pytest.raises(NotFound):
            await catalogue.resolve_llm("a/mistyped")
    assert source.asked == 1


@pytest.mark.parametrize(
    ("context", "output", "window", "limit"),
    [
        (128_000, 16_384, 128_000, 16_384),
        (8_192, 8_192, 8_192, 2_048),
        (200_000, 100_000, 128_000, 72_000),
        (400_000, 128_000, 128_000, 128_000),
        (1_047_576, 32_768, 128_000, 32_768),
        (128_000, None, 128_000, None),
    ],
)
def test_an_agent_uses_a_reasonable_share_of_a_model(
    context: int, output: int | None, window: int, limit: int | None
) -> None:
    config = info("a/b", context=context, output=output).llm_config()
    assert config.context_window == window
    assert config.max_tokens == limit
