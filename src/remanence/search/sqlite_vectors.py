"""Vectors on SQLite: a log of them in a table, and a matrix in memory for each owner that is searched.

A matrix is made on first use and reads what was added since at every later one, by this process or by
another. The least used go when all together grow too large.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection

from remanence.core.vector import Vector, dimensions_of
from remanence.search.models import list_models, number_models
from remanence.search.ports import ROLES, Document, SearchQuery
from remanence.search.sqlite_words import micros, packed, tagged_documents

if TYPE_CHECKING:
    from remanence.core.llm import EmbeddingConfig
    from remanence.search.matrix import Bounds, Matrix

T = TypeVar("T")

_MAX_BYTES = 512 * 2**20
_BATCH = 500
_LOAD_ROWS = 20_000

_ADD = """
INSERT INTO search_vectors (model, owner, document, created_at, role, conversation, vector)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_GONE = "INSERT INTO search_vectors (model, owner, document) VALUES (?, ?, ?)"
_TAKE_OUT = "DELETE FROM search_vectors WHERE document IN ({marks}) RETURNING model, owner, document"
_TAKE_ALL = (
    "DELETE FROM search_vectors WHERE owner = ? AND vector IS NOT NULL RETURNING model, owner, document"
)
_HAS_OWNER = "SELECT 1 FROM search_vectors WHERE owner = ? AND model = ? LIMIT 1"
_VECTORS = """
SELECT document, vector FROM search_vectors WHERE document IN ({marks}) AND vector IS NOT NULL ORDER BY key
"""
_LATER = """
SELECT key, document, created_at, role, conversation, vector FROM search_vectors
WHERE {place} AND key > ? ORDER BY key LIMIT ?
"""


