"""MCP servers and their tools: kept in step, and called on behalf of agents."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.mcp import McpServer, McpServerType, McpTool, fault_of
from remanence.core.tool import IDEMPOTENT_TAG, Tool
from remanence.db.database import Database
from remanence.errors import BadArgument, Invalid, McpUnavailable, NotFound
from remanence.kit import json
from remanence.kit.addresses import is_anywhere, is_public
from remanence.kit.ids import AgentId, new_mcp_server_id, new_tool_id
from remanence.kit.json import JsonObject
from remanence.kit.outside import NotFetched, look_up
from remanence.kit.vault import Vault
from remanence.mcp.links import McpLinks, McpResult
from remanence.mcp.signing_in import SIGN_IN_S, SignIns, make_auth
from remanence.mcp.transports import open_client
from remanence.tools import repository as tools
from remanence.tools.mcp import repository
from remanence.tools.mcp.schemas import Config, McpServerCreate, McpServerUpdate, StdioConfig, to_server

if TYPE_CHECKING:
    from mcp import Client

log = logging.getLogger(__name__)

_NO_REDIRECT = "http://127.0.0.1/"
"""Where nobody is sent: there is nobody to sign in."""


@dataclass(slots=True)
class Changes:
    """What a look at a server's list of tools has changed here, by name."""

    added: list[str] = field(default_factory=list[str])
    updated: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])


