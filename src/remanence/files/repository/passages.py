"""SQL for the passages of files. What is found by search is indexed in the same transaction."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from remanence.core.actor import Actor
from remanence.core.file import FilePassage
from remanence.core.llm import EmbeddingConfig
from remanence.core.page import Page
from remanence.db.dialect import checked
from remanence.db.paging import fetch_page
from remanence.db.tables import FileRow, SourcePassageRow
from remanence.kit.clock import utc_now
from remanence.search.chunks import document_id
from remanence.search.ports import Document, Embedding, SearchIndex

_PASSAGE = [
    column for column in SourcePassageRow.__table__.columns if column.name in FilePassage.model_fields
]
_ALL: tuple[Any, ...] = (
    *_PASSAGE,
    SourcePassageRow.source_id.label("folder_id"),
    SourcePassageRow.metadata_.label("metadata"),
)


def insert_passages(
    connection: Connection,
    index: SearchIndex,
    passages: Sequence[FilePassage],
    embeddings: Sequence[Embedding | None] | None = None,
) -> None:
    """Where there are no vectors, they are made later."""
    if not passages:
        return
    connection.execute(insert(SourcePassageRow), [_row(passage) for passage in passages])
    pairs = zip(passages, embeddings or [None] * len(passages), strict=True)
    index.index(connection, [_document(passage, embedding) for passage, embedding in pairs])


def list_passages(connection: Connection, actor: Actor, folder_id: str, page: Page) -> list[FilePassage]:
    mine: list[ColumnElement[bool]] = [
        SourcePassageRow.source_id == folder_id,
        checked(SourcePassageRow.organization_id) == actor.organization_id,
    ]
    rows = fetch_page(
        connection,
        select(*_ALL).where(*mine, SourcePassageRow.is_deleted.is_(False)),
        page,
        key=SourcePassageRow.created_at,
        id_column=SourcePassageRow.id,
        scope=mine,
    )
    return [_passage_from(row) for row in rows]


def find_passages(connection: Connection, ids: Sequence[str]) -> dict[str, FilePassage]:
    rows = connection.execute(select(*_ALL).where(SourcePassageRow.id.in_(ids)))
    return {row.id: _passage_from(row) for row in rows}


def set_models(connection: Connection, folder_id: str, config: EmbeddingConfig) -> None:
    """All that is in a folder is to have vectors of this model; files tell of it as when they were new."""
    connection.execute(
        update(SourcePassageRow)
        .where(SourcePassageRow.source_id == folder_id)
        .values(embedding_config=config)
    )
    is_read = FileRow.processing_status.in_(("embedding", "completed", "error"))
    has_passages = (FileRow.source_id == folder_id) & is_read & (FileRow.total_chunks > 0)
    changes = {
        "processing_status": "embedding",
        "error_message": None,
        "chunks_embedded": 0,
        "updated_at": utc_now(),
    }
    connection.execute(update(FileRow).where(has_passages).values(**changes))


def _document(passage: FilePassage, embedding: Embedding | None) -> Document:
    return Document(
        kind="chunk",
        id=document_id(passage.id),
        owner_id=passage.folder_id,
        organization_id=passage.organization_id,
        text=passage.text,
        created_at=passage.created_at,
        embedding=embedding,
    )


def _row(passage: FilePassage) -> dict[str, Any]:
    values = passage.model_dump(exclude={"metadata", "embedding_config", "tags", "folder_id"})
    return values | {
        "source_id": passage.folder_id,
        "metadata_": passage.metadata,
        "embedding_config": passage.embedding_config,
        "tags": list(passage.tags) or None,
    }


def _passage_from(row: Row[*tuple[Any, ...]]) -> FilePassage:
    fields = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]  # a public part of SQLAlchemy's API
    return FilePassage.model_validate(fields | {"tags": tuple(row.tags or ())})
