"""Routes of agents: their life, their memory, their tools, their window."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository
from remanence.agents.compiling import recompile
from remanence.agents.overview import overview_of
from remanence.agents.queries import AgentQuery, Include, wanted_relations
from remanence.agents.schemas import (
    AgentCreate,
    AgentUpdate,
    ResetMessages,
    ToolApproval,
    ToolArguments,
    agent_bodies,
    agent_body,
)
from remanence.agents.service import AgentService
from remanence.agents.tool_run import AgentToolRuns
from remanence.archives import repository as archives
from remanence.core.actor import Actor
from remanence.core.agent import StopReason
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import (
    AgentIdPath,
    ArchiveIdPath,
    BlockIdPath,
    ToolIdPath,
    is_sdk_client,
    page_parameters,
)
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.errors import Invalid, NotFound
from remanence.kit.ids import id_pattern
from remanence.memory import repository as blocks
from remanence.memory.schemas import BlockUpdate, block_body
from remanence.messages import repository as messages
from remanence.tools import repository as tools
from remanence.tools.executor import run_body
from remanence.tools.schemas import tool_body

_ORDERS = ("created_at", "updated_at", "last_run_completion")


async def _read_query(
    name: str | None = None,
    tags: Annotated[list[str] | None, Query()] = None,
    match_all_tags: bool = False,
    query_text: str | None = None,
    project_id: str | None = None,
    template_id: str | None = None,
    base_template_id: str | None = None,
    identity_id: str | None = None,
    identifier_keys: Annotated[list[str] | None, Query()] = None,
    last_stop_reason: StopReason | None = None,
    created_by_id: str | None = None,
    tool_id: str | None = None,
) -> AgentQuery:
    return AgentQuery(
        name=name,
        tags=tuple(tags or ()),
        match_all_tags=match_all_tags,
        query_text=query_text,
        project_id=project_id,
        template_id=template_id,
        base_template_id=base_template_id,
        identity_id=identity_id,
        identifier_keys=tuple(identifier_keys or ()),
        last_stop_reason=last_stop_reason,
        created_by_id=created_by_id,
        tool_id=tool_id,
    )


async def _read_page(
    page: Annotated[Page, Depends(page_parameters(limit=50, order_by=_ORDERS))],
    ascending: bool = False,
    sort_by: str | None = None,
) -> Page:
    """The list's page; `ascending` and `sort_by` are how older clients say order and order_by."""
    changes: dict[str, Any] = {}
    if ascending:
        changes["order"] = "asc"
    if sort_by in _ORDERS and page.order_by == "created_at":
        changes["order_by"] = sort_by
    return page.model_copy(update=changes)


async def _read_include(
    request: Request,
    include: Annotated[list[Include] | None, Query()] = None,
    include_relationships: Annotated[list[str] | None, Query()] = None,
) -> frozenset[Include]:
    return wanted_relations(include or (), include_relationships, is_sdk=is_sdk_client(request))


Wanted = Annotated[frozenset[Include], Depends(_read_include)]


