"""Routes that read history."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from sqlalchemy import Connection, Row

from remanence.accounts.auth import ActingUser
from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.profile import profile_of
from remanence.db.database import Database
from remanence.edge.parameters import AgentIdPath, MessageIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import NotAllowed
from remanence.messages import repository
from remanence.messages.schemas import Body, View, keep_types, typed_messages
from remanence.messages.searching import (
    FoundMessage,
    MessageSearch,
    SearchAllMessages,
    found_body,
    ranked_body,
)
from remanence.messages.sending import MessageType
from remanence.search.ports import SearchQuery
from remanence.search.service import Search

_MORE_ROWS = 4
"""How many rows are read for each typed message wanted, when only some types are."""


async def read_view(
    use_assistant_message: bool = True,
    assistant_message_tool_name: str = "send_message",
    assistant_message_tool_kwarg: str = "message",
) -> View:
    return View(
        use_assistant_message=use_assistant_message,
        speaking_tool=assistant_message_tool_name,
        speaking_argument=assistant_message_tool_kwarg,
    )


Types = Annotated[list[MessageType] | None, Query()]
Listing = Annotated[Page, Depends(page_parameters(limit=100))]


def window_page(page: Page) -> Page:
    """History lists mean newer by `after` and older by `before`, whatever the order.

    `order` only says from which end the limit takes; the answer always runs from old to new.
    """
    cursors = {"after": page.before, "before": page.after} if page.order == "desc" else {}
    return page.model_copy(update={**cursors, "takes_first": True})


def router(db: Database, search: Search) -> APIRouter:
    routes = make_routes("messages")

    async def find(
        actor: Actor, body: MessageSearch | SearchAllMessages, owner_ids: Sequence[str] | None
    ) -> list[FoundMessage]:
        """Best first, each with its stored message."""
        query = SearchQuery(
            organization_id=actor.organization_id,
            text=body.query or "",
            owner_ids=owner_ids,
            roles=body.wanted_roles,
            start=body.start_date,
            end=body.end_date,
            conversation_id=body.conversation_id,
            uses_words=body.search_mode != "vector",
            limit=body.limit,
        )
        hits = await search.find(query, uses_meaning=body.search_mode != "fts")
        stored = {
            str(message.id): message
            for message in await db.read(repository.find_messages, actor, [hit.id for hit in hits])
        }
        return [(hit, stored[hit.id]) for hit in hits if hit.id in stored]

    @routes.post("/messages/search")
    async def search_all_messages(actor: ActingUser, body: SearchAllMessages) -> JsonBytes:
        owner_ids = await _named_agent(db, actor, body.agent_id)
        return JsonBytes([found_body(*found) for found in await find(actor, body, owner_ids)])

    @routes.post("/agents/messages/search", tags=["agents"])
    async def search_messages(actor: ActingUser, body: MessageSearch) -> JsonBytes:
        owner_ids = await _named_agent(db, actor, body.agent_id)
        if owner_ids is None and (body.project_id is not None or body.template_id is not None):
            owner_ids = await db.read(
                repository.list_agent_ids, actor, project_id=body.project_id, template_id=body.template_id
            )
        return JsonBytes([ranked_body(*found) for found in await find(actor, body, owner_ids)])

    @routes.get("/agents/{agent_id}/messages")
    async def list_agent_messages(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Listing,
        view: Annotated[View, Depends(read_view)],
        group_id: str | None = None,
        conversation_id: str | None = None,
        include_err: bool | None = None,
        include_return_message_types: Types = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            repository.check_agent(connection, actor, agent_id)
            return read_history(
                connection,
                actor,
                page,
                view,
                include_return_message_types,
                agent_id=agent_id,
                group_id=group_id,
                conversation_id=conversation_id,
                include_err=bool(include_err),
            )

        return JsonBytes(await db.read(read))

    @routes.patch("/agents/{agent_id}/messages/{message_id}", deprecated=True)
    async def modify_message(
        actor: ActingUser, agent_id: AgentIdPath, message_id: MessageIdPath
    ) -> JsonBytes:
        raise NotAllowed("Messages are history and cannot be changed.")

    @routes.get("/messages/")
    async def list_messages(
        actor: ActingUser,
        page: Listing,
        conversation_id: str | None = None,
        include_return_message_types: Types = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            return read_history(
                connection,
                actor,
                page,
                View(),
                include_return_message_types,
                conversation_id=conversation_id,
            )

        return JsonBytes(await db.read(read))

    @routes.get("/messages/{message_id}")
    async def retrieve_message(actor: ActingUser, message_id: MessageIdPath) -> JsonBytes:
        message, agent_type = await db.read(repository.get_message, actor, message_id)
        return JsonBytes(typed_messages(message, View(reply=profile_of(agent_type).reply)))

    return routes


async def _named_agent(db: Database, actor: Actor, agent_id: str | None) -> list[str] | None:
    if agent_id is None:
        return None
    await db.read(repository.check_agent, actor, agent_id)
    return [agent_id]


def read_history(
    connection: Connection,
    actor: Actor,
    page: Page,
    view: View,
    wanted: list[MessageType] | None,
    **where: Any,
) -> list[Body]:
    """Typed messages from old to new. With a filter on types, the limit counts what is returned."""
    stored = window_page(page)
    if wanted is None:
        rows = repository.list_messages(connection, actor, stored, **where)
        groups = [_typed(row, view) for row in rows]
    else:
        groups = _read_wanted(connection, actor, stored, view, wanted, where)
    ordered = groups if stored.order == "asc" else reversed(groups)
    return [body for group in ordered for body in group]


def _read_wanted(
    connection: Connection,
    actor: Actor,
    page: Page,
    view: View,
    wanted: list[MessageType],
    where: dict[str, Any],
) -> list[list[Body]]:
    """What is wanted of each message, in the page's order, until the limit is reached.

    A message is not divided between pages, since a cursor names all of it; so the first one may exceed
    the limit by itself.
    """
    groups: list[list[Body]] = []
    count = 0
    limit = page.limit
    cursor = page.model_copy(update={"limit": limit and limit * _MORE_ROWS})
    while True:
        rows = repository.list_messages(connection, actor, cursor, **where)
        for row in rows:
            bodies = keep_types(_typed(row, view), wanted)
            if groups and limit is not None and count + len(bodies) > limit:
                return groups
            if bodies:
                groups.append(bodies)
                count += len(bodies)
        if cursor.limit is None or len(rows) < cursor.limit:
            return groups
        cursor = cursor.model_copy(update={"after": rows[-1].id})


def _typed(row: Row[Any], view: View) -> list[Body]:
    own = replace(view, reply=profile_of(row.agent_type).reply)
    if view.names_senders:
        own = replace(own, sender_id=row.agent_id, sender_name=row.agent_name)
    return typed_messages(repository.message_from(row), own)
