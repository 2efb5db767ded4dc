"""SQL for files and their texts."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, exists, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.file import File
from remanence.core.page import Page
from remanence.db.dialect import checked
from remanence.db.dialect import insert as upsert
from remanence.db.paging import fetch_page
from remanence.db.tables import FileContentRow, FileRow, SourcePassageRow, SourceRow
from remanence.errors import NotFound
from remanence.files.repository.folders import get_folder
from remanence.files.repository.holders import touch_holders
from remanence.kit.clock import utc_now
from remanence.search.chunks import document_id
from remanence.search.ports import SearchIndex

_COLUMNS = {
    "id": FileRow.id,
    "organization_id": FileRow.organization_id,
    "folder_id": FileRow.source_id,
    "name": FileRow.file_name,
    "original_name": FileRow.original_file_name,
    "path": FileRow.file_path,
    "type": FileRow.file_type,
    "size": FileRow.file_size,
    "creation_date": FileRow.file_creation_date,
    "last_modified_date": FileRow.file_last_modified_date,
    "status": FileRow.processing_status,
    "error_message": FileRow.error_message,
    "total_chunks": FileRow.total_chunks,
    "chunks_embedded": FileRow.chunks_embedded,
    "created_at": FileRow.created_at,
    "updated_at": FileRow.updated_at,
    "created_by_id": FileRow.created_by_id,
    "last_updated_by_id": FileRow.last_updated_by_id,
}
"""Our words for the columns."""
_FILE: list[Any] = [column.label(name) for name, column in _COLUMNS.items()]
_BATCH = 1000
_LIVE = FileRow.is_deleted.is_(False)


def insert_file(connection: Connection, file: File) -> File:
    connection.execute(insert(FileRow), _values(file.model_dump()))
    return file


def get_file(connection: Connection, actor: Actor, file_id: str, folder_id: str | None = None) -> File:
    """Raises NotFound, also for a file of another folder."""
    file = find_file(connection, actor, file_id)
    if file is None or folder_id not in (None, file.folder_id):
        raise NotFound(f"There is no file {file_id}" + (f" in folder {folder_id}." if folder_id else "."))
    return file


def find_file(connection: Connection, actor: Actor, file_id: str) -> File | None:
    row = connection.execute(
        select(*_FILE).where(
            FileRow.id == file_id, checked(FileRow.organization_id) == actor.organization_id, _LIVE
        )
    ).first()
    return _file_from(row) if row else None


def list_files(connection: Connection, actor: Actor, folder_id: str, page: Page) -> list[File]:
    mine: list[ColumnElement[bool]] = [
        FileRow.source_id == folder_id,
        checked(FileRow.organization_id) == actor.organization_id,
    ]
    rows = fetch_page(
        connection,
        select(*_FILE).where(*mine, _LIVE),
        page,
        key=FileRow.created_at,
        id_column=FileRow.id,
        scope=mine,
    )
    return [_file_from(row) for row in rows]


def list_files_of(connection: Connection, actor: Actor, folder_ids: Sequence[str]) -> list[File]:
    """All files of these folders, oldest first."""
    rows = connection.execute(
        select(*_FILE)
        .where(
            FileRow.source_id.in_(folder_ids),
            checked(FileRow.organization_id) == actor.organization_id,
            _LIVE,
        )
        .order_by(FileRow.created_at, FileRow.id)
    )
    return [_file_from(row) for row in rows]


def list_uncut(connection: Connection) -> list[File]:
    """Files of whichever organisation that are said to be complete, and whose text stands in no passage."""
    has_text = exists().where(FileContentRow.file_id == FileRow.id, FileContentRow.text != "")
    has_passages = exists().where(SourcePassageRow.file_id == FileRow.id)
    rows = connection.execute(
        select(*_FILE).where(_LIVE, FileRow.processing_status == "completed", has_text, ~has_passages)
    )
    return [_file_from(row) for row in rows]


def count_files(connection: Connection, folder_id: str) -> int:
    statement = select(func.count()).select_from(FileRow).where(FileRow.source_id == folder_id, _LIVE)
    return connection.scalar(statement) or 0


def lock_folder(connection: Connection, folder_id: str) -> None:
    """Of two files that come at once, the second must see the first one's name."""
    connection.execute(select(SourceRow.id).where(SourceRow.id == folder_id).with_for_update())


