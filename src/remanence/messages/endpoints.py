"""Routes that read history."""

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
from remanence.errors import NotAllowed
from remanence.messages import repository
from remanence.messages.schemas import Body, View, keep_types, typed_messages
from remanence.messages.sending import MessageType

_MORE_ROWS = 4
"""How many rows are read for each typed message wanted, when only some types are."""


def _read_view(
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
    if page.order == "asc":
        return page
    return page.model_copy(update={"after": page.before, "before": page.after})


def router(db: Database) -> APIRouter:
    routes = APIRouter(tags=["messages"])

    @routes.get("/agents/{agent_id}/messages")
    async def list_agent_messages(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Listing,
        view: Annotated[View, Depends(_read_view)],
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
        return _typed(rows if stored.order == "asc" else rows[::-1], view)
    found: list[Body] = []
    limit = page.limit
    cursor = stored.model_copy(update={"limit": None if limit is None else limit * _MORE_ROWS})
    while True:
        rows = repository.list_messages(connection, actor, cursor, **where)
        bodies = keep_types(_typed(rows if stored.order == "asc" else rows[::-1], view), wanted)
        found = found + bodies if stored.order == "asc" else bodies + found
        if limit is None or len(found) >= limit or cursor.limit is None or len(rows) < cursor.limit:
            break
        if stored.before is not None and stored.after is None:
            cursor = cursor.model_copy(update={"before": rows[0].id})
        else:
            cursor = cursor.model_copy(update={"after": rows[-1].id})
    if limit is None:
        return found
    takes_first = (stored.order == "asc") != (stored.before is not None and stored.after is None)
    return found[:limit] if takes_first else found[-limit:]


def _typed(rows: list[Row[Any]], view: View) -> list[Body]:
    bodies: list[Body] = []
    for row in rows:
        own = View(
            reply=profile_of(row.agent_type).reply,
            use_assistant_message=view.use_assistant_message,
            speaking_tool=view.speaking_tool,
            speaking_argument=view.speaking_argument,
        )
        bodies += typed_messages(repository.message_from(row), own)
    return bodies
