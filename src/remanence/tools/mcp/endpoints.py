"""Routes of MCP servers."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from remanence.accounts.auth import ActingUser
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.edge.parameters import ToolIdPath, id_path
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.edge.sse import DONE, frame
from remanence.errors import Invalid, McpUnavailable, NotFound
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.tools.mcp import repository
from remanence.tools.mcp.schemas import (
    McpServerCreate,
    McpServerUpdate,
    McpToolRun,
    result_body,
    server_body,
)
from remanence.tools.mcp.service import McpService
from remanence.tools.repository import get_tool
from remanence.tools.schemas import tool_body

ServerIdPath = Annotated[str, id_path("mcp_server")]


def router(db: Database, service: McpService, vault: Vault) -> APIRouter:
    routes = make_routes("mcp-servers", under="/mcp-servers")

    @routes.get("/", operation_id="mcp_list_mcp_servers")
    async def list_servers(actor: ActingUser) -> JsonBytes:
        found = await db.read(repository.list_servers, actor, vault)
        return JsonBytes([server_body(server) for server in found])

    @routes.post("/", operation_id="mcp_create_mcp_server")
    async def create_server(actor: ActingUser, body: McpServerCreate) -> JsonBytes:
        return JsonBytes(server_body(await service.create(actor, body)))

    @routes.get("/{mcp_server_id}", operation_id="mcp_get_mcp_server")
    async def retrieve_server(actor: ActingUser, mcp_server_id: ServerIdPath) -> JsonBytes:
        return JsonBytes(server_body(await db.read(repository.get_server, actor, mcp_server_id, vault)))

    @routes.patch("/{mcp_server_id}", operation_id="mcp_update_mcp_server")
    async def update_server(
        actor: ActingUser, mcp_server_id: ServerIdPath, body: McpServerUpdate
    ) -> JsonBytes:
        return JsonBytes(server_body(await service.update(actor, mcp_server_id, body)))

    @routes.delete("/{mcp_server_id}", operation_id="mcp_delete_mcp_server", status_code=204)
    async def delete_server(actor: ActingUser, mcp_server_id: ServerIdPath) -> Response:
        await service.delete(actor, mcp_server_id)
        return Response(status_code=204)

    @routes.patch("/{mcp_server_id}/refresh", operation_id="mcp_refresh_mcp_server_tools")
    async def refresh_tools(
        actor: ActingUser, mcp_server_id: ServerIdPath, agent_id: str | None = None
    ) -> JsonBytes:
        changes = await service.refresh(actor, mcp_server_id, agent_id)
        body: dict[str, Any] = {
            "deleted": changes.deleted,
            "updated": changes.updated,
            "added": changes.added,
        }
        return JsonBytes(body | ({"refused": changes.refused} if changes.refused else {}))

    @routes.get("/connect/{mcp_server_id}", operation_id="mcp_connect_mcp_server")
    async def connect_server(request: Request, actor: ActingUser, mcp_server_id: ServerIdPath) -> Response:
        return told_as_it_happens(await service.connect(actor, mcp_server_id, way_back(request)))

    async def list_of_server(actor: ActingUser, mcp_server_id: str) -> list[Tool]:
        server = await db.read(repository.get_server, actor, mcp_server_id, vault)
        return await db.read(repository.list_server_tools, actor, server)

    @routes.get("/{mcp_server_id}/tools", operation_id="mcp_list_tools_by_mcp_server")
    async def list_tools(actor: ActingUser, mcp_server_id: ServerIdPath) -> JsonBytes:
        return JsonBytes([tool_body(tool) for tool in await list_of_server(actor, mcp_server_id)])

    async def tool_of_server(actor: ActingUser, mcp_server_id: str, tool_id: str) -> Tool:
        server = await db.read(repository.get_server, actor, mcp_server_id, vault)
        tool = await db.read(get_tool, actor, tool_id)
        if repository.server_id_of(tool) != server.id:
            raise NotFound(f"The MCP server {server.server_name} has no tool {tool_id}.")
        return tool

    @routes.get("/{mcp_server_id}/tools/{tool_id}", operation_id="mcp_get_mcp_tool")
    async def retrieve_tool(actor: ActingUser, mcp_server_id: ServerIdPath, tool_id: ToolIdPath) -> JsonBytes:
        return JsonBytes(tool_body(await tool_of_server(actor, mcp_server_id, tool_id)))

    @routes.post("/{mcp_server_id}/tools/{tool_id}/run", operation_id="mcp_run_tool")
    async def run_tool(
        actor: ActingUser, mcp_server_id: ServerIdPath, tool_id: ToolIdPath, body: McpToolRun | None = None
    ) -> JsonBytes:
        tool = await tool_of_server(actor, mcp_server_id, tool_id)
        try:
            result = await service.call(actor, tool, body.args if body else {}, None)
        except (McpUnavailable, Invalid) as error:
            return JsonBytes(result_body(error.message, succeeded=False))
        return JsonBytes(result_body(result.text, succeeded=not result.is_error))

    return routes


def way_back(request: Request) -> str:
    """Where a browser comes back to after somebody has signed in."""
    return f"{str(request.base_url).rstrip('/')}/v1/tools/mcp/oauth/callback"


def told_as_it_happens(events: AsyncIterator[JsonObject]) -> Response:
    async def frames() -> AsyncIterator[bytes]:
        async for event in events:
            yield frame(event)
        yield DONE

    return StreamingResponse(frames(), media_type="text/event-stream")


def callback_router(service: McpService) -> APIRouter:
    """Where browsers come back to. They carry no password, but a state that nobody can guess."""
    routes = make_routes("tools", under="/tools")

    @routes.get("/mcp/oauth/callback", operation_id="mcp_oauth_callback")
    async def come_back(
        state: str,
        code: str | None = None,
        iss: str | None = None,
        error: str | None = None,
        error_description: str | None = None,
    ) -> Response:
        if not service.bring_code(state, code, iss, error_description or error):
            raise NotFound("Nobody waits for this any more; start signing in again.")
        return Response(
            "You are signed in as far as this window goes. You can close it.", media_type="text/plain"
        )

    return routes
