"""Looks after one embedded model: its weights, its engine, and how far both have come."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remanence.errors import ModelUnavailable
from remanence.llm.local.engine import Ask, Engine, EngineOptions
from remanence.llm.local.prompting import warming_prompt
from remanence.llm.local.weights import Report

log = logging.getLogger(__name__)

State = Literal["absent", "fetching", "loading", "ready", "failed"]

_RETRY_AFTER_S = 300
_LOGGED_STRIDE = 0.1


@dataclass(frozen=True, slots=True)
class ModelStatus:
    state: State
    progress: float | None = None
    """From 0 to 1 while the weights are fetched."""
    detail: str | None = None


class ModelKeeper:
    """`find` looks for the weights on disk; `fetch` brings them, where that is possible."""

    def __init__(
        self,
        name: str,
        *,
        find: Callable[[], Path | None],
        fetch: Callable[[Report], Awaitable[Path]] | None,
        state_dir: Path,
        options: EngineOptions,
    ) -> None:
        self._name = name
        self._find = find
        self._fetch = fetch
        self._state_dir = state_dir
        self._options = options
        self._engine: Engine | None = None
        self._fetching: asyncio.Task[Path] | None = None
        self._progress = 0.0
        self._failure: ModelUnavailable | None = None
        self._failed_at = 0.0

    def status(self) -> ModelStatus:
        if self._engine is not None:
            return ModelStatus("loading" if self._engine.is_loading else "ready")
        if self._fetching is not None:
            return ModelStatus("fetching", progress=round(self._progress, 3))
        if self._failure is not None:
            return ModelStatus("failed", detail=self._failure.message)
        return ModelStatus("ready" if self._find() else "absent")

    async def get_engine(self) -> Engine:
        """Waits for the weights; the engine loads them itself, on first use. Raises ModelUnavailable."""
        if self._engine is None:
            weights = await self._get_weights()
            # Another waiter may have been quicker.
            self._engine = self._engine or Engine(weights, self._state_dir, self._options)
        return self._engine

    async def prepare(self) -> None:
        """Loads the model and has it read what every agent's first message begins with."""
        engine = await self.get_engine()
        prompt = warming_prompt()
        ask = Ask(prompt.text, prompt.prefix, schema=prompt.schema, max_tokens=1)
        async with aclosing(engine.generate(ask)) as answer:
            async for _ in answer:
                pass

    async def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            with suppress(asyncio.CancelledError, ModelUnavailable):
                await self._fetching
        if self._engine is not None:
            await self._engine.close()

    async def _get_weights(self) -> Path:
        if found := await asyncio.to_thread(self._find):
            return found
        if self._fetching is None:
            if self._failure is not None and time.monotonic() - self._failed_at < _RETRY_AFTER_S:
                raise self._failure
            self._fetching = asyncio.create_task(self._run_fetch())
            self._fetching.add_done_callback(_look_at)
        # Whoever waits may go away; the fetch goes on for the next.
        return await asyncio.shield(self._fetching)

    async def _run_fetch(self) -> Path:
        try:
            if self._fetch is None:
                raise ModelUnavailable(f"The weights of {self._name} are not installed")
            self._progress = 0.0
            log.info("Fetching the weights of %s, once", self._name)
            return await self._fetch(self._report)
        except (ModelUnavailable, OSError) as error:
            is_ours = isinstance(error, ModelUnavailable)
            self._failure = (
                error if is_ours else ModelUnavailable(f"The weights could not be stored: {error}")
            )
            self._failed_at = time.monotonic()
            raise self._failure from error
        finally:
            self._fetching = None

    def _report(self, progress: float) -> None:
        if int(progress / _LOGGED_STRIDE) > int(self._progress / _LOGGED_STRIDE):
            log.info("Fetching the weights of %s: %d %%", self._name, progress * 100)
        self._progress = progress


def _look_at(task: asyncio.Task[Path]) -> None:
    """A failure is kept in the status; that nobody waited for it is no error of its own."""
    if not task.cancelled():
        task.exception()
