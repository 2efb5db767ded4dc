"""Passages of files as documents. Their ids begin with `passage-` for everyone else, as those of archival
memory do; here they are told apart by a prefix of their own."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, case, func, select, text, update

from remanence.core.llm import EmbeddingConfig
from remanence.db.dialect import as_moment
from remanence.db.tables import FileRow, SourcePassageRow, SourceRow
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.search.passages import passes
from remanence.search.ports import Document, SearchQuery

_PREFIX, _SHOWN_PREFIX = "chunk-", "passage-"
_Row = SourcePassageRow
_COLUMNS: tuple[Any, ...] = (_Row.id, _Row.organization_id, _Row.source_id, _Row.text, _Row.created_at)
_BY_ID = """
SELECT p.is_deleted, s.is_deleted, p.id, p.organization_id, p.source_id, p.text, p.created_at
FROM source_passages AS p JOIN sources AS s ON s.id = p.source_id WHERE p.id
"""
_BY_ID_SQLITE = f"{_BY_ID} IN (SELECT value FROM json_each(?))"
_BY_ID_POSTGRES = text(f"{_BY_ID} = ANY(CAST(:ids AS text[]))")

LONGEST_SILENCE = timedelta(minutes=30)
_SILENT = (
    "The embedding model {model} has not answered for 30 minutes, so that only the words of this file are "
    "found. See that the model can be reached and its key is right: it is asked again every ten minutes. "
    "Or give the folder another `embedding_config`."
)

has_order = False


def document_id(passage_id: str) -> str:
    return _PREFIX + passage_id.removeprefix(_SHOWN_PREFIX)


def passage_id(document_id: str) -> str:
    return _SHOWN_PREFIX + document_id.removeprefix(_PREFIX)


def load_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    return {each.id: each for each in _documents(row[2:] for row in _rows(connection, ids))}


def load_visible(connection: Connection, query: SearchQuery, ids: Sequence[str]) -> dict[str, Document]:
    shown = (row[2:] for row in _rows(connection, ids) if not row[0] and not row[1])
    return {each.id: each for each in _documents(shown) if passes(query, each)}


def _rows(connection: Connection, ids: Sequence[str]) -> Iterator[Sequence[Any]]:
    named = list(map(passage_id, ids))
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(_BY_ID_SQLITE, (json.encode_text(named),)).all()
    else:
        rows = connection.execute(_BY_ID_POSTGRES, {"ids": named}).all()
    for *known, moment in map(tuple, rows):
        yield *known, as_moment(moment)


def list_ids(connection: Connection, owner_id: str) -> list[str]:
    return [document_id(id) for id in connection.scalars(select(_Row.id).where(_Row.source_id == owner_id))]


def load_neighbours(
    connection: Connection, documents: Sequence[Document]
) -> dict[str, tuple[str | None, str | None]]:
    return {}


def load_models(connection: Connection, owner_ids: Sequence[str]) -> dict[str, EmbeddingConfig | None]:
    rows = connection.execute(
        select(SourceRow.id, SourceRow.embedding_config).where(SourceRow.id.in_(owner_ids))
    )
    return {row.id: row.embedding_config for row in rows}


def list_newest(connection: Connection, query: SearchQuery) -> list[Document]:
    statement = (
        select(*_COLUMNS)
        .join(SourceRow, SourceRow.id == _Row.source_id)
        .where(
            _Row.organization_id == query.organization_id,
            _Row.is_deleted.is_(False),
            SourceRow.is_deleted.is_(False),
        )
    )
    if query.owner_ids is not None:
        statement = statement.where(_Row.source_id.in_(query.owner_ids))
    if query.start is not None:
        statement = statement.where(_Row.created_at >= query.start)
    if query.end is not None:
        statement = statement.where(_Row.created_at <= query.end)
    newest = statement.order_by(_Row.created_at.desc(), _Row.id.desc())
    return list(_documents(connection.execute(newest.limit(query.limit))))


def note_settled(connection: Connection, ids: Sequence[str]) -> None:
    """Files tell how many of their passages wait no longer, and are complete when none does."""
    counts = connection.execute(
        select(_Row.file_id, func.count())
        .where(_Row.id.in_(list(map(passage_id, ids))), _Row.file_id.is_not(None))
        .group_by(_Row.file_id)
        .order_by(_Row.file_id)
    ).all()
    for file_id, count in counts:
        done = func.coalesce(FileRow.chunks_embedded, 0) + count
        total = func.coalesce(FileRow.total_chunks, 0)
        is_waiting = FileRow.processing_status == "embedding"
        was_given_up = (FileRow.processing_status == "error") & FileRow.total_chunks.is_not(None)
        is_over = (is_waiting | was_given_up) & (done >= total)
        connection.execute(
            update(FileRow)
            .where(FileRow.id == file_id)
            .values(
                chunks_embedded=case((done > total, total), else_=done),
                processing_status=case((is_over, "completed"), else_=FileRow.processing_status),
                error_message=case((is_over, None), else_=FileRow.error_message),
                updated_at=utc_now(),
            )
        )


def note_silence(connection: Connection, ids: Sequence[str], config: EmbeddingConfig) -> None:
    """A file that has long got no vectors says so. It gets them still, once the model answers."""
    files = select(_Row.file_id).where(_Row.id.in_(list(map(passage_id, ids))))
    now = utc_now()
    connection.execute(
        update(FileRow)
        .where(
            FileRow.id.in_(files),
            FileRow.processing_status == "embedding",
            FileRow.updated_at < now - LONGEST_SILENCE,
        )
        .values(
            processing_status="error",
            error_message=_SILENT.format(model=config.handle or config.embedding_model),
            updated_at=now,
        )
    )


def _documents(rows: Iterable[Sequence[Any]]) -> Iterator[Document]:
    for id, organization_id, source_id, words, created_at in rows:
        yield Document("chunk", document_id(id), source_id, organization_id, words, created_at)
