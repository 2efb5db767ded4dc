"""SQL for folders."""

from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.file import Folder
from remanence.core.page import Page
from remanence.db.dialect import checked
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, FileRow, SourceRow, SourcesAgentsRow
from remanence.errors import AlreadyExists, NotFound
from remanence.files.repository.holders import leave_agents, rename_for_agents, touch_holders
from remanence.kit.clock import utc_now
from remanence.search.ports import SearchIndex

_FOLDER = [column for column in SourceRow.__table__.columns if column.name in Folder.model_fields]


FolderSummary = tuple[str, str, list[tuple[str, str, int | None]]]
"""The id and name of a folder, and the id, name and size of each of its files."""


def insert_folder(connection: Connection, folder: Folder) -> Folder:
    """Raises AlreadyExists for a name that the organisation uses."""
    values = folder.model_dump(exclude={"metadata", "embedding_config"})
    values |= {"metadata_": folder.metadata, "embedding_config": folder.embedding_config}
    try:
        connection.execute(insert(SourceRow), values)
    except IntegrityError:
        raise _taken(folder.name) from None
    return folder


def get_folder(connection: Connection, actor: Actor, folder_id: str) -> Folder:
    """Raises NotFound."""
    row = connection.execute(
        select(*_FOLDER, SourceRow.metadata_).where(
            SourceRow.id == folder_id,
            checked(SourceRow.organization_id) == actor.organization_id,
            SourceRow.is_deleted.is_(False),
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no folder {folder_id}.")
    return folder_from(row)


def find_folder(connection: Connection, actor: Actor, name: str) -> Folder | None:
    row = connection.execute(
        select(*_FOLDER, SourceRow.metadata_).where(
            SourceRow.organization_id == actor.organization_id,
            SourceRow.name == name,
            SourceRow.is_deleted.is_(False),
        )
    ).first()
    return folder_from(row) if row else None


def list_folders(connection: Connection, actor: Actor, page: Page, *, name: str | None) -> list[Folder]:
    mine = SourceRow.organization_id == actor.organization_id
    statement = select(*_FOLDER, SourceRow.metadata_).where(mine, SourceRow.is_deleted.is_(False))
    if name is not None:
        statement = statement.where(SourceRow.name == name)
    rows = fetch_page(
        connection, statement, page, key=SourceRow.created_at, id_column=SourceRow.id, scope=[mine]
    )
    return [folder_from(row) for row in rows]


def count_folders(connection: Connection, actor: Actor) -> int:
    mine = (SourceRow.organization_id == actor.organization_id, SourceRow.is_deleted.is_(False))
    return connection.scalar(select(func.count()).select_from(SourceRow).where(*mine)) or 0


def update_folder(connection: Connection, actor: Actor, folder_id: str, changes: dict[str, Any]) -> Folder:
    """Raises NotFound, and AlreadyExists for a name that is taken."""
    before = get_folder(connection, actor, folder_id)
    if changes:
        values = changes | {"updated_at": utc_now(), "last_updated_by_id": actor.user_id}
        try:
            connection.execute(update(SourceRow).where(SourceRow.id == folder_id).values(**values))
        except IntegrityError:
            raise _taken(str(changes.get("name"))) from None
        if changes.get("name", before.name) != before.name:
            rename_for_agents(connection, folder_id, before.name, changes["name"])
        touch_holders(connection, folder_id)
    return get_folder(connection, actor, folder_id)


def delete_folder(connection: Connection, index: SearchIndex, actor: Actor, folder_id: str) -> None:
    """With its files. Raises NotFound."""
    get_folder(connection, actor, folder_id)
    leave_agents(connection, folder_id)
    index.forget(connection, folder_id)
    connection.execute(delete(SourceRow).where(SourceRow.id == folder_id))


def list_agent_ids(connection: Connection, actor: Actor, folder_id: str, page: Page) -> list[str]:
    """The agents that a folder is attached to. Raises NotFound."""
    get_folder(connection, actor, folder_id)
    statement = (
        select(AgentRow.id)
        .join(SourcesAgentsRow, SourcesAgentsRow.agent_id == AgentRow.id)
        .where(SourcesAgentsRow.source_id == folder_id, AgentRow.is_deleted.is_(False))
    )
    mine = checked(AgentRow.organization_id) == actor.organization_id
    rows = fetch_page(
        connection, statement, page, key=AgentRow.created_at, id_column=AgentRow.id, scope=[mine]
    )
    return [row.id for row in rows]


def summarise(connection: Connection, actor: Actor) -> list[FolderSummary]:
    """All folders of the organisation, oldest first."""
    folders = connection.execute(
        select(SourceRow.id, SourceRow.name)
        .where(SourceRow.organization_id == actor.organization_id, SourceRow.is_deleted.is_(False))
        .order_by(SourceRow.created_at, SourceRow.id)
    )
    found: dict[str, FolderSummary] = {row.id: (row.id, row.name, []) for row in folders}
    files = connection.execute(
        select(FileRow.source_id, FileRow.id, FileRow.file_name, FileRow.file_size)
        .where(FileRow.source_id.in_(list(found)), FileRow.is_deleted.is_(False))
        .order_by(FileRow.created_at, FileRow.id)
    )
    for row in files:
        found[row.source_id][2].append((row.id, row.file_name or "", row.file_size))
    return list(found.values())


def folder_from(row: Row[*tuple[Any, ...]]) -> Folder:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _FOLDER}
    return Folder.model_validate(fields | {"metadata": row.metadata_})


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"There is a folder named {name!r} already; use that one, or choose another name.")
