"""Vectors from a provider over HTTP, in any of the formats that `embedding_formats.py` knows."""

from collections.abc import Sequence

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector, pack_vector
from remanence.errors import BadReply
from remanence.kit import json
from remanence.llm.embedding_formats import format_of
from remanence.llm.keys import Site
from remanence.llm.transport import Transport

_TIMEOUT_S = 60
_MAX_TRIES = 3
_MAX_CHARS = 24_000
"""Of one text: models refuse what is longer than some 8,000 tokens, and all of the others with it."""


class HostedEmbedder:
    """An `Embedder`."""

    def __init__(self, transport: Transport, config: EmbeddingConfig, site: Site) -> None:
        self._transport = transport
        self._model = config.embedding_model
        self._batch = max(1, config.batch_size)
        self._format = format_of(config.embedding_endpoint_type)
        self._provider = site.provider
        self._endpoint = site.endpoint(f"{site.base_url}{self._format.path.format(model=self._model)}")

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._batch):
            vectors += await self._embed_batch(texts[start : start + self._batch], is_query)
        return vectors

    async def _embed_batch(self, texts: Sequence[str], is_query: bool) -> list[Vector]:
        # Providers refuse an empty text.
        given = [text[:_MAX_CHARS] if text.strip() else "-" for text in texts]
        body = json.encode(self._format.encode(self._model, given, is_query))
        answer = await self._transport.fetch_json(
            self._endpoint, timeout_s=_TIMEOUT_S, body=body, max_tries=_MAX_TRIES
        )
        try:
            vectors = [pack_vector(each) for each in self._format.decode(answer)]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadReply(
                f"The vectors of {self._provider} are not understood", provider=self._provider
            ) from error
        if len(vectors) != len(texts):
            raise BadReply(
                f"{self._provider} gave {len(vectors)} vectors for {len(texts)} texts",
                provider=self._provider,
            )
        return vectors
