"""Which models can be asked for, by handle. A provider that does not answer delays nobody."""

import asyncio
import logging
from collections.abc import Sequence

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.errors import BadArgument, NotFound
from remanence.llm.sources import EmbeddingInfo, ModelInfo, ModelSource
from remanence.llm.vendors import find_vendor

_STALE_AFTER_S = 300.0
# How long after the start a list waits for providers that have not answered yet.
_FIRST_ANSWER_S = 1.0
# An unknown name may be a new model, so its provider is asked again; but not at every mistyped name.
_ASK_AGAIN_S = 10.0
_RESOLVE_WAIT_S = 5.0

log = logging.getLogger(__name__)


class Catalogue:
    """All sources, in the order in which their models are listed."""

    def __init__(self, sources: Sequence[ModelSource], *, stale_after_s: float = _STALE_AFTER_S) -> None:
        self._sources = {source.name: source for source in reversed(sources)}
        self._order = list(dict.fromkeys(source.name for source in sources))
        self._stale_after_s = stale_after_s
        self._asked_at: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._started_at: float | None = None

    @property
    def sources(self) -> list[ModelSource]:
        return [self._sources[name] for name in self._order]

    def start(self) -> None:
        """Begins to ask the providers, without waiting for them. Needs a running loop."""
        for source in self.sources:
            self._ask(source)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def list_models(self) -> list[ModelInfo]:
        await self._freshen()
        return [model for source in self.sources for model in source.models()]

    async def list_embeddings(self) -> list[EmbeddingInfo]:
        await self._freshen()
        return [model for source in self.sources for model in source.embeddings()]

    async def resolve_llm(self, handle: str) -> LLMConfig:
        """Raises `BadArgument` if this is no handle, `NotFound` if nobody has the model."""
        return (await self.get_model(handle)).llm_config()

    async def get_model(self, handle: str) -> ModelInfo:
        """Raises as `resolve_llm` does."""
        source, name = self._split(handle)
        if source is None:
            raise NotFound(f"No provider for the model '{handle}'. {self._offer()}")
        found = source.find_model(name)
        if found is None and await self._ask_now(source):
            found = source.find_model(name)
        if found is None:
            raise NotFound(f"The provider '{source.name}' has no model '{name}'")
        return found

    async def resolve_embedding(self, handle: str) -> EmbeddingConfig:
        """Raises `BadArgument` if this is no handle or nobody has the model."""
        source, name = self._split(handle)
        found = source.find_embedding(name) if source is not None else None
        if found is None:
            raise BadArgument(f"There is no embedding model '{handle}'. {self._offer()}")
        return found.embedding_config()

    def _split(self, handle: str) -> tuple[ModelSource | None, str]:
        prefix, slash, name = handle.partition("/")
        if not (slash and prefix and name):
            raise BadArgument(f"'{handle}' is not a model handle; one like 'provider/model' is expected")
        source = self._sources.get(prefix)
        if source is None and (vendor := find_vendor(prefix)) is not None:
            source = self._sources.get(vendor.name)
        return source, name

    def _offer(self) -> str:
        return f"Configured providers: {', '.join(self._order) or 'none'}"

    async def _freshen(self) -> None:
        """Asks again where the answer has grown old; waits only for first answers, and only right after the start."""
        now = asyncio.get_running_loop().time()
        for source in self.sources:
            if now - self._asked_at.get(source.name, -self._stale_after_s) >= self._stale_after_s:
                self._ask(source)
        left_s = (self._started_at or now) + _FIRST_ANSWER_S - now
        if left_s > 0 and self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=left_s)

    async def _ask_now(self, source: ModelSource) -> bool:
        """Whether the source was asked just now and has answered."""
        asked_at = self._asked_at.get(source.name)
        if (
            asked_at is not None
            and source.name not in self._tasks
            and asyncio.get_running_loop().time() - asked_at < _ASK_AGAIN_S
        ):
            return False
        done, _ = await asyncio.wait([self._ask(source)], timeout=_RESOLVE_WAIT_S)
        return bool(done)

    def _ask(self, source: ModelSource) -> asyncio.Task[None]:
        task = self._tasks.get(source.name)
        if task is None:
            loop = asyncio.get_running_loop()
            if self._started_at is None:
                self._started_at = loop.time()
            task = self._tasks[source.name] = loop.create_task(
                source.refresh(), name=f"models of {source.name}"
            )
            self._asked_at[source.name] = loop.time()
            task.add_done_callback(lambda done: self._note_answer(source.name, done))
        return task

    def _note_answer(self, name: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("The source of models '%s' broke its promise not to raise", name, exc_info=error)
