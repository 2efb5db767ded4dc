"""Rows that need little: the same columns under the same names, or a record of a few fields."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from remanence.accounts.repository import ensure_defaults, list_organization_ids
from remanence.archives import repository as archives
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.conform import as_list, as_object
from remanence.core.conversation import Conversation
from remanence.core.file import File, FilePassage
from remanence.core.mcp import McpServer
from remanence.core.passage import Passage
from remanence.files import repository as files
from remanence.files.processing import read_later
from remanence.kit.ids import DEFAULT_USER_ID, ConversationId, OrgId
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.search.ports import Embedding, SearchIndex
from remanence.tools import repository as tools
from remanence.tools.mcp import repository as servers
from remanence.transfer.letta.converting import dates_of, to_embedding, to_vector
from remanence.transfer.letta.repository import Outcome, find_missing

_NAMED = ("processing_status", "identity_type", "manager_type", "provider_type")
"""Enumerations, which that database may keep in capitals."""

_UNREAD = "It had not been read when it came from another server. Upload it again."

PassageWithVector = tuple[Passage, Embedding | None]


def plain_row(row: JsonObject) -> JsonObject:
    """As our table of the same name wants it."""
    changes: JsonObject = {name: str(row[name]).lower() for name in _NAMED if row.get(name)}
    if "created_at" in row:
        changes |= dates_of(row)
    if "embedding_config" in row:
        changes["embedding_config"] = to_embedding(row)
    if "vector_db_provider" in row:
        changes["vector_db_provider"] = "native"
    if "properties" in row:
        changes["properties"] = as_list(row["properties"])
    if "manager_type" in row:
        changes["description"] = row.get("description") or ""
    if "original_file_name" in row:  # a file
        changes["file_name"] = _bare_name(row.get("file_name"))
        if changes.get("processing_status") not in ("completed", "error", None):
            changes |= {"processing_status": "error", "error_message": _UNREAD}
        if changes.get("processing_status") == "error":
            changes["total_chunks"] = None
    return row | changes


def to_passage(row: JsonObject) -> PassageWithVector:
    config = to_embedding(row)
    given = {name: row.get(name) for name in Passage.model_fields if row.get(name) is not None}
    passage = Passage.model_validate(
        given
        | {
            "tags": tuple(dict.fromkeys(str(tag)[:255] for tag in as_list(row.get("tags")) if tag)),
            "metadata": as_object(row.get("metadata_")) or None,
            "embedding_config": config,
            **dates_of(row),
        }
    )
    vector = to_vector(row, config)
    return passage, Embedding(config, (vector,)) if config is not None and vector is not None else None


def store_passages(connection: Connection, index: SearchIndex, pairs: Sequence[PassageWithVector]) -> Outcome:
    here = archives.find_passages(connection, [passage.id for passage, _ in pairs])
    lost = find_missing(connection, "archives", {passage.archive_id for passage, _ in pairs})
    fresh = [pair for pair in pairs if pair[0].id not in here and pair[0].archive_id not in lost]
    archives.insert_passages(
        connection, index, [passage for passage, _ in fresh], [vectors for _, vectors in fresh]
    )
    came = {passage.id for passage, _ in fresh}
    return Outcome(came, here.keys(), {passage.id for passage, _ in pairs} - came - here.keys())


def to_chunk(row: JsonObject) -> tuple[FilePassage, Embedding | None]:
    config = to_embedding(row)
    given = {name: row.get(name) for name in FilePassage.model_fields if row.get(name) is not None}
    passage = FilePassage.model_validate(
        given
        | {
            "folder_id": row["source_id"],
            "file_id": row.get("file_id"),
            "file_name": _bare_name(row.get("file_name")),
            "tags": (),
            "metadata": as_object(row.get("metadata_")) or None,
            "embedding_config": config,
            **dates_of(row),
        }
    )
    vector = to_vector(row, config)
    return passage, Embedding(config, (vector,)) if config is not None and vector is not None else None


def store_chunks(
    connection: Connection, index: SearchIndex, pairs: Sequence[tuple[FilePassage, Embedding | None]]
) -> Outcome:
    here = files.find_passages(connection, [passage.id for passage, _ in pairs])
    lost = find_missing(connection, "sources", {passage.folder_id for passage, _ in pairs})
    lost |= find_missing(connection, "files", {passage.file_id for passage, _ in pairs if passage.file_id})
    fresh = [
        pair for pair in pairs if pair[0].id not in here and not {pair[0].folder_id, pair[0].file_id} & lost
    ]
    files.insert_passages(
        connection, index, [passage for passage, _ in fresh], [vectors for _, vectors in fresh]
    )
    came = {str(passage.id) for passage, _ in fresh}
    return Outcome(came, here.keys(), {str(passage.id) for passage, _ in pairs} - came - here.keys())


def cut_file(connection: Connection, file: File) -> None:
    """A file whose passages lay elsewhere gets new ones, as soon as a server runs."""
    files.set_progress(connection, file.id, status="parsing", total_chunks=None, chunks_embedded=None)
    actor = Actor(user_id=file.created_by_id or DEFAULT_USER_ID, organization_id=file.organization_id)
    read_later(connection, actor, file, files.load_text(connection, file.id) or "")


def _bare_name(name: object) -> str | None:
    """There, a file's name begins with its folder's."""
    return str(name).rpartition("/")[2] if name else None


def to_server(row: JsonObject, *, takes_keys: bool) -> McpServer:
    stdio = as_object(row.get("stdio_config"))
    keys: dict[str, Any] = {"env": as_object(stdio.get("env")) or None}
    keys |= {"auth_token": row.get("token"), "custom_headers": as_object(row.get("custom_headers")) or None}
    kind = str(row.get("server_type") or "").lower()
    return McpServer.model_validate(
        {
            "id": row["id"],
            "organization_id": row["organization_id"],
            "server_name": row["server_name"],
            "mcp_server_type": kind or ("stdio" if stdio else "streamable_http"),
            "command": stdio.get("command"),
            "args": tuple(str(each) for each in as_list(stdio.get("args"))),
            "server_url": row.get("server_url"),
            **(keys if takes_keys else {}),
        }
    )


def store_server(connection: Connection, server: McpServer, vault: Vault) -> bool:
    """False if it, or one of its name, is here."""
    here = servers.list_servers(connection, _actor_of(server.organization_id), vault)
    if any(each.id == server.id or each.server_name == server.server_name for each in here):
        return False
    servers.insert_server(connection, server, vault)
    return True


def to_conversation(row: JsonObject, agent: Agent) -> Conversation:
    given = {name: row.get(name) for name in Conversation.model_fields if row.get(name) is not None}
    return Conversation.model_validate(
        given
        | {
            "id": ConversationId(str(row["id"])),
            "organization_id": agent.organization_id,
            "agent_id": agent.id,
            "isolated_block_ids": (),
            "model_settings": as_object(row.get("model_settings")) or None,
            **dates_of(row),
        }
    )


def _actor_of(organization_id: str) -> Actor:
    return Actor(user_id=DEFAULT_USER_ID, organization_id=OrgId(organization_id))


def furnish(connection: Connection) -> None:
    """What every organisation has here: the built-in tools, as this version knows them."""
    ensure_defaults(connection)
    for organization_id in list_organization_ids(connection):
        tools.ensure_builtins(connection, organization_id)
