"""Passages as documents: from their rows to be indexed and to be shown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, func, select

from remanence.core.llm import EmbeddingConfig
from remanence.db.tables import ArchivePassageRow, ArchiveRow, PassageTagRow
from remanence.search.ports import Document, SearchQuery

_COLUMNS: tuple[Any, ...] = (
    ArchivePassageRow.id,
    ArchivePassageRow.organization_id,
    ArchivePassageRow.archive_id,
    ArchivePassageRow.text,
    ArchivePassageRow.tags,
    ArchivePassageRow.created_at,
)
_BY_ID = (
    select(*_COLUMNS, ArchivePassageRow.is_deleted, ArchiveRow.is_deleted.label("archive_is_deleted"))
    .join(ArchiveRow, ArchiveRow.id == ArchivePassageRow.archive_id)
    .where(ArchivePassageRow.id.in_(bindparam("ids", expanding=True)))
)


def load_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    return {each.id: each for each in _documents(connection.execute(_BY_ID, {"ids": ids}))}


def load_visible(connection: Connection, query: SearchQuery, ids: Sequence[str]) -> dict[str, Document]:
    rows = connection.execute(_BY_ID, {"ids": ids})
    shown = (row for row in rows if not row.is_deleted and not row.archive_is_deleted)
    return {each.id: each for each in _documents(shown) if _passes(query, each)}


def _passes(query: SearchQuery, document: Document) -> bool:
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


def _documents(rows: Iterable[Row[*tuple[Any, ...]]]) -> Iterator[Document]:
    return (
        Document(
            kind="passage",
            id=row.id,
            owner_id=row.archive_id,
            organization_id=row.organization_id,
            text=row.text,
            created_at=row.created_at,
            tags=tuple(row.tags or ()),
        )
        for row in rows
    )