class McpService:
    def __init__(self, db: Database, vault: Vault, *, allows_local: bool, call_timeout_s: float) -> None:
        self._db = db
        self._links = McpLinks(self._open)
        self._sign_ins = SignIns()
        self._vault = vault
        self._call_timeout_s = call_timeout_s
        self._allows_local = allows_local
        """Whether users may start processes here and reach addresses that only this machine sees."""
        self._allows = is_anywhere if allows_local else is_public

    async def create(self, actor: Actor, body: McpServerCreate) -> McpServer:
        """The server is kept even if it cannot be reached now. Raises AlreadyExists, BadArgument, Invalid."""
        await self.check_place(body.config)
        server = to_server(new_mcp_server_id(), actor.organization_id, body.server_name, body.config)
        await self._db.write(repository.insert_server, server, self._vault)
        try:
            await self._sync(actor, server, {})
        except McpUnavailable as error:
            log.info("the tools of MCP server %s are not known yet: %s", server.id, error.message)
        return server

    async def update(self, actor: Actor, server_id: str, body: McpServerUpdate) -> McpServer:
        await self.check_place(body.config)
        vault = self._vault

        def write(connection: Connection) -> McpServer:
            old = repository.get_server(connection, actor, server_id, vault)
            name = body.server_name or old.server_name
            server = to_server(old.id, old.organization_id, name, body.config)
            repository.update_server(connection, server, vault)
            return server

        server = await self._db.write(write)
        self._links.drop(server)
        return server

    async def delete(self, actor: Actor, server_id: str) -> None:
        def write(connection: Connection) -> McpServer:
            server = repository.get_server(connection, actor, server_id, self._vault)
            repository.delete_server(connection, actor, server)
            return server

        self._links.drop(await self._db.write(write))

    async def refresh(self, actor: Actor, server_id: str, agent_id: str | None) -> Changes:
        """Raises NotFound, McpUnavailable."""
        server, values = await self._load(actor, server_id, AgentId(agent_id) if agent_id else None)
        return await self._sync(actor, server, values)

    async def call(self, actor: Actor, tool: Tool, args: JsonObject, agent_id: AgentId | None) -> McpResult:
        """Raises NotFound, BadArgument, McpUnavailable."""
        server_id = repository.server_id_of(tool)
        if server_id is None:
            raise NotFound(f"The tool {tool.name} came from an MCP server that is gone.")
        server, values = await self._load(actor, server_id, agent_id)
        name: str = tool.metadata["mcp"].get("tool_name", tool.name)
        ready = await self._ready(server, values)
        return await self._links.call(ready, name, args, timeout_s=self._call_timeout_s)

    async def connect(self, actor: Actor, server_id: str, redirect_uri: str) -> AsyncIterator[JsonObject]:
        """Signs in to a server if it asks for that, and reads its tools; what happens, as it happens.

        Raises NotFound.
        """
        server, _ = await self._load(actor, server_id, None)
        return self._connect(actor, server, redirect_uri)

    async def try_out(
        self, actor: Actor, name: str, config: Config, redirect_uri: str
    ) -> AsyncIterator[JsonObject]:
        """The same with a server that is not on record: its tools are told, and nothing is kept.

        Raises BadArgument, Invalid.
        """
        await self.check_place(config)
        server = to_server(new_mcp_server_id(), actor.organization_id, name, config)
        return self._connect(actor, server, redirect_uri, is_kept=False)

    async def _connect(
        self, actor: Actor, server: McpServer, redirect_uri: str, *, is_kept: bool = True
    ) -> AsyncIterator[JsonObject]:
        yield {"event": "connection_attempt", "server_name": server.server_name}
        addresses: asyncio.Queue[str | None] = asyncio.Queue()
        store = _Tokens(self._db, server, self._vault)
        auth = make_auth(server, store, redirect_uri, addresses.put, self._sign_ins)
        links = McpLinks(lambda ready: open_client(ready, auth, allows=self._allows), connect_s=SIGN_IN_S)

        async def list_tools() -> list[McpTool]:
            return await links.list_tools(await self._ready(server, {}))

        listing = asyncio.create_task(list_tools())
        listing.add_done_callback(lambda _: addresses.put_nowait(None))
        try:
            while (url := await addresses.get()) is not None:
                yield {"event": "oauth_required", "message": "The server asks you to sign in."}
                yield {"event": "authorization_url", "url": url, "server_name": server.server_name}
                yield {"event": "waiting_for_auth"}
            offered = await listing
            if is_kept:
                changes = await self._db.write(sync_tools, actor, server, offered)
                yield {"event": "success", "added": changes.added, "updated": changes.updated}
            else:
                yield {"event": "success", "tools": [tool.name for tool in offered]}
        except (McpUnavailable, Invalid) as error:
            yield {"event": "error", "message": error.message}
        finally:
            listing.cancel()
            await links.close()
            self._links.drop(server)

    def bring_code(self, state: str, code: str | None, issuer: str | None, error: str | None) -> bool:
        """Somebody comes back from signing in. False if nobody waits for them."""
        return self._sign_ins.bring(state, code, issuer=issuer, error=error)

    def _open(self, server: McpServer) -> "AbstractAsyncContextManager[Client]":
        if not server.is_signed_in:
            return open_client(server, allows=self._allows)
        auth = make_auth(server, _Tokens(self._db, server, self._vault), _NO_REDIRECT)
        return open_client(server, auth, allows=self._allows)

    async def offered(self, actor: Actor, config: Config) -> Sequence[McpTool]:
        """What a server that is not on record offers. Raises McpUnavailable."""
        await self.check_place(config)
        server = to_server(new_mcp_server_id(), actor.organization_id, "untried", config)
        try:
            return await self._links.list_tools(await self._ready(server, {}))
        finally:
            self._links.drop(server)

    async def close(self) -> None:
        await self._links.close()

    async def _load(
        self, actor: Actor, server_id: str, agent_id: AgentId | None
    ) -> tuple[McpServer, dict[str, str]]:
        return await self._db.read(repository.load_for_call, actor, server_id, agent_id, self._vault)

    async def _ready(self, server: McpServer, values: Mapping[str, str]) -> McpServer:
        """Filled in, and allowed to be spoken to. Raises BadArgument, Invalid."""
        try:
            filled = server.filled(values)
        except KeyError as error:
            raise BadArgument(
                f"The MCP server {server.server_name} needs the secret {error.args[0]} of the agent; set it first."
            ) from None
        await self._check_place(filled.mcp_server_type, filled.server_url)
        return filled

    async def _sync(self, actor: Actor, server: McpServer, values: Mapping[str, str]) -> Changes:
        try:
            ready = await self._ready(server, values)
        except Invalid as error:  # its list cannot be had without an agent
            raise McpUnavailable(error.message) from None
        offered = await self._links.list_tools(ready)
        return await self._db.write(sync_tools, actor, server, offered)

    async def check_place(self, config: Config) -> None:
        """Raises BadArgument and Invalid for a place that this server does not go to for others."""
        url = None if isinstance(config, StdioConfig) else config.server_url
        await self._check_place(config.mcp_server_type, url)

    async def _check_place(self, kind: McpServerType, url: str | None) -> None:
        """So that a mistake is told at once; an address is judged again when it is connected to."""
        if self._allows_local:
            return
        if kind == "stdio":
            raise BadArgument(
                "This server starts no MCP servers as processes, because others than its own machine can "
                "reach it. Set REMANENCE_MCP_LOCAL=on to allow that."
            )
        host = urlsplit(url or "").hostname or ""
        try:
            await look_up(host, 0, allows=self._allows)
        except OSError:
            return  # it cannot be reached anyway
        except NotFetched:
            raise Invalid(
                f"{host} is an address that only this server's own network sees. Set REMANENCE_MCP_LOCAL=on to "
                "allow such addresses."
            ) from None


