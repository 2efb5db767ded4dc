"""The embedded models as a provider: what there is, how far it has come, and the adapter to it."""

import asyncio
import functools
import importlib.util
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from remanence.core.llm import LLMConfig
from remanence.errors import ModelUnavailable, NotFound
from remanence.llm.local.adapter import MAX_ANSWER_TOKENS, LocalAdapter
from remanence.llm.local.engine import CONTEXT_TOKENS, Engine, EngineOptions
from remanence.llm.local.keeper import ModelKeeper, ModelStatus
from remanence.llm.local.process import PROVIDER
from remanence.llm.local.weights import (
    STANDARD,
    Clients,
    fetch_weights,
    find_clients,
    find_small_weights,
    find_weights,
)
from remanence.llm.sources import ModelInfo

log = logging.getLogger(__name__)

Which = Literal["standard", "small"]

_SMALL_PENALTY = 0.8
"""Without it the small model says the same sentence until its tokens run out."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    name: str
    display_name: str

    @property
    def handle(self) -> str:
        return f"{PROVIDER}/{self.name}"

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            handle=self.handle,
            name=self.name,
            display_name=self.display_name,
            provider_type=PROVIDER,
            provider_name=PROVIDER,
            endpoint_type="llamacpp",  # the contract's list has no name for "in this server"
            endpoint=None,
            max_context_window=CONTEXT_TOKENS,
            max_output_tokens=MAX_ANSWER_TOKENS,
        )


STANDARD_MODEL = LocalModel("qwen2.5-coder-1.5b", "Qwen2.5 Coder 1.5B (embedded, to try things)")
SMALL_MODEL = LocalModel("smollm2-135m", "SmolLM2 135M (embedded, for tests)")


class LocalModels:
    """`which` names the default; with `small` the large model is neither offered nor fetched.

    `folder` holds the weights and the evaluated states. Nothing is fetched, loaded or started before
    `start`, `prepare` or the first message asks for it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        which: Which = "standard",
        options: EngineOptions | None = None,
        clients: Clients = find_clients,
    ) -> None:
        options = options or EngineOptions()
        self._offered = (STANDARD_MODEL, SMALL_MODEL) if which == "standard" else (SMALL_MODEL,)
        self._small = ModelKeeper(
            SMALL_MODEL.name,
            find=find_small_weights,
            fetch=None,
            state_dir=folder / "states" / SMALL_MODEL.name,
            options=replace(options, loop_penalty=_SMALL_PENALTY),
        )
        self._keepers = {SMALL_MODEL.name: self._small}
        if which == "standard":
            self._keepers[STANDARD_MODEL.name] = ModelKeeper(
                STANDARD_MODEL.name,
                find=functools.partial(find_weights, STANDARD, folder),
                fetch=lambda report: fetch_weights(STANDARD, folder, report, clients),
                state_dir=folder / "states" / STANDARD_MODEL.name,
                options=options,
            )
        self._adapter = LocalAdapter(self.get_engine)
        self._preparing: asyncio.Task[None] | None = None
        self._told: ModelUnavailable | None = None

    @property
    def name(self) -> str:
        return PROVIDER

    @property
    def default_handle(self) -> str:
        return self._offered[0].handle

    def models(self) -> Sequence[ModelInfo]:
        """The default first; none where the engine, an optional part, is not installed."""
        return [model.info for model in self._offered if is_engine_installed() and self._has_way(model)]

    def find_model(self, name: str) -> ModelInfo | None:
        return next((model for model in self.models() if model.name == name), None)

    async def refresh(self) -> None:
        """There is nobody to ask."""

    def serves(self, config: LLMConfig) -> bool:
        return config.provider_name == PROVIDER

    def adapter(self, config: LLMConfig) -> LocalAdapter:
        return self._adapter

    def get_status(self, handle: str) -> ModelStatus:
        """Raises NotFound."""
        status = self._keepers[self._name_of(handle)].status()
        if status.state == "failed" and handle != SMALL_MODEL.handle and find_small_weights():
            return replace(status, detail=f"{status.detail}. {SMALL_MODEL.name} answers in its place.")
        return status

    def start(self) -> None:
        """Begins to fetch and load the default model, and returns at once."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(self._prepare_quietly())

    async def prepare(self, handle: str) -> None:
        """Fetches, loads and warms a model up. Raises NotFound and ModelUnavailable."""
        await (await self._get_keeper(self._name_of(handle))).prepare()

    async def close(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
            with suppress(asyncio.CancelledError):
                await self._preparing
        for keeper in self._keepers.values():
            await keeper.close()

    async def get_engine(self, name: str) -> Engine:
        """For the adapter: waits for the weights. Raises ModelUnavailable."""
        return await (await self._get_keeper(name)).get_engine()

    async def _get_keeper(self, name: str) -> ModelKeeper:
        """The keeper of a model, or of the small one where the large file cannot be had."""
        keeper = self._keepers.get(name)
        if keeper is None:
            raise ModelUnavailable(f"There is no embedded model {name}", provider=PROVIDER)
        try:
            await keeper.get_engine()
        except ModelUnavailable as error:
            if keeper is self._small or find_small_weights() is None:
                raise
            if error is not self._told:  # once for each failure, not for each message
                self._told = error
                log.warning(
                    "%s. Its place is taken by %s, which answers fast and badly",
                    error.message,
                    SMALL_MODEL.name,
                )
            return self._small
        return keeper

    async def _prepare_quietly(self) -> None:
        try:
            await self.prepare(self.default_handle)
            log.info("The embedded model %s is ready", self.default_handle)
        except ModelUnavailable as error:
            log.warning("The embedded model cannot be used: %s", error.message)

    def _name_of(self, handle: str) -> str:
        name = handle.removeprefix(f"{PROVIDER}/")
        if name not in self._keepers:
            raise NotFound(f"There is no embedded model {handle}")
        return name

    def _has_way(self, model: LocalModel) -> bool:
        return model is not SMALL_MODEL or find_small_weights() is not None


def is_engine_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None
