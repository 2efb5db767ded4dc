"""The older routes of MCP servers, which go by their names: the same service behind other shapes."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Discriminator, Tag

from remanence.accounts.auth import ActingUser
from remanence.core.actor import Actor
from remanence.core.conform import as_object
from remanence.core.mcp import McpServer, McpTool
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import Invalid, McpUnavailable, NotFound
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.tools.mcp import repository
from remanence.tools.mcp.endpoints import told_as_it_happens, way_back
from remanence.tools.mcp.schemas import (
    Config,
    HeaderName,
    HeaderText,
    McpServerCreate,
    McpServerUpdate,
    Name,
    SseConfig,
    StdioConfig,
    StreamableConfig,
    Url,
    result_body,
    server_body,
)
from remanence.tools.mcp.service import McpService
from remanence.tools.schemas import tool_body


class _Named(BaseModel):
    server_name: Name


class _Stdio(_Named, StdioConfig):
    type: Literal["stdio"] = "stdio"


class _Sse(_Named, SseConfig):
    type: Literal["sse"] = "sse"


class _Streamable(_Named, StreamableConfig):
    type: Literal["streamable_http"] = "streamable_http"


def _kind(body: Any) -> str:
    if isinstance(body, BaseModel):
        return getattr(body, "type", "")
    given = as_object(body)
    return given.get("type") or ("stdio" if "command" in given else "streamable_http")


Given = Annotated[
    Annotated[_Stdio, Tag("stdio")]
    | Annotated[_Sse, Tag("sse")]
    | Annotated[_Streamable, Tag("streamable_http")],
    Discriminator(_kind),
]


class _Changes(BaseModel):
    """A change names what it changes at the top, or wraps a whole stdio configuration."""

    server_name: Name | None = None
    stdio_config: _Stdio | None = None
    server_url: Url | None = None
    token: HeaderText | None = None
    auth_header: HeaderName | Literal[""] | None = None
    auth_token: HeaderText | None = None
    custom_headers: dict[HeaderName, HeaderText] | None = None


class _Execution(BaseModel):
    args: JsonObject = {}


def router(db: Database, service: McpService, vault: Vault) -> APIRouter:
    routes = make_routes("tools", under="/tools/mcp")

    find = _Finder(db, vault)
    _add_server_routes(routes, find, service)
    _add_tool_routes(routes, find, service)
    return routes


class _Finder:
    def __init__(self, db: Database, vault: Vault) -> None:
        self._db = db
        self._vault = vault

    async def server(self, actor: Actor, name: str) -> McpServer:
        """Raises NotFound."""
        server = await self._db.read(repository.find_server_by_name, actor, name, self._vault)
        if server is None:
            raise NotFound(f"There is no MCP server named {name!r}.")
        return server

    async def servers(self, actor: Actor) -> list[JsonObject]:
        found = await self._db.read(repository.list_servers, actor, self._vault)
        return [_body(server) for server in found]

    async def tool(self, actor: Actor, server: McpServer, name: str) -> Tool:
        """Raises NotFound."""
        for tool in await self._db.read(repository.list_server_tools, actor, server):
            if name in (tool.name, tool.metadata["mcp"].get("tool_name")):
                return tool
        raise NotFound(f"The MCP server {server.server_name} has no tool {name!r}; resync it.")


def _add_server_routes(routes: APIRouter, find: _Finder, service: McpService) -> None:

    @routes.get("/servers", operation_id="list_mcp_servers")
    async def list_servers(actor: ActingUser) -> JsonBytes:
        return JsonBytes({each["server_name"]: each for each in await find.servers(actor)})

    @routes.put("/servers", operation_id="add_mcp_server")
    async def add_server(actor: ActingUser, body: Given) -> JsonBytes:
        await service.create(actor, McpServerCreate(server_name=body.server_name, config=_config(body)))
        return JsonBytes(await find.servers(actor))

    @routes.post("/servers/test", operation_id="test_mcp_server")
    async def test_server(actor: ActingUser, body: Given) -> JsonBytes:
        return JsonBytes([_tool_body(tool) for tool in await service.offered(actor, _config(body))])

    @routes.post("/servers/connect", operation_id="connect_mcp_server")
    async def connect_server(request: Request, actor: ActingUser, body: Given) -> Response:
        events = await service.try_out(actor, body.server_name, _config(body), way_back(request))
        return told_as_it_happens(events)

    @routes.patch("/servers/{mcp_server_name}", operation_id="update_mcp_server")
    async def update_server(actor: ActingUser, mcp_server_name: str, body: _Changes) -> JsonBytes:
        server = await find.server(actor, mcp_server_name)
        changes = body.model_dump(exclude_unset=True, exclude={"server_name", "stdio_config", "token"})
        if body.token is not None:
            changes["auth_token"] = body.token
        whole = body.stdio_config.model_dump(exclude={"server_name"}) if body.stdio_config else changes
        config = server_body(server) | whole
        update = McpServerUpdate.model_validate({"server_name": body.server_name, "config": config})
        return JsonBytes(_body(await service.update(actor, server.id, update)))

    @routes.delete("/servers/{mcp_server_name}", operation_id="delete_mcp_server")
    async def delete_server(actor: ActingUser, mcp_server_name: str) -> JsonBytes:
        await service.delete(actor, (await find.server(actor, mcp_server_name)).id)
        return JsonBytes(await find.servers(actor))


def _add_tool_routes(routes: APIRouter, find: _Finder, service: McpService) -> None:

    @routes.get("/servers/{mcp_server_name}/tools", operation_id="list_mcp_tools_by_server")
    async def list_tools(actor: ActingUser, mcp_server_name: str) -> JsonBytes:
        server = await find.server(actor, mcp_server_name)
        return JsonBytes([_tool_body(tool) for tool in await service.offered(actor, _config(server))])

    @routes.post("/servers/{mcp_server_name}/resync", operation_id="resync_mcp_server_tools")
    async def resync(actor: ActingUser, mcp_server_name: str, agent_id: str | None = None) -> JsonBytes:
        changes = await service.refresh(actor, (await find.server(actor, mcp_server_name)).id, agent_id)
        return JsonBytes({"deleted": changes.deleted, "updated": changes.updated, "added": changes.added})

    @routes.post("/servers/{mcp_server_name}/{mcp_tool_name}", operation_id="add_mcp_tool")
    async def add_tool(actor: ActingUser, mcp_server_name: str, mcp_tool_name: str) -> JsonBytes:
        """Its tools are here already; the one that is meant is shown."""
        server = await find.server(actor, mcp_server_name)
        return JsonBytes(tool_body(await find.tool(actor, server, mcp_tool_name)))

    @routes.post("/servers/{mcp_server_name}/tools/{tool_name}/execute", operation_id="execute_mcp_tool")
    async def execute(actor: ActingUser, mcp_server_name: str, tool_name: str, body: _Execution) -> JsonBytes:
        tool = await find.tool(actor, await find.server(actor, mcp_server_name), tool_name)
        try:
            result = await service.call(actor, tool, body.args, None)
        except (McpUnavailable, Invalid) as error:
            return JsonBytes(result_body(error.message, succeeded=False))
        return JsonBytes(result_body(result.text, succeeded=not result.is_error))


def _config(given: McpServer | BaseModel) -> Config:
    body = server_body(given) if isinstance(given, McpServer) else given.model_dump()
    return McpServerUpdate.model_validate({"config": body}).config


def _body(server: McpServer) -> JsonObject:
    body = server_body(server)
    return {"server_name": body.pop("server_name"), "type": body.pop("mcp_server_type"), **body}


def _tool_body(tool: McpTool) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