def find_duplicate(connection: Connection, folder_id: str, original_name: str) -> File | None:
    """The latest that was uploaded under this name."""
    row = connection.execute(
        select(*_FILE)
        .where(FileRow.source_id == folder_id, FileRow.original_file_name == original_name, _LIVE)
        .order_by(FileRow.created_at.desc(), FileRow.id.desc())
        .limit(1)
    ).first()
    return _file_from(row) if row else None


def taken_names(connection: Connection, folder_id: str) -> set[str]:
    rows = connection.scalars(select(FileRow.file_name).where(FileRow.source_id == folder_id))
    return {name for name in rows if name is not None}


def set_progress(connection: Connection, file_id: str, **changes: Any) -> bool:
    """Changes what is known of a file, in core's words. False if it is gone."""
    values = _values(changes | {"updated_at": utc_now()})
    return connection.execute(update(FileRow).where(FileRow.id == file_id).values(**values)).rowcount > 0


def begin_count(connection: Connection, file_id: str) -> None:
    """None of its passages has vectors yet; a file that is read again keeps its count."""
    fresh = (FileRow.id == file_id, FileRow.chunks_embedded.is_(None))
    connection.execute(update(FileRow).where(*fresh).values(chunks_embedded=0))


def delete_file(
    connection: Connection, index: SearchIndex, actor: Actor, folder_id: str, file_id: str
) -> File:
    """With its text and passages, for everyone who has it. Raises NotFound."""
    file = get_file(connection, actor, file_id, folder_id)
    passages = select(SourcePassageRow.id).where(SourcePassageRow.file_id == file_id)
    ids = [document_id(id) for id in connection.scalars(passages)]
    for start in range(0, len(ids), _BATCH):
        index.delete(connection, ids[start : start + _BATCH])
    touch_holders(connection, folder_id)
    connection.execute(delete(FileRow).where(FileRow.id == file_id))
    return file


# Texts


def store_text(connection: Connection, file_id: str, text: str) -> None:
    statement = upsert(connection, FileContentRow).values(file_id=file_id, text=text)
    connection.execute(
        statement.on_conflict_do_update(index_elements=[FileContentRow.file_id], set_={"text": text})
    )


def load_text(connection: Connection, file_id: str) -> str | None:
    """None until the file has been read. Whether the caller may see the file is the caller's to know."""
    return connection.scalar(select(FileContentRow.text).where(FileContentRow.file_id == file_id))


def load_texts(connection: Connection, file_ids: Sequence[str]) -> dict[str, str]:
    rows = connection.execute(
        select(FileContentRow.file_id, FileContentRow.text).where(FileContentRow.file_id.in_(file_ids))
    )
    return {row.file_id: row.text for row in rows}


# With what a client asks for


def read_file(
    connection: Connection, actor: Actor, folder_id: str, file_id: str, *, with_text: bool
) -> tuple[File, str | None]:
    """Raises NotFound."""
    get_folder(connection, actor, folder_id)
    file = get_file(connection, actor, file_id, folder_id)
    return file, load_text(connection, file_id) if with_text else None


def read_files(
    connection: Connection, actor: Actor, folder_id: str, page: Page, *, with_text: bool
) -> list[tuple[File, str | None]]:
    """Raises NotFound."""
    get_folder(connection, actor, folder_id)
    files = list_files(connection, actor, folder_id, page)
    texts = load_texts(connection, [file.id for file in files]) if with_text else {}
    return [(file, texts.get(file.id)) for file in files]


def _values(fields: dict[str, Any]) -> dict[str, Any]:
    return {_COLUMNS[name].key: value for name, value in fields.items()}


def _file_from(row: Row[*tuple[Any, ...]]) -> File:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _COLUMNS}
    name = fields["name"] or fields["original_name"] or fields["id"]
    return File.model_validate(fields | {"name": name, "original_name": fields["original_name"] or name})
