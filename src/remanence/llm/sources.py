"""What a source of models offers: the vocabulary between the catalogue, hosted providers and the embedded model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.llm.ports import Embedder, ModelAdapter

DEFAULT_CONTEXT_WINDOW = 128_000
"""For models of unknown size, and the most an agent uses of a larger one unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A language model that can be asked for by its handle."""

    handle: str
    name: str
    provider_type: str
    provider_name: str
    endpoint_type: str
    endpoint: str | None
    max_context_window: int
    max_output_tokens: int | None = None
    is_reasoning: bool = False
    reasoning_budget: int = 0
    """Tokens to think with, for models that are given a budget."""
    display_name: str | None = None
    provider_category: Literal["base", "byok"] = "base"

    def llm_config(self) -> LLMConfig:
        """What an agent gets that asks for this model and sets nothing else."""
        window = min(self.max_context_window, DEFAULT_CONTEXT_WINDOW)
        return LLMConfig(
            model=self.name,
            model_endpoint_type=self.endpoint_type,
            model_endpoint=self.endpoint,
            provider_name=self.provider_name,
            provider_category=self.provider_category,
            context_window=window,
            handle=self.handle,
            max_tokens=self._output_limit(window),
            enable_reasoner=self.is_reasoning,
            max_reasoning_tokens=self.reasoning_budget,
        )

    def _output_limit(self, window: int) -> int | None:
        """Providers refuse a limit that does not fit beside the prompt, so it must leave room for one."""
        if self.max_output_tokens is None:
            return None
        room = max(self.max_context_window - window, self.max_context_window // 4)
        return min(self.max_output_tokens, room)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingInfo:
    """An embedding model that can be asked for by its handle."""

    handle: str
    name: str
    provider_type: str
    provider_name: str
    endpoint_type: str
    endpoint: str | None
    dimensions: int
    chunk_size: int = 300
    batch_size: int = 32

    def embedding_config(self) -> EmbeddingConfig:
        return EmbeddingConfig(
            embedding_endpoint_type=self.endpoint_type,
            embedding_endpoint=self.endpoint,
            embedding_model=self.name,
            embedding_dim=self.dimensions,
            embedding_chunk_size=self.chunk_size,
            handle=self.handle,
            batch_size=self.batch_size,
        )


class ModelSource(Protocol):
    """A provider as the catalogue sees it. Lists are what is known now: giving them never waits."""

    @property
    def name(self) -> str:
        """The first part of its handles."""
        ...

    def models(self) -> Sequence[ModelInfo]: ...

    def embeddings(self) -> Sequence[EmbeddingInfo]: ...

    def find_model(self, name: str) -> ModelInfo | None:
        """May know more than it lists. `name` is the handle without its first part."""
        ...

    def find_embedding(self, name: str) -> EmbeddingInfo | None: ...

    async def ask_embedding(self, name: str) -> EmbeddingInfo | None:
        """As `find_embedding`, but a model of unknown dimensions is asked for a vector. Raises `ProviderError`."""
        ...

    async def refresh(self) -> None:
        """Learns what there is now. Raises nothing: a source that cannot be asked keeps what it knew."""
        ...

    def serves(self, config: LLMConfig) -> bool:
        """Whether calls with this configuration are for this source."""
        ...

    def adapter(self, config: LLMConfig) -> ModelAdapter: ...

    def embeds(self, config: EmbeddingConfig) -> bool:
        """Whether vectors of this configuration come from this source."""
        ...

    def embedder(self, config: EmbeddingConfig) -> Embedder: ...
