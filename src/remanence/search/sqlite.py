"""Search on SQLite: words in FTS5, vectors in a table and in memory."""

from collections.abc import Sequence

from sqlalchemy import Connection

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector
from remanence.search import backlog, sqlite_words
from remanence.search.finding import Engine, find, find_speakers
from remanence.search.ports import Document, Hit, SearchQuery
from remanence.search.shelves import shelf_of
from remanence.search.sqlite_vectors import SqliteVectors


class SqliteIndex:
    has_vectors = True

    def __init__(self) -> None:
        self._vectors = SqliteVectors()
        self._engine = Engine(sqlite_words.look_up, self._vectors.nearest, self._vectors.similarities)

    def open(self, connection: Connection) -> None:
        """The tables are there."""

    def index(self, connection: Connection, documents: Sequence[Document]) -> None:
        latest = list({document.id: document for document in documents}.values())
        if not latest:
            return
        sqlite_words.add_words(connection, latest)
        with_vectors = [document for document in latest if document.embedding is not None]
        if with_vectors:
            self._vectors.add(connection, with_vectors)
        backlog.add_fast(connection, [document for document in latest if document.embedding is None])

    def embed(self, connection: Connection, documents: Sequence[Document]) -> None:
        self._vectors.add(connection, documents)

    def delete(self, connection: Connection, ids: Sequence[str]) -> None:
        if ids:
            sqlite_words.delete_words(connection, ids)
            self._vectors.delete(connection, ids)
            backlog.drop(connection, ids)

    def forget(self, connection: Connection, owner_id: str) -> None:
        sqlite_words.delete_words(connection, shelf_of(owner_id).list_ids(connection, owner_id))
        self._vectors.forget(connection, owner_id)
        backlog.drop_owner(connection, owner_id)

    def vectors_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, Vector]:
        return self._vectors.vectors_of(connection, ids)

    def models_for(self, connection: Connection, query: SearchQuery) -> dict[int, EmbeddingConfig]:
        return self._vectors.models_for(connection, query)

    def speakers_in(self, connection: Connection, query: SearchQuery) -> set[str]:
        return find_speakers(connection, query, self._engine)

    def query(self, connection: Connection, query: SearchQuery) -> list[Hit]:
        return find(connection, query, self._engine)
