"""Searching and indexing with embedding models at hand. What a model cannot give is done without."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from sqlalchemy import Connection

from remanence.core.asked_dates import find_dates
from remanence.core.llm import EmbeddingConfig
from remanence.core.parts import split_parts
from remanence.core.search_text import without_names
from remanence.core.vector import Vector
from remanence.db.database import Database
from remanence.errors import AppError
from remanence.search.ports import Embedding, Hit, SearchIndex, SearchQuery

log = logging.getLogger(__name__)

_QUESTION_TIMEOUT_S = 5
_TEXTS_TIMEOUT_S = 20
_QUESTIONS_KEPT = 200


class Embed(Protocol):
    async def __call__(
        self,
        config: EmbeddingConfig,
        texts: Sequence[str],
        *,
        organization_id: str,
        is_query: bool = False,
    ) -> list[Vector]: ...


class Search:
    def __init__(self, db: Database, index: SearchIndex, embed: Embed) -> None:
        self._db = db
        self._index = index
        self._embed = embed
        self._questions: dict[tuple[int, str], Vector] = {}
        """What was asked lately: pages of one search, or a model that asks again."""

    async def find(self, query: SearchQuery, *, uses_meaning: bool = True) -> list[Hit]:
        """By words and by meaning, as far as there are vectors and their models answer."""
        if uses_meaning and query.text.strip():
            query = replace(query, vectors=await self._question(query))
        return await self._db.read(self._index.query, query)

    async def embed_all(
        self, config: EmbeddingConfig | None, texts: Sequence[str], organization_id: str
    ) -> list[Embedding | None]:
        """The vectors of the parts of each text; none where there is no model, or it does not answer."""
        if config is None or not texts:
            return [None] * len(texts)
        parts = [split_parts(text) for text in texts]
        try:
            async with asyncio.timeout(_TEXTS_TIMEOUT_S):
                pieces = [part for each in parts for part in each]
                vectors = await self._embed(config, pieces, organization_id=organization_id)
        except (AppError, TimeoutError) as error:
            log.warning("No vectors by %s for now: %s", config.handle or config.embedding_model, error)
            return [None] * len(texts)
        found: list[Embedding | None] = []
        for each in parts:
            found.append(Embedding(config, tuple(vectors[: len(each)])))
            vectors = vectors[len(each) :]
        return found

    def _look_ahead(
        self, connection: Connection, query: SearchQuery
    ) -> tuple[dict[int, EmbeddingConfig], set[str]]:
        models = self._index.models_for(connection, query)
        return models, self._index.speakers_in(connection, query) if models else set()

    async def _question(self, query: SearchQuery) -> dict[int, Vector]:
        vectors: dict[int, Vector] = {}
        models, names = await self._db.read(self._look_ahead, query)
        asked = without_names(query.text, {*names, *(date.text for date in find_dates(query.text))})
        for model, config in models.items():
            known = self._questions.get((model, asked))
            if known is not None:
                vectors[model] = known
                continue
            try:
                async with asyncio.timeout(_QUESTION_TIMEOUT_S):
                    (vectors[model],) = await self._embed(
                        config, [asked], organization_id=query.organization_id, is_query=True
                    )
                while len(self._questions) >= _QUESTIONS_KEPT:
                    self._questions.pop(next(iter(self._questions)))
                self._questions[model, asked] = vectors[model]
            except (AppError, TimeoutError) as error:
                log.warning("Searching by words alone: %s", error)
        return vectors
