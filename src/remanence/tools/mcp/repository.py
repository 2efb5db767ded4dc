"""SQL for MCP servers and the tools that came from them."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.mcp import McpServer
from remanence.core.tool import RequiresApproval, Tool, ToolRule
from remanence.db.tables import AgentRow, AgentSecretRow, McpServerRow, ToolsAgentsRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit import json
from remanence.kit.ids import AgentId
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.tools import repository as tools
from remanence.tools.schemas import ToolFilter

_SECRET_FIELDS = {"env", "auth_token", "custom_headers"}
_PLAIN_FIELDS = {"command", "args", "server_url", "auth_header"}


def insert_server(connection: Connection, server: McpServer, vault: Vault) -> None:
    """Raises AlreadyExists if the organisation has a server of this name."""
    try:
        connection.execute(
            insert(McpServerRow).values(
                id=server.id, organization_id=server.organization_id, **_values(server, vault)
            )
        )
    except IntegrityError:
        raise _name_taken(server) from None


def update_server(connection: Connection, server: McpServer, vault: Vault) -> None:
    """Raises AlreadyExists if another server has its name."""
    taken = select(McpServerRow.id).where(
        McpServerRow.organization_id == server.organization_id,
        McpServerRow.server_name == server.server_name,
        McpServerRow.id != server.id,
    )
    if connection.scalar(taken) is not None:
        raise _name_taken(server)
    connection.execute(
        update(McpServerRow).where(McpServerRow.id == server.id).values(**_values(server, vault))
    )


def get_server(connection: Connection, actor: Actor, server_id: str, vault: Vault) -> McpServer:
    """Raises NotFound."""
    mine = McpServerRow.organization_id == actor.organization_id
    row = connection.execute(select(*_COLUMNS).where(McpServerRow.id == server_id, mine)).first()
    if row is None:
        raise NotFound(f"There is no MCP server {server_id}.")
    return _server(row, vault)


def find_server_by_name(connection: Connection, actor: Actor, name: str, vault: Vault) -> McpServer | None:
    mine = McpServerRow.organization_id == actor.organization_id
    row = connection.execute(select(*_COLUMNS).where(McpServerRow.server_name == name, mine)).first()
    return _server(row, vault) if row is not None else None


def list_servers(connection: Connection, actor: Actor, vault: Vault) -> list[McpServer]:
    mine = McpServerRow.organization_id == actor.organization_id
    rows = connection.execute(select(*_COLUMNS).where(mine).order_by(McpServerRow.created_at))
    return [_server(row, vault) for row in rows]


def delete_server(connection: Connection, actor: Actor, server: McpServer) -> None:
    """With its tools."""
    for tool in list_server_tools(connection, actor, server):
        tools.delete_tool(connection, actor, tool.id)
    connection.execute(delete(McpServerRow).where(McpServerRow.id == server.id))


def list_server_tools(connection: Connection, actor: Actor, server: McpServer) -> list[Tool]:
    where = ToolFilter(tool_types=["external_mcp"])
    found = tools.list_every_tool(connection, actor, where)
    return [tool for tool in found if server_id_of(tool) == server.id]


def server_id_of(tool: Tool) -> str | None:
    mcp: JsonObject = tool.metadata.get("mcp") or {}
    return mcp.get("server_id")


def ask_again(connection: Connection, tool_id: str, name: str) -> None:
    """The tool is no longer what its holders allowed: its next call waits for a person."""
    holders = select(ToolsAgentsRow.agent_id).where(ToolsAgentsRow.tool_id == tool_id)
    rows = connection.execute(
        select(AgentRow.id, AgentRow.tool_rules).where(
            AgentRow.id.in_(holders), AgentRow.is_deleted.is_(False)
        )
    )
    for row in rows:
        rules: list[ToolRule] = list(row.tool_rules or ())
        if not any(isinstance(rule, RequiresApproval) and rule.tool_name == name for rule in rules):
            connection.execute(
                update(AgentRow)
                .where(AgentRow.id == row.id)
                .values(
                    tool_rules=(*rules, RequiresApproval(tool_name=name)),
                    state_version=AgentRow.state_version + 1,
                )
            )


def load_for_call(
    connection: Connection, actor: Actor, server_id: str, agent_id: AgentId | None, vault: Vault
) -> tuple[McpServer, dict[str, str]]:
    """The server and the secrets of the agent that calls it. Raises NotFound."""
    server = get_server(connection, actor, server_id, vault)
    rows: Iterable[Any] = (
        connection.execute(
            select(AgentSecretRow.key, AgentSecretRow.value_enc).where(AgentSecretRow.agent_id == agent_id)
        )
        if agent_id is not None
        else ()
    )
    return server, {row.key: vault.decrypt(row.value_enc) for row in rows}


def load_oauth(connection: Connection, server_id: str, vault: Vault) -> JsonObject:
    kept = connection.scalar(select(McpServerRow.oauth_enc).where(McpServerRow.id == server_id))
    return json.decode(vault.decrypt(kept).encode()) if kept else {}


def save_oauth(connection: Connection, server_id: str, kept: JsonObject, vault: Vault) -> None:
    sealed = vault.encrypt(json.encode_text(kept))
    connection.execute(update(McpServerRow).where(McpServerRow.id == server_id).values(oauth_enc=sealed))


_COLUMNS: Sequence[Any] = (
    McpServerRow.id,
    McpServerRow.organization_id,
    McpServerRow.server_name,
    McpServerRow.server_type,
    McpServerRow.config,
    McpServerRow.secrets_enc,
    McpServerRow.oauth_enc.is_not(None).label("is_signed_in"),
)


def _values(server: McpServer, vault: Vault) -> dict[str, Any]:
    secrets = server.model_dump(include=_SECRET_FIELDS, exclude_none=True)
    return {
        "server_name": server.server_name,
        "server_type": server.mcp_server_type,
        "config": server.model_dump(mode="json", include=_PLAIN_FIELDS),
        "secrets_enc": vault.encrypt(json.encode_text(secrets)) if secrets else None,
    }


def _server(row: Any, vault: Vault) -> McpServer:
    secrets: JsonObject = json.decode(vault.decrypt(row.secrets_enc).encode()) if row.secrets_enc else {}
    return McpServer.model_validate(
        {
            "id": row.id,
            "organization_id": row.organization_id,
            "server_name": row.server_name,
            "mcp_server_type": row.server_type,
            "is_signed_in": row.is_signed_in,
            **row.config,
            **secrets,
        }
    )


def _name_taken(server: McpServer) -> AlreadyExists:
    return AlreadyExists(f"There is an MCP server named {server.server_name!r}; choose another name.")
