"""Vectors on PostgreSQL: a table of the extension pgvector, with a graph (HNSW) for each dimension.

Where the extension cannot be had, there is no table, and search goes by words alone.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from remanence.core.vector import Vector, dimensions_of, pack_vector, unpack_vector
from remanence.kit import json
from remanence.search.models import list_models, number_models
from remanence.search.ports import ROLES, Document, SearchQuery
from remanence.search.postgres_filters import filters_of, tags_of

if TYPE_CHECKING:
    from remanence.core.llm import EmbeddingConfig

log = logging.getLogger(__name__)

_LOCK = 0x52454D56
_MAX_GRAPH_DIMENSIONS = 4_000
_TABLE = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    """
    CREATE TABLE IF NOT EXISTS search_vectors (
      document uuid NOT NULL,
      part smallint NOT NULL,
      model integer NOT NULL,
      owner uuid NOT NULL,
      created_at timestamptz NOT NULL,
      conversation uuid,
      role smallint NOT NULL,
      dimensions integer NOT NULL,
      vector halfvec NOT NULL,
      CONSTRAINT pk_search_vectors PRIMARY KEY (document, part)
    )
    """,
    "CREATE INDEX IF NOT EXISTS ix_search_vectors_owner ON search_vectors (owner, model)",
)
_GRAPH = """
CREATE INDEX IF NOT EXISTS ix_search_vectors_{dimensions} ON search_vectors
USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) WHERE dimensions = {dimensions}
"""
_ADD = text("""
INSERT INTO search_vectors (document, part, model, owner, created_at, conversation, role, dimensions, vector)
SELECT g.document, g.part, g.model, g.owner, g.created_at, g.conversation, g.role, g.dimensions, g.vector::halfvec
FROM unnest(
  CAST(:document AS uuid[]), CAST(:part AS smallint[]), CAST(:model AS integer[]), CAST(:owner AS uuid[]),
  CAST(:created_at AS timestamptz[]), CAST(:conversation AS uuid[]), CAST(:role AS smallint[]),
  CAST(:dimensions AS integer[]), CAST(:vector AS text[])
) AS g (document, part, model, owner, created_at, conversation, role, dimensions, vector)
ON CONFLICT (document, part) DO NOTHING
""")
_DELETE = text("DELETE FROM search_vectors WHERE document = ANY(CAST(:ids AS uuid[]))")
_FORGET = text("DELETE FROM search_vectors WHERE owner = CAST(:owner AS uuid)")
_VECTORS = text("""
SELECT document::text AS document, vector::text AS vector FROM search_vectors
WHERE document = ANY(CAST(:ids AS uuid[])) AND part = 0
""")
_HAS_OWNER = text("""
SELECT EXISTS (SELECT 1 FROM search_vectors WHERE owner = ANY(CAST(:owners AS uuid[])) AND model = :model)
""")
_NEAREST = """
SELECT document::text AS document, max(similarity) AS similarity FROM (
  SELECT v.document, 1 - (v.vector::halfvec({dimensions}) <=> CAST(:question AS halfvec({dimensions}))) AS similarity
  FROM search_vectors AS v WHERE v.dimensions = {dimensions} AND v.model = :model AND {filters}
  ORDER BY v.vector::halfvec({dimensions}) <=> CAST(:question AS halfvec({dimensions})) LIMIT :count
) AS nearest GROUP BY document ORDER BY 2 DESC, 1
"""
_SIMILARITIES = text("""
SELECT document::text AS document, max(1 - (vector <=> CAST(:question AS halfvec))) AS similarity
FROM search_vectors WHERE document = ANY(CAST(:ids AS uuid[])) AND model = :model GROUP BY document
""")

_HAS_TAGS = """
EXISTS (SELECT 1 FROM search_documents AS d WHERE d.id = v.document AND d.words @@ CAST(:tags AS tsquery))
"""


class PostgresVectors:
    def __init__(self) -> None:
        self._is_there: bool | None = None
        self._graphs: set[int] = set()

    def open(self, connection: Connection) -> None:
        """Makes the table if it is not there yet."""
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        self._is_there = None
        if not self.is_there(connection):
            try:
                with connection.begin_nested():
                    for statement in _TABLE:
                        connection.execute(text(statement))
                self._is_there = True
            except DBAPIError as error:
                log.warning("No vectors: the extension pgvector cannot be used here (%s)", error.orig)

    def is_there(self, connection: Connection) -> bool:
        if self._is_there is None:
            found = connection.scalar(text("SELECT to_regclass('search_vectors')::text"))
            self._is_there = found is not None
        return self._is_there

    def add(self, connection: Connection, documents: Sequence[Document]) -> None:
        rows: list[dict[str, Any]] = []
        numbers = number_models(connection, documents)
        for document in documents:
            embedding = document.embedding
            if embedding is None or not embedding.vectors:
                continue
            dimensions = dimensions_of(embedding.vectors[0])
            self._draw_graph(connection, dimensions)
            model = numbers[embedding.config, document.organization_id, document.kind]
            rows += [
                {
                    "document": document.id[-36:],
                    "part": part,
                    "model": model,
                    "owner": document.owner_id[-36:],
                    "created_at": document.created_at,
                    "conversation": document.conversation_id and document.conversation_id[-36:],
                    "role": ROLES.get(document.role, 0),
                    "dimensions": dimensions,
                    "vector": _written(vector),
                }
                for part, vector in enumerate(embedding.vectors)
            ]
        self.delete(connection, [document.id for document in documents])
        if rows:
            connection.execute(_ADD, {name: [row[name] for row in rows] for name in rows[0]})

    def _draw_graph(self, connection: Connection, dimensions: int) -> None:
        if dimensions in self._graphs:
            return
        self._graphs.add(dimensions)
        if dimensions <= _MAX_GRAPH_DIMENSIONS:
            known = connection.scalar(
                text("SELECT to_regclass(:name)::text"), {"name": f"ix_search_vectors_{dimensions}"}
            )
            if known is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                connection.execute(text(_GRAPH.format(dimensions=dimensions)))

    def delete(self, connection: Connection, ids: Sequence[str]) -> None:
        connection.execute(_DELETE, {"ids": [id[-36:] for id in ids]})

    def forget(self, connection: Connection, owner_id: str) -> None:
        connection.execute(_FORGET, {"owner": owner_id[-36:]})

    def vectors_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, Vector]:
        by_document = {id[-36:]: id for id in ids}
        rows = connection.execute(_VECTORS, {"ids": list(by_document)})
        return {by_document[row.document]: pack_vector(json.decode(row.vector)) for row in rows}

    def models_for(self, connection: Connection, query: SearchQuery) -> "dict[int, EmbeddingConfig]":
        if not self.is_there(connection):
            return {}
        models = list_models(connection, query.organization_id, [query.kind])
        if query.owner_ids is None:
            return models
        owners = [owner_id[-36:] for owner_id in query.owner_ids]
        return {
            model: config
            for model, config in models.items()
            if connection.scalar(_HAS_OWNER, {"owners": owners, "model": model})
        }

    def nearest(self, connection: Connection, query: SearchQuery, count: int) -> dict[str, float]:
        filters, values = filters_of(query, "v")
        if query.tags:
            filters.append(_HAS_TAGS)
            values["tags"] = tags_of(query)
        found: dict[str, float] = {}
        for model, vector in query.vectors.items():
            statement = _NEAREST.format(
                dimensions=dimensions_of(vector), filters=" AND ".join(["TRUE", *filters])
            )
            rows = connection.execute(
                text(statement),
                {"question": _written(vector), "model": model, "count": 2 * count, **values},
            )
            found |= {f"{query.kind}-{row.document}": row.similarity for row in rows}
        return dict(sorted(found.items(), key=lambda pair: -pair[1])[:count])

    def similarities(
        self, connection: Connection, query: SearchQuery, ids: Sequence[str]
    ) -> dict[str, float]:
        found: dict[str, float] = {}
        for model, vector in query.vectors.items():
            values = {"question": _written(vector), "ids": [id[-36:] for id in ids], "model": model}
            rows = connection.execute(_SIMILARITIES, values)
            found |= {f"{query.kind}-{row.document}": row.similarity for row in rows}
        return found


def _written(vector: Vector) -> str:
    return f"[{','.join(f'{value:.6g}' for value in unpack_vector(vector))}]"
