"""SQL for what agents have of folders and files: which are attached, and what of them is open.

Whoever changes something here raises the version of the agent (`touch_agent`), so that all who keep its state see it.
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, delete, insert, select, update

from remanence.core.actor import Actor
from remanence.core.directories import Shelf
from remanence.core.file import Folder
from remanence.core.open_files import AgentFile
from remanence.core.page import Page
from remanence.db.dialect import checked, insert_missing
from remanence.db.paging import fetch_page
from remanence.db.tables import (
    FileContentRow,
    FileRow,
    FilesAgentsRow,
    SourceRow,
    SourcesAgentsRow,
)
from remanence.files.repository.files import list_files_of
from remanence.files.repository.folders import folder_from
from remanence.files.repository.holders import closed_row
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId

_FOLDER: tuple[Any, ...] = (
    *(column for column in SourceRow.__table__.columns if column.name in Folder.model_fields),
    SourceRow.metadata_,
)
_FILE: tuple[Any, ...] = (
    FilesAgentsRow.id,
    FilesAgentsRow.file_id,
    FilesAgentsRow.source_id.label("folder_id"),
    FilesAgentsRow.file_name.label("name"),
    FilesAgentsRow.is_open,
    FilesAgentsRow.visible_content.label("view"),
    FilesAgentsRow.start_line,
    FilesAgentsRow.end_line,
    FilesAgentsRow.last_accessed_at,
)

# Every load of an agent's state reads these: built once.
_FOLDERS = (
    select(SourcesAgentsRow.agent_id, *_FOLDER)
    .join(SourceRow, SourceRow.id == SourcesAgentsRow.source_id)
    .where(
        SourcesAgentsRow.agent_id.in_(bindparam("agents", expanding=True)),
        checked(SourceRow.organization_id) == bindparam("organization"),
        SourceRow.is_deleted.is_(False),
    )
    .order_by(SourceRow.name)
)
_FILES = (
    select(*_FILE)
    .where(
        FilesAgentsRow.agent_id == bindparam("agent"),
        checked(FilesAgentsRow.organization_id) == bindparam("organization"),
        FilesAgentsRow.is_deleted.is_(False),
    )
    .order_by(FilesAgentsRow.file_name)
)


def load_shelf(connection: Connection, actor: Actor, agent_id: AgentId) -> Shelf:
    """The folders of an agent and all files in them, by name."""
    folders = folders_of_agents(connection, actor, [agent_id])[agent_id]
    if not folders:
        return Shelf()
    rows = connection.execute(_FILES, {"agent": agent_id, "organization": actor.organization_id})
    return Shelf(folders, tuple(_agent_file(row) for row in rows))


def folders_of_agents(
    connection: Connection, actor: Actor, agent_ids: Collection[AgentId]
) -> dict[AgentId, tuple[Folder, ...]]:
    """Each agent has an entry."""
    held: dict[AgentId, tuple[Folder, ...]] = dict.fromkeys(agent_ids, ())
    if held:
        values = {"organization": actor.organization_id, "agents": list(held)}
        for row in connection.execute(_FOLDERS, values):
            held[AgentId(row.agent_id)] += (folder_from(row),)
    return held


def page_agent_folders(connection: Connection, actor: Actor, agent_id: str, page: Page) -> list[Folder]:
    """Raises NotFound for an unknown cursor."""
    mine = checked(SourceRow.organization_id) == actor.organization_id
    statement: Select[*tuple[Any, ...]] = (
        select(*_FOLDER)
        .join(SourcesAgentsRow, SourcesAgentsRow.source_id == SourceRow.id)
        .where(SourcesAgentsRow.agent_id == agent_id, mine, SourceRow.is_deleted.is_(False))
    )
    rows = fetch_page(
        connection, statement, page, key=SourceRow.created_at, id_column=SourceRow.id, scope=[mine]
    )
    return [folder_from(row) for row in rows]


def page_agent_files(
    connection: Connection, actor: Actor, agent_id: str, page: Page, *, is_open: bool | None
) -> list[tuple[AgentFile, str]]:
    """Files with the names of their folders; a cursor may name either id of a file. Raises NotFound."""
    scope: list[ColumnElement[bool]] = [
        FilesAgentsRow.agent_id == agent_id,
        checked(FilesAgentsRow.organization_id) == actor.organization_id,
    ]
    statement: Select[*tuple[Any, ...]] = (
        select(*_FILE, SourceRow.name.label("folder_name"))
        .join(SourceRow, SourceRow.id == FilesAgentsRow.source_id)
        .where(*scope, FilesAgentsRow.is_deleted.is_(False))
    )

    def cursor(id: str | None) -> str | None:
        if id is None or not id.startswith("file-"):
            return id
        return connection.scalar(select(FilesAgentsRow.id).where(*scope, FilesAgentsRow.file_id == id)) or id

    if is_open is not None:
        statement = statement.where(FilesAgentsRow.is_open.is_(is_open))
    rows = fetch_page(
        connection,
        statement,
        page.model_copy(update={"after": cursor(page.after), "before": cursor(page.before)}),
        key=FilesAgentsRow.created_at,
        id_column=FilesAgentsRow.id,
        scope=scope,
    )
    return [(_agent_file(row), row.folder_name) for row in rows]


def attach_folders(
    connection: Connection, actor: Actor, agent_id: AgentId, folders: Sequence[Folder]
) -> list[AgentFile]:
    """Gives an agent folders that it has not, with all their files closed; returns those, by name."""
    if not folders:
        return []
    connection.execute(
        insert(SourcesAgentsRow), [{"agent_id": agent_id, "source_id": folder.id} for folder in folders]
    )
    names = {folder.id: folder.name for folder in folders}
    found = list_files_of(connection, actor, list(names))
    rows = [closed_row(agent_id, file, names[file.folder_id]) for file in found]
    insert_missing(connection, FilesAgentsRow, rows)
    return [file for file in load_shelf(connection, actor, agent_id).files if file.folder_id in names]


def detach_folders(connection: Connection, agent_id: AgentId, folder_ids: Sequence[str]) -> None:
    of_these = FilesAgentsRow.source_id.in_(folder_ids)
    connection.execute(delete(FilesAgentsRow).where(FilesAgentsRow.agent_id == agent_id, of_these))
    connection.execute(
        delete(SourcesAgentsRow).where(
            SourcesAgentsRow.agent_id == agent_id, SourcesAgentsRow.source_id.in_(folder_ids)
        )
    )


def save_files(connection: Connection, agent_id: AgentId, files: Sequence[AgentFile]) -> None:
    """Stores what is open of these files. One that is gone by now stays so."""
    for file in files:
        connection.execute(
            update(FilesAgentsRow)
            .where(FilesAgentsRow.agent_id == agent_id, FilesAgentsRow.file_id == file.file_id)
            .values(
                is_open=file.is_open,
                visible_content=file.view,
                start_line=file.start_line,
                end_line=file.end_line,
                last_accessed_at=file.last_accessed_at,
                updated_at=utc_now(),
            )
        )


def read_contents(
    connection: Connection, actor: Actor, file_ids: Sequence[str]
) -> dict[str, tuple[str, str | None]]:
    """By id: how far a file has been read (its status), and its text if that is known."""
    rows = connection.execute(
        select(FileRow.id, FileRow.processing_status, FileContentRow.text)
        .outerjoin(FileContentRow, FileContentRow.file_id == FileRow.id)
        .where(
            FileRow.id.in_(file_ids),
            checked(FileRow.organization_id) == actor.organization_id,
            FileRow.is_deleted.is_(False),
        )
    )
    return {row.id: (row.processing_status, row.text) for row in rows}


def _agent_file(row: Row[*tuple[Any, ...]]) -> AgentFile:
    return AgentFile.model_construct(**{column.key: getattr(row, column.key) for column in _FILE})