def router(db: Database, service: AgentService, tool_runs: AgentToolRuns) -> APIRouter:
    routes = make_routes("agents")

    async def state_answer(actor: Actor, agent_id: str) -> JsonBytes:
        return JsonBytes(agent_body(*await service.load(actor, agent_id)))

    async def state_for_older(request: Request, actor: Actor, agent_id: str) -> JsonBytes:
        """Newer clients expect nothing back here, older ones the agent."""
        return JsonBytes(None) if is_sdk_client(request) else await state_answer(actor, agent_id)

    @routes.get("/agents/")
    async def list_agents(
        actor: ActingUser,
        query: Annotated[AgentQuery, Depends(_read_query)],
        page: Annotated[Page, Depends(_read_page)],
        include: Wanted,
    ) -> JsonBytes:
        return JsonBytes(agent_bodies(await service.list_agents(actor, query, page, include)))

    @routes.post("/agents/")
    async def create_agent(actor: ActingUser, body: AgentCreate) -> JsonBytes:
        return JsonBytes(agent_body(*await service.create(actor, body)))

    @routes.get("/agents/count")
    async def count_agents(
        actor: ActingUser, query: Annotated[AgentQuery, Depends(_read_query)]
    ) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_agents, actor, query))

    @routes.get("/agents/{agent_id}")
    async def retrieve_agent(actor: ActingUser, agent_id: AgentIdPath, include: Wanted) -> JsonBytes:
        return JsonBytes(agent_body(*await service.load(actor, agent_id, include)))

    @routes.patch("/agents/{agent_id}")
    async def modify_agent(actor: ActingUser, agent_id: AgentIdPath, body: AgentUpdate) -> JsonBytes:
        await service.update(actor, agent_id, body)
        return await state_answer(actor, agent_id)

    @routes.delete("/agents/{agent_id}")
    async def delete_agent(actor: ActingUser, agent_id: AgentIdPath) -> JsonBytes:
        await service.delete(actor, agent_id)
        return message_body(f"Agent {agent_id} was deleted.")

    @routes.patch("/agents/{agent_id}/reset-messages")
    async def reset_messages(
        actor: ActingUser, agent_id: AgentIdPath, body: ResetMessages | None = None
    ) -> JsonBytes:
        wants_first = body is not None and body.add_default_initial_messages
        await service.reset(actor, agent_id, add_first_messages=wants_first)
        return await state_answer(actor, agent_id)

    @routes.post("/agents/{agent_id}/recompile")
    @routes.post("/agents/{agent_id}/system-prompt/recompile", deprecated=True)
    async def recompile_agent(
        actor: ActingUser, agent_id: AgentIdPath, dry_run: bool = False, update_timestamp: bool = False
    ) -> JsonBytes:
        text = await service.recompile(actor, agent_id, is_dry_run=dry_run, keeps_time=not update_timestamp)
        return JsonBytes(text)

    @routes.get("/agents/{agent_id}/context", deprecated=True)
    async def retrieve_context(
        actor: ActingUser,
        agent_id: AgentIdPath,
        conversation_id: Annotated[str | None, Query(pattern=f"^default$|{id_pattern('conv')}")] = None,
    ) -> JsonBytes:
        state, recall, archival = await service.load_window(actor, agent_id, conversation_id)
        body = await asyncio.to_thread(overview_of, state, recall_count=recall, archival_count=archival)
        return JsonBytes(body)

    # Memory blocks

    @routes.get("/agents/{agent_id}/core-memory", deprecated=True)
    async def retrieve_memory(actor: ActingUser, agent_id: AgentIdPath) -> JsonBytes:
        body = agent_body(*await service.load(actor, agent_id, frozenset({"agent.blocks"})))
        return JsonBytes(body["memory"])

    @routes.get("/agents/{agent_id}/core-memory/blocks")
    async def list_blocks(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            repository.get_agent(connection, actor, agent_id)
            return [block_body(b) for b in blocks.page_agent_blocks(connection, actor, agent_id, page)]

        return JsonBytes(await db.read(read))

    @routes.patch("/agents/{agent_id}/core-memory/blocks/attach/{block_id}")
    async def attach_block(actor: ActingUser, agent_id: AgentIdPath, block_id: BlockIdPath) -> JsonBytes:
        def write(connection: Connection) -> None:
            blocks.attach_block(connection, actor, agent_id, block_id)
            recompile(connection, actor, agent_id)

        await db.write(write)
        return await state_answer(actor, agent_id)

    @routes.patch("/agents/{agent_id}/core-memory/blocks/detach/{block_id}")
    async def detach_block(actor: ActingUser, agent_id: AgentIdPath, block_id: BlockIdPath) -> JsonBytes:
        def write(connection: Connection) -> None:
            blocks.detach_block(connection, actor, agent_id, block_id)
            recompile(connection, actor, agent_id)

        await db.write(write)
        return await state_answer(actor, agent_id)

    @routes.get("/agents/{agent_id}/core-memory/blocks/{block_label:path}")
    async def retrieve_block(actor: ActingUser, agent_id: AgentIdPath, block_label: str) -> JsonBytes:
        return JsonBytes(block_body(await db.read(_get_block, actor, agent_id, block_label)))

    @routes.patch("/agents/{agent_id}/core-memory/blocks/{block_label:path}")
    async def modify_block(
        actor: ActingUser, agent_id: AgentIdPath, block_label: str, body: BlockUpdate
    ) -> JsonBytes:
        def write(connection: Connection) -> dict[str, Any]:
            found = _get_block(connection, actor, agent_id, block_label)
            changed = blocks.update_block(connection, actor, found.id, body)
            # Once it has spoken, the next turn tells it, so that the provider's cache of its prompt holds.
            if not messages.has_steps(connection, agent_id):
                recompile(connection, actor, agent_id)
            return block_body(changed)

        return JsonBytes(await db.write(write))

    @routes.get("/blocks/{block_id}/agents")
    async def list_holders(
        actor: ActingUser,
        block_id: BlockIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        include: Wanted,
    ) -> JsonBytes:
        found = await service.list_holders(actor, block_id, page, include)
        return JsonBytes(agent_bodies(found))

    @routes.get("/agents/{agent_id}/embedding")
    async def embedding_progress(actor: ActingUser, agent_id: AgentIdPath) -> JsonBytes:
        return JsonBytes(await service.embedding_progress(actor, agent_id))

    @routes.get("/archives/{archive_id}/agents")
    async def list_archive_agents(
        actor: ActingUser,
        archive_id: ArchiveIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        include: Wanted,
    ) -> JsonBytes:
        await db.read(archives.get_archive, actor, archive_id)
        query = AgentQuery(archive_id=archive_id, include_hidden=True)
        return JsonBytes(agent_bodies(await service.list_agents(actor, query, page, include)))

    # Tools

    @routes.get("/agents/{agent_id}/tools")
    async def list_tools(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=10))],
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            repository.get_agent(connection, actor, agent_id)
            return [tool_body(tool) for tool in tools.page_agent_tools(connection, actor, agent_id, page)]

        return JsonBytes(await db.read(read))

    @routes.patch("/agents/{agent_id}/tools/attach/{tool_id}")
    async def attach_tool(
        request: Request, actor: ActingUser, agent_id: AgentIdPath, tool_id: ToolIdPath
    ) -> JsonBytes:
        await service.attach_tool(actor, agent_id, tool_id)
        return await state_for_older(request, actor, agent_id)

    @routes.patch("/agents/{agent_id}/tools/detach/{tool_id}")
    async def detach_tool(
        request: Request, actor: ActingUser, agent_id: AgentIdPath, tool_id: ToolIdPath
    ) -> JsonBytes:
        await db.write(tools.detach_tool, actor, agent_id, tool_id)
        return await state_for_older(request, actor, agent_id)

    @routes.patch("/agents/{agent_id}/tools/approval/{tool_name}")
    async def set_tool_approval(
        request: Request,
        actor: ActingUser,
        agent_id: AgentIdPath,
        tool_name: str,
        body: ToolApproval | None = None,
        requires_approval: bool | None = None,
    ) -> JsonBytes:
        wanted = body.requires_approval if body is not None else requires_approval
        if wanted is None:
            raise Invalid("Say `requires_approval`, true or false.")
        await service.set_approval(actor, agent_id, tool_name, wanted)
        return await state_for_older(request, actor, agent_id)

    @routes.post("/agents/{agent_id}/tools/{tool_name}/run")
    async def run_tool(
        actor: ActingUser, agent_id: AgentIdPath, tool_name: str, body: ToolArguments | None = None
    ) -> JsonBytes:
        args = body.args if body is not None else {}
        result = await tool_runs.run(actor, agent_id, tool_name, args)
        return JsonBytes(run_body(result))

    return routes


def _get_block(connection: Connection, actor: Actor, agent_id: str, label: str) -> Any:
    repository.get_agent(connection, actor, agent_id)
    found = blocks.find_block_by_label(connection, actor, agent_id, label)
    if found is None:
        raise NotFound(f"Agent {agent_id} holds no block labelled {label!r}.")
    return found
