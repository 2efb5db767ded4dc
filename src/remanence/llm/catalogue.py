"""Which models can be asked for, by handle. A provider that does not answer delays nobody."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.errors import BadArgument, NotFound
from remanence.kit.ids import OrgId
from remanence.llm.sources import EmbeddingInfo, ModelInfo, ModelSource
from remanence.llm.vendors import find_vendor

_STALE_AFTER_S = 300.0
# How long after the start a list waits for providers that have not answered yet.
_FIRST_ANSWER_S = 1.0
# An unknown name may be a new model, so its provider is asked again; but not at every mistyped name.
_ASK_AGAIN_S = 10.0
_RESOLVE_WAIT_S = 5.0

log = logging.getLogger(__name__)


class OwnSources(Protocol):
    """The providers that organisations brought themselves."""

    async def sources_of(self, organization_id: OrgId) -> Sequence[ModelSource]: ...


class Catalogue:
    """All sources, in the order in which their models are listed. An organisation's own come after the server's."""

    def __init__(
        self,
        sources: Sequence[ModelSource],
        own: OwnSources | None = None,
        *,
        stale_after_s: float = _STALE_AFTER_S,
    ) -> None:
        self._sources = list({source.name: source for source in reversed(sources)}.values())[::-1]
        self._own = own
        self._stale_after_s = stale_after_s
        self._asked_at: WeakKeyDictionary[ModelSource, float] = WeakKeyDictionary()
        self._tasks: dict[ModelSource, asyncio.Task[None]] = {}
        self._started_at: float | None = None

    @property
    def sources(self) -> list[ModelSource]:
        return self._sources

    async def sources_for(self, organization_id: OrgId | None) -> list[ModelSource]:
        """What an organisation brought itself stands for the server's provider of the same name."""
        if self._own is None or organization_id is None:
            return self._sources
        own = await self._own.sources_of(organization_id)
        names = {source.name for source in own}
        return [*(source for source in self._sources if source.name not in names), *own]

    def start(self) -> None:
        """Begins to ask the providers, without waiting for them. Needs a running loop."""
        for source in self.sources:
            self._ask(source)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def list_models(self, organization_id: OrgId | None = None) -> list[ModelInfo]:
        sources = await self.sources_for(organization_id)
        await self._freshen(sources)
        return [model for source in sources for model in source.models()]

    async def list_embeddings(self, organization_id: OrgId | None = None) -> list[EmbeddingInfo]:
        sources = await self.sources_for(organization_id)
        await self._freshen(sources)
        return [model for source in sources for model in source.embeddings()]

    async def resolve_llm(self, handle: str, organization_id: OrgId | None = None) -> LLMConfig:
        """Raises `BadArgument` if this is no handle, `NotFound` if nobody has the model."""
        return (await self.get_model(handle, organization_id)).llm_config()

    async def get_model(self, handle: str, organization_id: OrgId | None = None) -> ModelInfo:
        """Raises as `resolve_llm` does."""
        sources = await self.sources_for(organization_id)
        source, name = _split(handle, sources)
        if source is None:
            raise NotFound(f"No provider for the model '{handle}'. {_offer(sources)}")
        found = source.find_model(name)
        if found is None and await self._ask_now(source):
            found = source.find_model(name)
        if found is None:
            raise NotFound(f"The provider '{source.name}' has no model '{name}'")
        return found

    async def resolve_embedding(self, handle: str, organization_id: OrgId | None = None) -> EmbeddingConfig:
        """Raises `BadArgument` if this is no handle or nobody has the model, and `ProviderError`."""
        sources = await self.sources_for(organization_id)
        source, name = _split(handle, sources)
        found = await source.ask_embedding(name) if source is not None else None
        if found is None:
            raise BadArgument(f"There is no embedding model '{handle}'. {_offer(sources)}")
        return found.embedding_config()

    async def _freshen(self, sources: Sequence[ModelSource]) -> None:
        """Asks again where the answer has grown old; waits only for first answers, and only right after the start."""
        now = asyncio.get_running_loop().time()
        is_first = any(source not in self._asked_at for source in sources)
        for source in sources:
            if now - self._asked_at.get(source, -self._stale_after_s) >= self._stale_after_s:
                self._ask(source)
        left_s = _FIRST_ANSWER_S if is_first else (self._started_at or now) + _FIRST_ANSWER_S - now
        tasks = [self._tasks[source] for source in sources if source in self._tasks]
        if left_s > 0 and tasks:
            await asyncio.wait(tasks, timeout=left_s)

    async def _ask_now(self, source: ModelSource) -> bool:
        """Whether the source was asked just now and has answered."""
        asked_at = self._asked_at.get(source)
        if (
            asked_at is not None
            and source not in self._tasks
            and asyncio.get_running_loop().time() - asked_at < _ASK_AGAIN_S
        ):
            return False
        done, _ = await asyncio.wait([self._ask(source)], timeout=_RESOLVE_WAIT_S)
        return bool(done)

    def _ask(self, source: ModelSource) -> asyncio.Task[None]:
        task = self._tasks.get(source)
        if task is None:
            loop = asyncio.get_running_loop()
            if self._started_at is None:
                self._started_at = loop.time()
            task = self._tasks[source] = loop.create_task(source.refresh(), name=f"models of {source.name}")
            self._asked_at[source] = loop.time()
            task.add_done_callback(lambda done: self._note_answer(source, done))
        return task

    def _note_answer(self, source: ModelSource, task: asyncio.Task[None]) -> None:
        self._tasks.pop(source, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("The source of models '%s' broke its promise not to raise", source.name, exc_info=error)


def _split(handle: str, sources: Sequence[ModelSource]) -> tuple[ModelSource | None, str]:
    prefix, slash, name = handle.partition("/")
    if not (slash and prefix and name):
        raise BadArgument(f"'{handle}' is not a model handle; one like 'provider/model' is expected")
    by_name = {source.name: source for source in sources}
    source = by_name.get(prefix)
    if source is None and (vendor := find_vendor(prefix)) is not None:
        source = by_name.get(vendor.name)
    return source, name


def _offer(sources: Sequence[ModelSource]) -> str:
    return f"Configured providers: {', '.join(source.name for source in sources) or 'none'}"
