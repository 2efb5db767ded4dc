"""Passages as documents: from their rows to be indexed and to be shown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, exists, func, select, text

from remanence.core.llm import EmbeddingConfig
from remanence.db.dialect import as_list, as_moment
from remanence.db.tables import ArchivePassageRow, ArchiveRow, PassageTagRow
from remanence.kit import json
from remanence.search.ports import Document, SearchQuery

_COLUMNS: tuple[Any, ...] = (
    ArchivePassageRow.id,
    ArchivePassageRow.organization_id,
    ArchivePassageRow.archive_id,
    ArchivePassageRow.text,
    ArchivePassageRow.created_at,
    ArchivePassageRow.tags,
)
# A search reads many rows: SQLAlchemy would take longer for them than the database.
_BY_ID = """
SELECT p.is_deleted, a.is_deleted, p.id, p.organization_id, p.archive_id, p.text, p.created_at, p.tags
FROM archival_passages AS p JOIN archives AS a ON a.id = p.archive_id WHERE p.id
"""
_BY_ID_SQLITE = f"{_BY_ID} IN (SELECT value FROM json_each(?))"
_BY_ID_POSTGRES = text(f"{_BY_ID} = ANY(CAST(:ids AS text[]))")


def load_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    return {each.id: each for each in _documents(row[2:] for row in _rows(connection, ids))}


def _rows(connection: Connection, ids: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Whether it is deleted, whether its archive is, and the columns of each."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(_BY_ID_SQLITE, (json.encode_text(list(ids)),)).all()
    else:
        rows = connection.execute(_BY_ID_POSTGRES, {"ids": list(ids)}).all()
    for *known, moment, tags in map(tuple, rows):
        yield *known, as_moment(moment), as_list(tags)


def load_visible(connection: Connection, query: SearchQuery, ids: Sequence[str]) -> dict[str, Document]:
    shown = (row[2:] for row in _rows(connection, ids) if not row[0] and not row[1])
    return {each.id: each for each in _documents(shown) if passes(query, each)}


def passes(query: SearchQuery, document: Document) -> bool:
    return (
        document.organization_id == query.organization_id
        and (query.owner_ids is None or document.owner_id in query.owner_ids)
        and (query.start is None or document.created_at >= query.start)
        and (query.end is None or document.created_at <= query.end)
        and _has_tags(query, document.tags)
    )


def _has_tags(query: SearchQuery, tags: Sequence[str]) -> bool:
    if not query.tags:
        return True
    return (all if query.needs_all_tags else any)(tag in tags for tag in query.tags)


def list_ids(connection: Connection, owner_id: str) -> list[str]:
    ids = select(ArchivePassageRow.id).where(ArchivePassageRow.archive_id == owner_id)
    return list(connection.execute(ids).scalars())


has_order = False


def load_neighbours(
    connection: Connection, documents: Sequence[Document]
) -> dict[str, tuple[str | None, str | None]]:
    return {}


def note_settled(connection: Connection, ids: Sequence[str]) -> None:
    """Nobody waits for the vectors of a passage."""


def note_silence(connection: Connection, ids: Sequence[str], config: EmbeddingConfig) -> None:
    """Words are enough."""


def load_models(connection: Connection, owner_ids: Sequence[str]) -> dict[str, EmbeddingConfig | None]:
    rows = connection.execute(
        select(ArchiveRow.id, ArchiveRow.embedding_config).where(ArchiveRow.id.in_(owner_ids))
    )
    return {row.id: row.embedding_config for row in rows}


def list_newest(connection: Connection, query: SearchQuery) -> list[Document]:
    statement = (
        select(*_COLUMNS)
        .join(ArchiveRow, ArchiveRow.id == ArchivePassageRow.archive_id)
        .where(
            ArchivePassageRow.organization_id == query.organization_id,
            ArchivePassageRow.is_deleted.is_(False),
            ArchiveRow.is_deleted.is_(False),
        )
    )
    if query.owner_ids is not None:
        statement = statement.where(ArchivePassageRow.archive_id.in_(query.owner_ids))
    if query.start is not None:
        statement = statement.where(ArchivePassageRow.created_at >= query.start)
    if query.end is not None:
        statement = statement.where(ArchivePassageRow.created_at <= query.end)
    if query.tags:
        tags = set(query.tags)
        has = (PassageTagRow.passage_id == ArchivePassageRow.id) & PassageTagRow.tag.in_(tags)
        if query.needs_all_tags:
            held = select(func.count()).select_from(PassageTagRow).where(has).scalar_subquery()
            statement = statement.where(held == len(tags))
        else:
            statement = statement.where(exists().where(has))
    if query.exclude_ids:
        statement = statement.where(ArchivePassageRow.id.not_in(query.exclude_ids))
    newest = statement.order_by(ArchivePassageRow.created_at.desc(), ArchivePassageRow.id.desc())
    return list(_documents(connection.execute(newest.limit(query.limit))))


def _documents(rows: Iterable[Sequence[Any]]) -> Iterator[Document]:
    for id, organization_id, archive_id, words, created_at, tags in rows:
        yield Document(
            *("passage", id, archive_id, organization_id, words, created_at), tags=tuple(tags or ())
        )
