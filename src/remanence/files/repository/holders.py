"""What agents know of the files in the folders that are attached to them: a row for each agent and file."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, update

from remanence.core.file import File
from remanence.db.dialect import insert_missing
from remanence.db.tables import AgentRow, FilesAgentsRow, SourcesAgentsRow, ToolRow, ToolsAgentsRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, new_id


def give_to_agents(connection: Connection, file: File, folder_name: str) -> None:
    """A new file, closed, for every agent that has its folder."""
    agent_ids = connection.scalars(
        select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id == file.folder_id)
    )
    rows = [closed_row(AgentId(agent_id), file, folder_name) for agent_id in agent_ids]
    insert_missing(connection, FilesAgentsRow, rows)
    touch_holders(connection, file.folder_id)


def closed_row(agent_id: AgentId, file: File, folder_name: str) -> dict[str, Any]:
    now = utc_now()
    return {
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


def rename_for_agents(connection: Connection, folder_id: str, old: str, new: str) -> None:
    """Files stand under the name of their folder."""
    rest = func.substr(FilesAgentsRow.file_name, len(old) + 1)
    connection.execute(
        update(FilesAgentsRow).where(FilesAgentsRow.source_id == folder_id).values(file_name=new + rest)
    )


def leave_agents(connection: Connection, folder_id: str) -> None:
    """The folder is about to go: agents that have no other lose the tools for files with it."""
    touch_holders(connection, folder_id)
    holders = select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id == folder_id)
    others = select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id != folder_id)
    file_tools = select(ToolRow.id).where(ToolRow.tool_type == "letta_files_core")
    connection.execute(
        delete(ToolsAgentsRow).where(
            ToolsAgentsRow.agent_id.in_(holders),
            ToolsAgentsRow.agent_id.not_in(others),
            ToolsAgentsRow.tool_id.in_(file_tools),
        )
    )


def touch_agent(connection: Connection, agent_id: AgentId) -> None:
    _touch(connection, AgentRow.id == agent_id)


def touch_holders(connection: Connection, folder_id: str) -> None:
    """A folder, or something in it, is not what the agents that have it think it is."""
    holders = select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id == folder_id)
    _touch(connection, AgentRow.id.in_(holders))


def _touch(connection: Connection, condition: ColumnElement[bool]) -> None:
    """What the agents themselves are has not changed, so their `updated_at` stays."""
    connection.execute(
        update(AgentRow)
        .where(condition)
        .values(state_version=AgentRow.state_version + 1, updated_at=AgentRow.updated_at)
    )
