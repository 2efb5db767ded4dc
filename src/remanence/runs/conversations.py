"""Routes that speak in a conversation, or in an agent's own history under the name `default`, and mend it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.agents.compiling import compile_for, recompile
from remanence.agents.conversations import repository as conversations
from remanence.agents.conversations import service as conversing
from remanence.agents.conversations.endpoints import ConversationIdPath
from remanence.agents.conversations.schemas import conversation_body
from remanence.agents.schemas import CompactionInput
from remanence.core.actor import Actor
from remanence.core.conversation import Conversation
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import AgentIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import BadArgument, Conflict, NotFound
from remanence.kit.ids import id_pattern
from remanence.messages import repository as messages
from remanence.messages.schemas import Body, keep_types
from remanence.messages.sending import MessageType, SendRequest
from remanence.runs import mending, repository
from remanence.runs.endpoints import refuse_stream_options, typed_rows
from remanence.runs.service import Address, RunService
from remanence.runs.speaking import ResumeRequest, Speaker

_OWN = "default"
_UUID = id_pattern("x")[2:-1]
_LANE = f"^({_OWN}|(conv|agent){_UUID})$"
LanePath = Annotated[str, Path(pattern=_LANE)]
AgentRef = Annotated[str | None, Field(pattern=id_pattern("agent"))]
AgentQueryRef = Annotated[str | None, Query(pattern=id_pattern("agent"))]


class ConversationSend(SendRequest):
    agent_id: AgentRef = None
    streaming: bool = True


class ConversationResume(ResumeRequest):
    agent_id: AgentRef = None
    run_id: str | None = None
    otid: str | None = None


class AgentNamed(BaseModel):
    agent_id: AgentRef = None


class Compact(AgentNamed):
    compaction_settings: CompactionInput | None = None


class Rewind(AgentNamed):
    message_id: Annotated[str, Field(pattern=id_pattern("message"))]
    restore_blocks: bool = False
    """What the messages beyond it wrote to memory is taken back too."""


def router(db: Database, service: RunService, speaker: Speaker) -> APIRouter:
    routes = make_routes("conversations")

    async def find(actor: Actor, name: str, agent_id: str | None) -> Address:
        return await db.read(_find, actor, name, agent_id)

    @routes.get("/conversations/{conversation_id}/messages")
    async def list_messages(
        actor: ActingUser,
        conversation_id: LanePath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
        agent_id: AgentQueryRef = None,
        group_id: str | None = None,
        include_err: bool | None = None,
        include_return_message_types: Annotated[list[MessageType] | None, Query()] = None,
    ) -> JsonBytes:
        if conversation_id == _OWN and agent_id is None:
            return JsonBytes([])

        def read(connection: Connection) -> list[Body]:
            address = _find(connection, actor, conversation_id, agent_id)
            return _read_page(
                connection, actor, address, page, include_return_message_types, group_id, bool(include_err)
            )

        return JsonBytes(await db.read(read))

    @routes.post("/conversations/{conversation_id}/messages")
    async def send_message(actor: ActingUser, conversation_id: LanePath, body: ConversationSend) -> Response:
        address = await find(actor, conversation_id, body.agent_id)
        if not body.streaming:
            refuse_stream_options(body)
            is_patient = address.conversation is not None
            return await speaker.answer(actor, _told(address, is_patient=is_patient), body)
        return await speaker.stream(actor, _told(address, is_patient=False), body)

    @routes.post("/conversations/{conversation_id}/messages/preview-raw-payload")
    async def preview_payload(
        actor: ActingUser, conversation_id: LanePath, body: ConversationSend
    ) -> JsonBytes:
        return JsonBytes(
            await service.preview(actor, await find(actor, conversation_id, body.agent_id), body)
        )

    @routes.post("/conversations/{conversation_id}/stream")
    async def resume_stream(
        actor: ActingUser, conversation_id: LanePath, body: ConversationResume | None = None
    ) -> Response:
        body = body or ConversationResume()
        address = await find(actor, conversation_id, body.agent_id)
        run_id = await db.read(_find_run, actor, address.lane, body.run_id, body.otid)
        return await speaker.resume(actor, run_id, body)

    @routes.delete("/conversations/{conversation_id}")
    async def delete_conversation(actor: ActingUser, conversation_id: ConversationIdPath) -> JsonBytes:
        address = await find(actor, conversation_id, None)
        with suppress(Conflict):  # nothing is running
            await service.cancel(actor, address.lane, None)
        await db.write(conversing.delete_conversation, actor, conversation_id)
        return JsonBytes(None)

    @routes.post("/conversations/{conversation_id}/cancel")
    async def cancel(
        actor: ActingUser, conversation_id: LanePath, agent_id: AgentQueryRef = None
    ) -> JsonBytes:
        address = await find(actor, conversation_id, agent_id)
        return JsonBytes(await service.cancel(actor, address.lane, None))

    @routes.post("/conversations/{conversation_id}/fork")
    async def fork(
        actor: ActingUser,
        conversation_id: LanePath,
        agent_id: AgentQueryRef = None,
        message_id: Annotated[str | None, Query(pattern=id_pattern("message"))] = None,
        hidden: bool = False,
    ) -> JsonBytes:
        def write(connection: Connection) -> Conversation:
            source = _find(connection, actor, conversation_id, agent_id)
            return conversing.fork(
                connection, actor, source.agent_id, source.conversation, up_to=message_id, is_hidden=hidden
            )

        return JsonBytes(conversation_body(await db.write(write)))

    @routes.post("/conversations/{conversation_id}/rewind")
    async def rewind(
        actor: ActingUser, conversation_id: LanePath, body: Rewind, agent_id: AgentQueryRef = None
    ) -> JsonBytes:
        def write(connection: Connection) -> Body:
            address = _find(connection, actor, conversation_id, body.agent_id or agent_id)
            ids, changed = mending.rewind(
                connection, actor, address, body.message_id, restores_blocks=body.restore_blocks
            )
            restored = {"restored_block_ids": [block.id for block in changed]} if body.restore_blocks else {}
            if address.conversation is not None:
                return conversation_body(address.conversation, ids) | restored
            return {"id": _OWN, "agent_id": address.agent_id, "in_context_message_ids": ids} | restored

        return JsonBytes(await db.write(write))

    @routes.post("/agents/{agent_id}/repair", tags=["agents"])
    async def repair(
        actor: ActingUser,
        agent_id: AgentIdPath,
        conversation_id: Annotated[str | None, Query(pattern=_LANE)] = None,
        dry_run: bool = False,
    ) -> JsonBytes:
        def work(connection: Connection) -> Body:
            address = _find(connection, actor, conversation_id or _OWN, agent_id)
            if address.agent_id != agent_id:
                raise NotFound(f"Agent {agent_id} has no conversation {conversation_id}.")
            if dry_run:
                findings = mending.examine(connection, address)
            else:
                findings = mending.repair(connection, actor, address)
            return {
                "agent_id": agent_id,
                "conversation_id": address.conversation_id,
                "dry_run": dry_run,
                "is_well_formed": not findings,
                "repaired": [asdict(finding) for finding in findings],
                "in_context_message_ids": messages.context_ids(connection, [address.lane])[address.lane],
            }

        return JsonBytes(await (db.read(work) if dry_run else db.write(work)))

    @routes.post("/agents/{agent_id}/summarize", tags=["agents"])
    async def compact_agent(
        actor: ActingUser, agent_id: AgentIdPath, body: Compact | None = None
    ) -> JsonBytes:
        return await compact(actor, Address(agent_id), body)

    @routes.post("/conversations/{conversation_id}/compact")
    async def compact_conversation(
        actor: ActingUser, conversation_id: LanePath, body: Compact | None = None
    ) -> JsonBytes:
        return await compact(actor, await find(actor, conversation_id, body.agent_id if body else None), body)

    async def compact(actor: Actor, address: Address, body: Compact | None) -> JsonBytes:
        given = body.compaction_settings if body else None
        done = await service.compact(actor, address, given)
        return JsonBytes(
            {
                "summary": done.summary,
                "num_messages_before": done.messages_before,
                "num_messages_after": done.messages_after,
            }
        )

    @routes.post("/conversations/{conversation_id}/recompile")
    async def recompile_conversation(
        actor: ActingUser, conversation_id: LanePath, dry_run: bool = False, body: AgentNamed | None = None
    ) -> JsonBytes:
        def run(connection: Connection) -> str:
            address = _find(connection, actor, conversation_id, body.agent_id if body else None)
            compiling = compile_for if dry_run else recompile
            return compiling(connection, actor, address.agent_id, address.conversation)

        return JsonBytes(await (db.read(run) if dry_run else db.write(run)))

    return routes


def _find(connection: Connection, actor: Actor, name: str, agent_id: str | None) -> Address:
    """Raises NotFound, and BadArgument where `default` comes without an agent."""
    if name.startswith("conv-"):
        found = conversations.get_conversation(connection, actor, name)
        return Address(found.agent_id, found)
    own = agent_id if name == _OWN else name
    if own is None:
        raise BadArgument("`default` is an agent's own history: say whose, with agent_id.")
    return Address(agents.get_agent(connection, actor, own).id)


def _told(address: Address, *, is_patient: bool) -> Address:
    return Address(address.agent_id, address.conversation, is_patient)


def _find_run(connection: Connection, actor: Actor, lane: str, run_id: str | None, otid: str | None) -> str:
    if run_id is not None:
        if repository.get_run(connection, actor, run_id).lane != lane:
            raise NotFound(f"Run {run_id} belongs to another conversation.")
        return run_id
    if otid is not None:
        found = repository.find_by_otid(connection, lane, otid)
        if found is None:
            raise NotFound(f"No run was started by the message id {otid}.")
        return found
    running = repository.list_open_runs(connection, actor, lane)
    if not running:
        raise BadArgument("Nothing is running in this conversation; name a run or a message id.")
    return running[-1]


def _read_page(
    connection: Connection,
    actor: Actor,
    address: Address,
    page: Page,
    wanted: Sequence[MessageType] | None,
    group_id: str | None,
    include_err: bool,
) -> list[Body]:
    """Typed messages in the order asked for; with a filter on types the limit counts what is returned.

    A message is not divided between pages, since a cursor names all of it.
    """
    goes_back = page.before is not None and page.after is None
    groups: list[list[Body]] = []
    count = 0
    cursor = page
    while True:
        rows = messages.list_messages(
            connection,
            actor,
            cursor,
            agent_id=address.agent_id,
            conversation_id=address.conversation_id or _OWN,
            group_id=group_id,
            include_err=include_err,
        )
        if wanted is None:
            return typed_rows(rows, page)
        for row in reversed(rows) if goes_back else rows:
            bodies = keep_types(typed_rows([row], page), wanted)
            if groups and page.limit is not None and count + len(bodies) > page.limit:
                return _in_order(groups, goes_back=goes_back)
            if bodies:
                groups.append(bodies)
                count += len(bodies)
        if page.limit is None or len(rows) < page.limit:
            return _in_order(groups, goes_back=goes_back)
        further = {"before": rows[0].id} if goes_back else {"after": rows[-1].id}
        cursor = page.model_copy(update=further)


def _in_order(groups: Sequence[list[Body]], *, goes_back: bool) -> list[Body]:
    return [body for group in (reversed(groups) if goes_back else groups) for body in group]