class SqliteVectors:
    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._matrices: OrderedDict[tuple[int, bytes | None], tuple[Matrix, threading.Lock]] = OrderedDict()

    def add(self, connection: Connection, documents: Sequence[Document]) -> None:
        """Stores the vectors that documents come with, in place of those they had."""
        from remanence.search.matrix import quantise

        self._take_out(connection, [document.id for document in documents])
        rows: list[tuple[object, ...]] = []
        numbers = number_models(connection, documents)
        for document in documents:
            embedding = document.embedding
            if embedding is None or not embedding.vectors:
                continue
            about = (
                numbers[embedding.config, document.organization_id, document.kind],
                packed(document.owner_id),
                packed(document.id),
                micros(document.created_at),
                ROLES.get(document.role, 0),
                packed(document.conversation_id) if document.conversation_id else None,
            )
            rows += [(*about, quantise(vector)) for vector in embedding.vectors]
        if rows:
            connection.exec_driver_sql(_ADD, rows)

    def delete(self, connection: Connection, ids: Sequence[str]) -> None:
        gone = self._take_out(connection, ids)
        if gone:
            connection.exec_driver_sql(_GONE, gone)

    def forget(self, connection: Connection, owner_id: str) -> None:
        rows = connection.exec_driver_sql(_TAKE_ALL, (packed(owner_id),)).all()
        if rows:
            connection.exec_driver_sql(_GONE, sorted({(row[0], row[1], row[2]) for row in rows}))

    def vectors_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, Vector]:
        from remanence.search.matrix import restore

        by_document = {packed(id): id for id in ids}
        found: dict[str, Vector] = {}
        for batch in _batches(list(by_document)):
            statement = _VECTORS.format(marks=", ".join("?" * len(batch)))
            for document, vector in connection.exec_driver_sql(statement, tuple(batch)):
                found.setdefault(by_document[document], restore(vector))
        return found

    def models_for(self, connection: Connection, query: SearchQuery) -> "dict[int, EmbeddingConfig]":
        models = list_models(connection, query.organization_id, [query.kind])
        if query.owner_ids is None:
            return models
        owners = [packed(owner_id) for owner_id in query.owner_ids]
        return {
            model: config
            for model, config in models.items()
            if any(connection.exec_driver_sql(_HAS_OWNER, (owner, model)).first() for owner in owners)
        }

    def nearest(self, connection: Connection, query: SearchQuery, count: int) -> dict[str, float]:
        from remanence.search.matrix import quantise

        bounds = _bounds(connection, query)
        found: dict[bytes, float] = {}
        for model, vector in query.vectors.items():
            question = quantise(vector)
            for owner in _owners(query):
                with self._open(connection, model, owner, vector) as matrix:
                    found |= matrix.nearest(question, bounds, count)
        best = sorted(found.items(), key=lambda pair: -pair[1])[:count]
        return {f"{query.kind}-{_uuid(document)}": score for document, score in best}

    def similarities(
        self, connection: Connection, query: SearchQuery, ids: Sequence[str]
    ) -> dict[str, float]:
        from remanence.search.matrix import quantise

        documents = [packed(id) for id in ids]
        found: dict[bytes, float] = {}
        for model, vector in query.vectors.items():
            question = quantise(vector)
            for owner in _owners(query):
                with self._open(connection, model, owner, vector, is_known=True) as matrix:
                    found |= matrix.similarities(question, documents)
        return {f"{query.kind}-{_uuid(document)}": score for document, score in found.items()}

    def _take_out(self, connection: Connection, ids: Sequence[str]) -> list[tuple[int, bytes, bytes]]:
        gone: set[tuple[int, bytes, bytes]] = set()
        for batch in _batches(ids):
            statement = _TAKE_OUT.format(marks=", ".join("?" * len(batch)))
            rows = connection.exec_driver_sql(statement, tuple(map(packed, batch)))
            gone |= {(row[0], row[1], row[2]) for row in rows}
        return sorted(gone)

    def _open(
        self,
        connection: Connection,
        model: int,
        owner: bytes | None,
        vector: Vector,
        *,
        is_known: bool = False,
    ) -> "_OpenMatrix":
        """The matrix of an owner, or of all owners, with all that this connection can see.

        `is_known`: it was looked at in this transaction, so nothing can have come since.
        """
        from remanence.search.matrix import Matrix

        place = (model, owner)
        with self._lock:
            known = self._matrices.pop(place, None)
            if known is None or known[0].is_wasteful:
                known = Matrix(dimensions_of(vector)), threading.Lock()
            self._matrices[place] = known
            used = sum(matrix.size for matrix, _ in self._matrices.values())
            while used > self._max_bytes and len(self._matrices) > 1:
                _, (dropped, _) = self._matrices.popitem(last=False)
                used -= dropped.size
        matrix, lock = known
        lock.acquire()
        try:
            if not is_known or not matrix.last_key:
                _catch_up(connection, matrix, model, owner)
        except BaseException:
            lock.release()
            raise
        return _OpenMatrix(matrix, lock)


class _OpenMatrix:
    """In one hand at a time."""

    def __init__(self, matrix: "Matrix", lock: threading.Lock) -> None:
        self._matrix = matrix
        self._lock = lock

    def __enter__(self) -> "Matrix":
        return self._matrix

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _catch_up(connection: Connection, matrix: "Matrix", model: int, owner: bytes | None) -> None:
    place = "model = ?" if owner is None else "owner = ? AND model = ?"
    values = (model,) if owner is None else (owner, model)
    statement = _LATER.format(place=place)
    while True:
        rows = connection.exec_driver_sql(statement, (*values, matrix.last_key, _LOAD_ROWS)).all()
        if rows:
            matrix.append([tuple(row) for row in rows])
        if len(rows) < _LOAD_ROWS:
            return


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _owners(query: SearchQuery) -> list[bytes | None]:
    return [None] if query.owner_ids is None else [packed(owner_id) for owner_id in query.owner_ids]


def _bounds(connection: Connection, query: SearchQuery) -> "Bounds":
    from remanence.search.matrix import Bounds

    conversation = query.conversation_id
    return Bounds(
        start=micros(query.start) if query.start is not None else None,
        end=micros(query.end) if query.end is not None else None,
        roles=[ROLES[role] for role in query.roles if role in ROLES] if query.roles is not None else None,
        is_own=conversation == "default",
        conversation=packed(conversation) if conversation not in (None, "default") else None,
        documents=tagged_documents(connection, query) if query.tags else None,
    )


def _uuid(document: bytes) -> str:
    digits = document.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
