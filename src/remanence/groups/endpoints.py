"""Routes of groups."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.agents.groups import repository
from remanence.agents.groups.schemas import group_body
from remanence.core.group import ManagerType
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import AgentIdPath, BlockIdPath, MessageIdPath, id_path, page_parameters
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.errors import Gone, NotAllowed
from remanence.groups import founding
from remanence.groups.rounds import Rounds
from remanence.groups.schemas import GroupCreate, GroupSend, GroupUpdate
from remanence.groups.service import Helpers
from remanence.groups.speaking import GroupSpeaker
from remanence.messages.endpoints import Types, read_history, read_view
from remanence.messages.schemas import Body, View
from remanence.runs.endpoints import refuse_stream_options

GroupIdPath = Annotated[str, id_path("group")]


def router(db: Database, helpers: Helpers, rounds: Rounds, speaker: GroupSpeaker) -> APIRouter:
    routes = make_routes("groups")
    _add_talk(routes, db, rounds, speaker)

    @routes.get("/groups/", operation_id="list_groups")
    async def list_groups(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50, order="asc"))],
        manager_type: ManagerType | None = None,
        project_id: Annotated[StoredText | None, Query()] = None,
    ) -> JsonBytes:
        found = await db.read(
            repository.list_groups, actor, page, manager_type=manager_type, project_id=project_id
        )
        return JsonBytes([group_body(group) for group in found])

    @routes.post("/groups/", operation_id="create_group")
    async def create_group(actor: ActingUser, body: GroupCreate) -> JsonBytes:
        return JsonBytes(group_body(await db.write(founding.create_group, actor, body)))

    @routes.get("/groups/count", operation_id="count_groups")
    async def count_groups(actor: ActingUser) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_groups, actor))

    @routes.get("/groups/{group_id}", operation_id="retrieve_group")
    async def retrieve_group(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        return JsonBytes(group_body(await db.read(repository.get_group, actor, group_id)))

    @routes.patch("/groups/{group_id}", operation_id="modify_group")
    async def modify_group(actor: ActingUser, group_id: GroupIdPath, body: GroupUpdate) -> JsonBytes:
        return JsonBytes(group_body(await db.write(founding.update_group, actor, group_id, body)))

    @routes.delete("/groups/{group_id}", operation_id="delete_group")
    async def delete_group(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        await db.write(founding.delete_group, actor, helpers, group_id)
        return message_body(f"Group {group_id} was deleted.")

    @routes.patch("/groups/{group_id}/blocks/attach/{block_id}", operation_id="attach_block_to_group")
    async def attach_block(actor: ActingUser, group_id: GroupIdPath, block_id: BlockIdPath) -> JsonBytes:
        return JsonBytes(group_body(await db.write(founding.share_block, actor, group_id, block_id)))

    @routes.patch("/groups/{group_id}/blocks/detach/{block_id}", operation_id="detach_block_from_group")
    async def detach_block(actor: ActingUser, group_id: GroupIdPath, block_id: BlockIdPath) -> JsonBytes:
        return JsonBytes(group_body(await db.write(founding.unshare_block, actor, group_id, block_id)))

    @routes.get("/agents/{agent_id}/groups", operation_id="list_groups_for_agent")
    async def list_agent_groups(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
        manager_type: ManagerType | None = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            agents.get_agent(connection, actor, agent_id)
            found = repository.list_groups(
                connection, actor, page, manager_type=manager_type, member_id=agent_id
            )
            return [group_body(group) for group in found]

        return JsonBytes(await db.read(read))

    @routes.post("/voice-beta/{agent_id}/chat/completions", tags=["voice"], deprecated=True)
    async def voice_completions(actor: ActingUser, agent_id: str) -> JsonBytes:
        raise Gone(
            "This route is retired. Speak to voice agents as to all others: POST /v1/agents/…/messages."
        )

    return routes


def _add_talk(routes: APIRouter, db: Database, rounds: Rounds, speaker: GroupSpeaker) -> None:

    @routes.post("/groups/{group_id}/messages", operation_id="send_group_message")
    async def send_message(actor: ActingUser, group_id: GroupIdPath, body: GroupSend) -> Response:
        if body.streaming:
            return await speaker.stream(actor, group_id, body)
        refuse_stream_options(body)
        return await speaker.answer(actor, group_id, body)

    @routes.post("/groups/{group_id}/messages/stream", operation_id="stream_group_message")
    async def stream_message(actor: ActingUser, group_id: GroupIdPath, body: GroupSend) -> Response:
        return await speaker.stream(actor, group_id, body)

    @routes.post("/groups/{group_id}/messages/async", operation_id="send_group_message_async")
    async def send_async(actor: ActingUser, group_id: GroupIdPath, body: GroupSend) -> JsonBytes:
        return await speaker.start(actor, group_id, body)

    @routes.post("/groups/{group_id}/messages/cancel", operation_id="cancel_group_messages")
    async def cancel(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        return JsonBytes(await rounds.cancel(actor, group_id))

    @routes.get("/groups/{group_id}/messages", operation_id="list_group_messages")
    async def list_messages(
        actor: ActingUser,
        group_id: GroupIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=10))],
        view: Annotated[View, Depends(read_view)],
        include_return_message_types: Types = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            repository.get_group(connection, actor, group_id)
            named = replace(view, names_senders=True)
            return read_history(
                connection, actor, page, named, include_return_message_types, group_id=group_id
            )

        return JsonBytes(await db.read(read))

    @routes.patch("/groups/{group_id}/messages/{message_id}", operation_id="modify_group_message")
    async def modify_message(
        actor: ActingUser, group_id: GroupIdPath, message_id: MessageIdPath
    ) -> JsonBytes:
        raise NotAllowed("Messages are history and cannot be changed.")

    @routes.patch("/groups/{group_id}/reset-messages", operation_id="reset_group_messages")
    async def reset_messages(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        return JsonBytes(group_body(await db.write(founding.reset_messages, actor, group_id)))
