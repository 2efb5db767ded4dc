"""What agents know of the files in the folders that are attached to them: a row for each agent and file."""

from sqlalchemy import Connection, func, select, update

from remanence.core.file import File
from remanence.db.dialect import insert_missing
from remanence.db.tables import FilesAgentsRow, SourcesAgentsRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id


def give_to_agents(connection: Connection, file: File, folder_name: str) -> None:
    """A new file, closed, for every agent that has its folder."""
    agent_ids = connection.scalars(
        select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id == file.folder_id)
    )
    now = utc_now()
    rows = [
        {
            "id": new_id("file_agent"),
            "organization_id": file.organization_id,
            "agent_id": agent_id,
            "file_id": file.id,
            "source_id": file.folder_id,
            "file_name": file.name_in(folder_name),
            "is_open": False,
            "created_at": now,
            "updated_at": now,
            "created_by_id": file.created_by_id,
            "last_updated_by_id": file.created_by_id,
        }
        for agent_id in agent_ids
    ]
    insert_missing(connection, FilesAgentsRow, rows)


def rename_for_agents(connection: Connection, folder_id: str, old: str, new: str) -> None:
    """Files stand under the name of their folder."""
    rest = func.substr(FilesAgentsRow.file_name, len(old) + 1)
    connection.execute(
        update(FilesAgentsRow).where(FilesAgentsRow.source_id == folder_id).values(file_name=new + rest)
    )