class _Tokens:
    """The tokens of one server, kept with it."""

    def __init__(self, db: Database, server: McpServer, vault: Vault) -> None:
        self._db = db
        self._server = server
        self._vault = vault

    async def load(self) -> JsonObject:
        return await self._db.read(repository.load_oauth, self._server.id, self._vault)

    async def save(self, kept: JsonObject) -> None:
        await self._db.write(repository.save_oauth, self._server.id, kept, self._vault)


def sync_tools(
    connection: Connection, actor: Actor, server: McpServer, offered: Sequence[McpTool]
) -> Changes:
    """Brings the stored tools of a server in line with what it offers now."""
    changes = Changes()
    known = {_own_name(tool): tool for tool in repository.list_server_tools(connection, actor, server)}
    seen: set[str] = set()
    for tool in offered:
        fault = fault_of(tool)
        if fault is not None or tool.name in seen:
            changes.refused[tool.name[:128]] = fault or "it is offered twice"
            continue
        seen.add(tool.name)
        old = known.pop(tool.name, None)
        if old is None:
            name = _free_name(connection, actor, server, tool.name)
            tools.insert_tool(connection, _record(actor, server, tool, name))
            changes.added.append(name)
        elif old.metadata.get("tool_hash") != _hash(tool):
            fresh = _record(actor, server, tool, old.name)
            kept = {"id": old.id, "created_at": old.created_at, "return_char_limit": old.return_char_limit}
            tools.update_tool(connection, actor, fresh.model_copy(update=kept))
            repository.ask_again(connection, old.id, old.name)
            changes.updated.append(old.name)
    for gone in known.values():
        tools.delete_tool(connection, actor, gone.id)
        changes.deleted.append(gone.name)
    return changes


def _own_name(tool: Tool) -> str:
    return tool.metadata["mcp"].get("tool_name", tool.name)


def _free_name(connection: Connection, actor: Actor, server: McpServer, name: str) -> str:
    """The tool's own name, or one with its server's before it, if another tool has that."""
    if tools.find_by_name(connection, actor, name) is None:
        return name
    return f"{server.server_name}_{name}".replace(" ", "_")[:128]


def _record(actor: Actor, server: McpServer, tool: McpTool, name: str) -> Tool:
    bare: JsonObject = {"type": "object", "properties": {}}
    parameters = bare | tool.input_schema
    mcp = {"server_name": server.server_name, "server_id": server.id}
    if name != tool.name:
        mcp["tool_name"] = tool.name
    return Tool(
        id=new_tool_id(),
        organization_id=actor.organization_id,
        name=name,
        tool_type="external_mcp",
        description=tool.description,
        json_schema={
            "name": name,
            "description": tool.description,
            "parameters": parameters,
            "mcp:SCHEMA_STATUS": "NON_STRICT_ONLY",
            "mcp:SCHEMA_WARNINGS": [],
        },
        args_json_schema={},
        tags=(f"mcp:{server.server_name}", *((IDEMPOTENT_TAG,) if tool.is_idempotent else ())),
        metadata={"mcp": mcp, "tool_hash": _hash(tool)},
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )


def _hash(tool: McpTool) -> str:
    """Of all that a person sees of a tool before they allow it."""
    whole = json.encode_text([tool.description, tool.input_schema, tool.is_idempotent])
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
