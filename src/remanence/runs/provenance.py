"""Where a piece of memory came from, so that poison can be found, and the way back for all of it."""

from typing import Any

from fastapi import APIRouter
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.archives import repository as archives
from remanence.archives.schemas import passage_body
from remanence.core.actor import Actor
from remanence.core.message import Message
from remanence.core.profile import profile_of
from remanence.core.revision import Revision, user_author
from remanence.db.database import Database
from remanence.edge.parameters import BlockIdPath, PassageIdPath
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import NotFound
from remanence.kit.ids import RunId
from remanence.memory import repository as blocks
from remanence.memory.history import Number, revision_bodies
from remanence.memory.schemas import RevisionFilter, block_body
from remanence.messages import repository as messages
from remanence.messages.schemas import Body, View, typed_messages
from remanence.runs import repository
from remanence.search.ports import SearchIndex


def router(db: Database, index: SearchIndex) -> APIRouter:
    routes = make_routes("blocks")

    @routes.get("/blocks/{block_id}/revisions/{number}/provenance")
    async def retrieve_provenance(actor: ActingUser, block_id: BlockIdPath, number: Number) -> JsonBytes:
        def read(connection: Connection) -> Body:
            block, _ = blocks.find_any_block(connection, actor, block_id)
            revision = blocks.get_revision(connection, block, number)
            body: dict[str, Any] = {"revision": revision_bodies(connection, [revision])[0]}
            nothing: Body = {"agent_id": None, "conversation_id": None, "source": None, "messages": []}
            run_id = revision.author.run_id
            if run_id is None:
                return body | nothing
            try:
                run = repository.get_run(connection, actor, run_id)
                agent = agents.get_agent(connection, actor, run.agent_id)
            except NotFound:  # deleted since
                return body | nothing
            view = View(reply=profile_of(agent.agent_type).reply)
            led = [
                typed for each in _before(connection, actor, revision) for typed in typed_messages(each, view)
            ]
            return body | {
                "agent_id": run.agent_id,
                "conversation_id": run.conversation_id,
                "source": (run.metadata or {}).get("source"),
                "messages": led,
            }

        return JsonBytes(await db.read(read))

    @routes.post("/revisions/undo")
    async def undo_found(actor: ActingUser, where: RevisionFilter) -> JsonBytes:
        where.check()

        def write(connection: Connection) -> list[Body]:
            found = blocks.find_revisions(connection, actor, where)
            standing = blocks.still_standing(connection, found)
            archives.undo_passages(connection, index, actor, standing)
            changed = blocks.undo_writes(connection, actor, standing, user_author(actor))
            return [block_body(block) for block in changed]

        return JsonBytes(await db.write(write))

    @routes.get("/passages/{passage_id}/revisions", tags=["passages"])
    async def list_passage_revisions(actor: ActingUser, passage_id: PassageIdPath) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            found = archives.list_passage_writes(connection, actor, passage_id)
            return revision_bodies(connection, found)

        return JsonBytes(await db.read(read))

    @routes.post("/passages/{passage_id}/restore", tags=["passages"])
    async def restore_passage(actor: ActingUser, passage_id: PassageIdPath) -> JsonBytes:
        def write(connection: Connection) -> Body:
            return passage_body(archives.restore_passage(connection, index, actor, passage_id), None)

        return JsonBytes(await db.write(write))

    return routes


def _before(connection: Connection, actor: Actor, revision: Revision) -> list[Message]:
    """The messages of the run up to the call that wrote, and of the run before it if it was one answer."""
    author = revision.author
    runs = [author.run_id] if author.run_id else []
    called = _find(connection, actor, author.message_id)
    if called is not None and called.run_id is not None and called.run_id not in runs:
        runs.insert(0, called.run_id)
    found = [each for run_id in runs for each in messages.list_run_messages(connection, RunId(run_id))]
    if called is None:
        return [each for each in found if each.created_at <= revision.created_at]
    earlier = [each for each in found if each.created_at <= called.created_at]
    answers = [each for each in found if each.approvals and each not in earlier]
    return earlier + answers


def _find(connection: Connection, actor: Actor, message_id: str | None) -> Message | None:
    found = messages.find_messages(connection, actor, [message_id]) if message_id else []
    return found[0] if found else None
