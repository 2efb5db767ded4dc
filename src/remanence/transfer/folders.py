"""Folders and files in agent files: written out with their texts, and read back as if they were uploaded."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Protocol

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.folders.service import refit
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.directories import Shelf
from remanence.core.file import File, Folder
from remanence.core.llm import EmbeddingConfig
from remanence.files import repository as files
from remanence.files.naming import choose_name, free_name
from remanence.files.processing import read_later
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, FolderId, new_file_id, new_folder_id
from remanence.kit.json import JsonObject
from remanence.transfer.schemas import FileAgent, FileFile, FileSource

_MAX_NAME = 255


class LocalIds(Protocol):
    given: dict[str, str]

    def add(self, prefix: str, id: str) -> str: ...


# Out


def load_shelves(connection: Connection, actor: Actor, found: Sequence[Agent]) -> dict[str, Shelf]:
    return {agent.id: files.load_shelf(connection, actor, agent.id) for agent in found}


def folder_bodies(shelves: Mapping[str, Shelf], local: LocalIds) -> list[JsonObject]:
    held = {folder.id: folder for shelf in shelves.values() for folder in shelf.folders}
    return [
        {
            "name": folder.name,
            "description": folder.description,
            "instructions": folder.instructions,
            "metadata": folder.metadata,
            "embedding": None,
            "embedding_chunk_size": None,
            "embedding_config": folder.embedding_config.model_dump(mode="json")
            if folder.embedding_config
            else None,
            "id": local.add("source", folder.id),
        }
        for folder in held.values()
    ]


def file_bodies(
    connection: Connection, actor: Actor, shelves: Mapping[str, Shelf], local: LocalIds
) -> list[JsonObject]:
    held = {folder.id: folder for shelf in shelves.values() for folder in shelf.folders}
    return [
        {
            "source_id": local.given[file.folder_id],
            "file_name": file.name_in(held[file.folder_id].name),
            "original_file_name": file.original_name,
            "file_path": file.path,
            "file_type": file.type,
            "file_size": file.size,
            "file_creation_date": file.creation_date,
            "file_last_modified_date": file.last_modified_date,
            "processing_status": file.status,
            "error_message": file.error_message,
            "total_chunks": file.total_chunks,
            "chunks_embedded": file.chunks_embedded,
            "content": files.load_text(connection, file.id),
            "id": local.add("file", file.id),
        }
        for file in files.list_files_of(connection, actor, list(held))
    ]


def link_bodies(agent_id: str, shelf: Shelf, local: LocalIds) -> list[JsonObject]:
    return [
        {
            "agent_id": local.given[agent_id],
            "file_id": local.given[file.file_id],
            "source_id": local.given[file.folder_id],
            "file_name": file.name,
            "is_open": file.is_open,
            "visible_content": file.view,
            "last_accessed_at": file.last_accessed_at,
            "start_line": file.start_line,
            "end_line": file.end_line,
            "id": local.add("file_agent", file.id),
        }
        for file in shelf.files
    ]


# In


def store_folder(
    connection: Connection, actor: Actor, given: FileSource, config: EmbeddingConfig | None
) -> FolderId:
    """A new one; where its name is taken it gets another."""
    now = utc_now()
    name = given.name
    if files.find_folder(connection, actor, name) is not None:
        name = f"{name[: _MAX_NAME - 9]}_{token_hex(4)}"
    folder = Folder(
        id=new_folder_id(),
        organization_id=actor.organization_id,
        name=name,
        description=given.description,
        instructions=given.instructions,
        embedding_config=config,
        metadata=given.metadata,
        created_at=now,
        updated_at=now,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
    return files.insert_folder(connection, folder).id


def store_file(connection: Connection, actor: Actor, given: FileFile, folder_id: FolderId) -> str:
    """With its text, which is cut and embedded later. Raises BadArgument for what is no name."""
    now = utc_now()
    name = choose_name(given.file_name or given.original_file_name or f"{given.id}.txt", None)
    has_text = given.content is not None
    file = File(
        id=new_file_id(),
        organization_id=actor.organization_id,
        folder_id=folder_id,
        name=free_name(name, files.taken_names(connection, folder_id)),
        original_name=given.original_file_name or name,
        path=given.file_path,
        type=given.file_type,
        size=given.file_size,
        creation_date=given.file_creation_date,
        last_modified_date=given.file_last_modified_date,
        status="parsing" if has_text else "error",
        error_message=None if has_text else given.error_message or "Its text was not in the agent file.",
        created_at=now,
        updated_at=now,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
    files.insert_file(connection, file)
    if given.content is not None:
        files.store_text(connection, file.id, given.content)
        read_later(connection, actor, file, given.content)
    return file.id


def open_as_before(connection: Connection, actor: Actor, given: FileAgent, ids: Mapping[str, str]) -> None:
    """An agent that has its folders sees of them what it saw."""
    agent = agents.get_agent(connection, actor, AgentId(ids[given.id]))
    links = {ids[link.file_id]: link for link in given.files_agents}
    shelf = files.load_shelf(connection, actor, agent.id)
    standing = [
        file.model_copy(
            update=links[file.file_id].model_dump(
                include={"is_open", "start_line", "end_line", "last_accessed_at"}
            )
            | {"view": None}
        )
        for file in shelf.files
        if file.file_id in links
    ]
    files.save_files(connection, agent.id, standing)
    refit(connection, actor, agent)
