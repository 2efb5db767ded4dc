"""All that runs inside the server, as one provider: the embedding model, and the language models if wanted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.errors import ModelUnavailable
from remanence.llm.local.embedding import LOCAL_EMBEDDING, StaticEmbedder, find_weights
from remanence.llm.local.process import PROVIDER
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.sources import EmbeddingInfo, ModelInfo

if TYPE_CHECKING:
    from remanence.llm.local.source import LocalModels


class EmbeddedSource:
    """A `ModelSource`."""

    def __init__(self, speakers: "LocalModels | None") -> None:
        self._speakers = speakers
        self._embedder = StaticEmbedder()

    @property
    def name(self) -> str:
        return PROVIDER

    def models(self) -> Sequence[ModelInfo]:
        return self._speakers.models() if self._speakers else ()

    def embeddings(self) -> Sequence[EmbeddingInfo]:
        return (LOCAL_EMBEDDING,) if find_weights() is not None else ()

    def find_model(self, name: str) -> ModelInfo | None:
        return self._speakers.find_model(name) if self._speakers else None

    def find_embedding(self, name: str) -> EmbeddingInfo | None:
        return next((each for each in self.embeddings() if each.name == name), None)

    async def ask_embedding(self, name: str) -> EmbeddingInfo | None:
        return self.find_embedding(name)

    async def refresh(self) -> None:
        """There is nobody to ask."""

    def serves(self, config: LLMConfig) -> bool:
        return self._speakers is not None and self._speakers.serves(config)

    def adapter(self, config: LLMConfig) -> ModelAdapter:
        if self._speakers is None:
            raise ModelUnavailable("The embedded language models are switched off", provider=PROVIDER)
        return self._speakers.adapter(config)

    def embeds(self, config: EmbeddingConfig) -> bool:
        return config.handle == LOCAL_EMBEDDING.handle

    def embedder(self, config: EmbeddingConfig) -> Embedder:
        return self._embedder
