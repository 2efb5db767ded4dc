"""Routes of tools. Making them from source comes with the sandbox that runs them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import ToolIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.tools import repository
from remanence.tools.schemas import ToolFilter, tool_body


async def _read_filter(where: Annotated[ToolFilter, Query()]) -> ToolFilter:
    return where


Where = Annotated[ToolFilter, Depends(_read_filter)]


def router(db: Database) -> APIRouter:
    routes = make_routes("tools", under="/tools")

    @routes.get("/", operation_id="list_tools")
    async def list_tools(
        actor: ActingUser,
        where: Where,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
    ) -> JsonBytes:
        tools = await db.read(repository.list_tools, actor, where, page)
        return JsonBytes([tool_body(tool) for tool in tools])

    @routes.get("/count", operation_id="count_tools")
    async def count_tools(actor: ActingUser, where: Where) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_tools, actor, where))

    @routes.post("/add-base-tools", operation_id="add_base_tools")
    async def add_base_tools(actor: ActingUser) -> JsonBytes:
        tools = await db.write(repository.restore_builtins, actor)
        return JsonBytes([tool_body(tool) for tool in tools])

    @routes.get("/{tool_id}", operation_id="retrieve_tool")
    async def retrieve_tool(actor: ActingUser, tool_id: ToolIdPath) -> JsonBytes:
        return JsonBytes(tool_body(await db.read(repository.get_tool, actor, tool_id)))

    return routes
