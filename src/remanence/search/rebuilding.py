"""The index made anew from the tables that hold the texts: after a change of how words are split, or to be
rid of what FTS5 could not forget. New vectors follow in the background; the old ones serve until then."""

from collections.abc import Sequence
from itertools import groupby

from sqlalchemy import Connection, delete, select, text

from remanence.db.tables import ArchivePassageRow, EmbeddingBacklogRow, MessageRow, SourcePassageRow
from remanence.search.chunks import document_id
from remanence.search.ports import SearchIndex
from remanence.search.shelves import shelf_of

_CLEAR_SQLITE = (
    "INSERT INTO search_words (search_words) VALUES ('delete-all')",
    "DELETE FROM search_documents",
    "DELETE FROM search_vectors WHERE vector IS NULL",
)
_CLEAR_POSTGRES = ("TRUNCATE search_documents",)


def list_all(connection: Connection) -> list[str]:
    """The ids of all that can be found, oldest first of each kind."""
    messages = select(MessageRow.id).order_by(MessageRow.created_at, MessageRow.id)
    passages = select(ArchivePassageRow.id).order_by(ArchivePassageRow.created_at, ArchivePassageRow.id)
    chunks = select(SourcePassageRow.id).order_by(SourcePassageRow.created_at, SourcePassageRow.id)
    return [
        *connection.scalars(messages),
        *connection.scalars(passages),
        *map(document_id, connection.scalars(chunks)),
    ]


def clear_index(connection: Connection) -> None:
    """What is indexed is found no more until it is indexed again. Servers may run meanwhile."""
    is_sqlite = connection.dialect.name == "sqlite"
    for statement in _CLEAR_SQLITE if is_sqlite else _CLEAR_POSTGRES:
        connection.execute(text(statement))
    connection.execute(delete(EmbeddingBacklogRow))


def index_some(connection: Connection, index: SearchIndex, ids: Sequence[str]) -> None:
    for _, group in groupby(ids, key=lambda id: id.partition("-")[0]):
        some = list(group)
        index.index(connection, list(shelf_of(some[0]).load_documents(connection, some).values()))
