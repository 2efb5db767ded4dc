"""Routes of an agent's folders and files; folders also under `sources`, the name that they had before."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository
from remanence.agents.folders import service
from remanence.agents.folders.schemas import agent_file_body
from remanence.agents.schemas import agent_body
from remanence.agents.service import AgentService
from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import MAX_NUMBER
from remanence.edge.parameters import (
    AgentIdPath,
    FileIdPath,
    FolderIdPath,
    is_sdk_client,
    page_parameters,
)
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.files import repository as files
from remanence.files.schemas import folder_body


def router(db: Database, agents: AgentService) -> APIRouter:
    routes = make_routes("agents")

    async def state_answer(actor: Actor, agent_id: str) -> JsonBytes:
        return JsonBytes(agent_body(*await agents.load(actor, agent_id)))

    async def state_for_older(request: Request, actor: Actor, agent_id: str) -> JsonBytes:
        return JsonBytes(None) if is_sdk_client(request) else await state_answer(actor, agent_id)

    @routes.get("/agents/{agent_id}/folders")
    @routes.get("/agents/{agent_id}/sources", deprecated=True)
    async def list_agent_folders(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            repository.get_agent(connection, actor, agent_id)
            found = files.page_agent_folders(connection, actor, agent_id, page)
            return [folder_body(folder, is_source=True) for folder in found]

        return JsonBytes(await db.read(read))

    @routes.patch("/agents/{agent_id}/folders/attach/{folder_id}")
    async def attach_folder(
        request: Request, actor: ActingUser, agent_id: AgentIdPath, folder_id: FolderIdPath
    ) -> JsonBytes:
        await db.write(service.attach_folder, actor, agent_id, folder_id)
        return await state_for_older(request, actor, agent_id)

    @routes.patch("/agents/{agent_id}/folders/detach/{folder_id}")
    async def detach_folder(
        request: Request, actor: ActingUser, agent_id: AgentIdPath, folder_id: FolderIdPath
    ) -> JsonBytes:
        await db.write(service.detach_folder, actor, agent_id, folder_id)
        return await state_for_older(request, actor, agent_id)

    @routes.patch("/agents/{agent_id}/sources/attach/{folder_id}", deprecated=True)
    async def attach_source(actor: ActingUser, agent_id: AgentIdPath, folder_id: FolderIdPath) -> JsonBytes:
        await db.write(service.attach_folder, actor, agent_id, folder_id)
        return await state_answer(actor, agent_id)

    @routes.patch("/agents/{agent_id}/sources/detach/{folder_id}", deprecated=True)
    async def detach_source(actor: ActingUser, agent_id: AgentIdPath, folder_id: FolderIdPath) -> JsonBytes:
        await db.write(service.detach_folder, actor, agent_id, folder_id)
        return await state_answer(actor, agent_id)

    @routes.get("/agents/{agent_id}/files")
    async def list_agent_files(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100, max_limit=MAX_NUMBER - 1))],
        cursor: Annotated[str | None, Query(deprecated=True)] = None,
        is_open: bool | None = None,
    ) -> JsonBytes:
        wanted = page if cursor is None or page.after else page.model_copy(update={"after": cursor})
        # One more than asked for tells whether there are more.
        limit = wanted.limit
        longer = wanted.model_copy(update={"limit": limit + 1 if limit is not None else None})

        def read(connection: Connection) -> list[dict[str, Any]]:
            repository.get_agent(connection, actor, agent_id)
            found = files.page_agent_files(connection, actor, agent_id, longer, is_open=is_open)
            return [agent_file_body(file, folder_name) for file, folder_name in found]

        found = await db.read(read)
        shown = found[:limit] if wanted.before is None or wanted.after is not None else found[-(limit or 0) :]
        last = shown[-1]["id"] if shown else None
        return JsonBytes({"files": shown, "next_cursor": last, "has_more": len(found) > len(shown)})

    @routes.patch("/agents/{agent_id}/files/close-all")
    async def close_all_files(actor: ActingUser, agent_id: AgentIdPath) -> JsonBytes:
        return JsonBytes(await db.write(service.close_all, actor, agent_id))

    @routes.patch("/agents/{agent_id}/files/{file_id}/open")
    async def open_file(actor: ActingUser, agent_id: AgentIdPath, file_id: FileIdPath) -> JsonBytes:
        return JsonBytes(await db.write(service.open_file, actor, agent_id, file_id))

    @routes.patch("/agents/{agent_id}/files/{file_id}/close")
    async def close_file(actor: ActingUser, agent_id: AgentIdPath, file_id: FileIdPath) -> JsonBytes:
        name = await db.write(service.close_file, actor, agent_id, file_id)
        return message_body(f"{name} is closed.")

    return routes
