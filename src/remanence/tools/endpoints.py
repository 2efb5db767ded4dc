"""Routes of tools."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import ToolIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.tools import repository, service
from remanence.tools.schemas import (
    SourceInput,
    ToolCreate,
    ToolFilter,
    ToolSearch,
    ToolUpdate,
    tool_body,
)


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

    @routes.post("/", operation_id="create_tool")
    async def create_tool(actor: ActingUser, body: ToolCreate) -> JsonBytes:
        return JsonBytes(tool_body(await db.write(service.save_tool, actor, body)))

    @routes.put("/", operation_id="upsert_tool")
    async def upsert_tool(actor: ActingUser, body: ToolCreate) -> JsonBytes:
        return JsonBytes(tool_body(await db.write(service.save_tool, actor, body)))

    @routes.post("/search", operation_id="search_tools")
    async def search_tools(actor: ActingUser, body: ToolSearch) -> JsonBytes:
        found = await db.read(service.search_tools, actor, body)
        return JsonBytes(
            [
                {
                    "tool": tool_body(each.tool),
                    "embedded_text": each.text,
                    "fts_rank": each.place,
                    "vector_rank": None,
                    "combined_score": each.score,
                }
                for each in found
            ]
        )

    @routes.post("/generate-schema", operation_id="generate_json_schema")
    async def generate_schema(actor: ActingUser, body: SourceInput) -> JsonBytes:
        language = service.source_language(body.source_type)
        return JsonBytes(service.derive_schema(body.code, language))

    @routes.post("/add-base-tools", operation_id="add_base_tools")
    async def add_base_tools(actor: ActingUser) -> JsonBytes:
        tools = await db.write(repository.restore_builtins, actor)
        return JsonBytes([tool_body(tool) for tool in tools])

    @routes.get("/{tool_id}", operation_id="retrieve_tool")
    async def retrieve_tool(actor: ActingUser, tool_id: ToolIdPath) -> JsonBytes:
        return JsonBytes(tool_body(await db.read(repository.get_tool, actor, tool_id)))

    @routes.patch("/{tool_id}", operation_id="modify_tool")
    async def modify_tool(actor: ActingUser, tool_id: ToolIdPath, body: ToolUpdate) -> JsonBytes:
        return JsonBytes(tool_body(await db.write(service.change_tool, actor, tool_id, body)))

    @routes.delete("/{tool_id}", operation_id="delete_tool")
    async def delete_tool(actor: ActingUser, tool_id: ToolIdPath) -> JsonBytes:
        await db.write(repository.delete_tool, actor, tool_id)
        return JsonBytes(None)

    return routes
