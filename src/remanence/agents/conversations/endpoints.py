"""Routes of conversations, save those that start or stop runs (`runs/conversations.py`)."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents.conversations import repository, service
from remanence.agents.conversations.schemas import (
    ConversationCreate,
    ConversationFilter,
    ConversationUpdate,
    conversation_body,
)
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import id_path, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.kit.ids import id_pattern
from remanence.llm.catalogue import Catalogue
from remanence.messages import repository as messages

ConversationIdPath = Annotated[str, id_path("conv")]
_ORDERS = ("created_at", "last_message_at", "last_run_completion")


async def _read_filter(where: Annotated[ConversationFilter, Query()]) -> ConversationFilter:
    return where


Where = Annotated[ConversationFilter, Depends(_read_filter)]


def router(db: Database, catalogue: Catalogue) -> APIRouter:
    routes = make_routes("conversations")

    @routes.get("/conversations/")
    async def list_conversations(
        actor: ActingUser,
        where: Where,
        page: Annotated[Page, Depends(page_parameters(limit=50, order_by=_ORDERS))],
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            found = repository.list_conversations(connection, actor, where, page)
            ids = messages.context_ids(connection, [each.id for each in found])
            return [conversation_body(each, ids[each.id]) for each in found]

        return JsonBytes(await db.read(read))

    @routes.post("/conversations/")
    async def create_conversation(
        actor: ActingUser,
        agent_id: Annotated[str, Query(pattern=id_pattern("agent"))],
        body: ConversationCreate | None = None,
    ) -> JsonBytes:
        body = body or ConversationCreate()
        if body.model is not None:
            await catalogue.resolve_llm(body.model, actor.organization_id)
        made = await db.write(service.create_conversation, actor, agent_id, body)
        return JsonBytes(conversation_body(made))

    @routes.get("/conversations/{conversation_id}")
    async def retrieve_conversation(actor: ActingUser, conversation_id: ConversationIdPath) -> JsonBytes:
        def read(connection: Connection) -> dict[str, Any]:
            found = repository.get_conversation(connection, actor, conversation_id)
            return conversation_body(found, messages.context_ids(connection, [found.id])[found.id])

        return JsonBytes(await db.read(read))

    @routes.patch("/conversations/{conversation_id}")
    async def modify_conversation(
        actor: ActingUser, conversation_id: ConversationIdPath, body: ConversationUpdate
    ) -> JsonBytes:
        if body.model is not None:
            await catalogue.resolve_llm(body.model, actor.organization_id)
        changed = await db.write(service.update_conversation, actor, conversation_id, body)
        return JsonBytes(conversation_body(changed))

    return routes
