"""Routes of a block's history: what was written, by whom and why, and the ways back."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.core.block import Block
from remanence.core.revision import Revision, user_author
from remanence.db.database import Database
from remanence.edge.fields import MAX_NUMBER
from remanence.edge.parameters import BlockIdPath
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.memory import repository
from remanence.memory.schemas import RevisionFilter, block_body, difference_body, revision_body

Number = Annotated[int, Path(ge=0, le=MAX_NUMBER)]
Limit = Annotated[int, Query(ge=1, le=1000)]


async def _read_filter(where: Annotated[RevisionFilter, Query()]) -> RevisionFilter:
    where.check()
    return where


def router(db: Database) -> APIRouter:
    routes = make_routes("blocks")

    @routes.get("/blocks/{block_id}/revisions")
    async def list_revisions(
        actor: ActingUser,
        block_id: BlockIdPath,
        before: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
        limit: Limit = 50,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            block, _ = repository.find_any_block(connection, actor, block_id)
            found = repository.list_revisions(connection, block, before=before, limit=limit)
            return revision_bodies(connection, found)

        return JsonBytes(await db.read(read))

    @routes.get("/blocks/{block_id}/revisions/{number}")
    async def retrieve_revision(
        actor: ActingUser,
        block_id: BlockIdPath,
        number: Number,
        against: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> dict[str, Any]:
            block, is_deleted = repository.find_any_block(connection, actor, block_id)
            found = repository.get_revision(connection, block, number)
            after = repository.past_block(connection, block, is_deleted, number).block
            other = max(number - 1, 0) if against is None else against
            if against is None and found.action == "create":
                before = Block(id=block.id, organization_id=block.organization_id, label=after.label)
            else:
                before = repository.past_block(connection, block, is_deleted, other).block
            return (
                revision_bodies(connection, [found])[0] | {"against": other} | difference_body(before, after)
            )

        return JsonBytes(await db.read(read))

    @routes.post("/blocks/{block_id}/revisions/{number}/restore")
    async def restore_revision(actor: ActingUser, block_id: BlockIdPath, number: Number) -> JsonBytes:
        author = user_author(actor)
        block = await db.write(repository.restore_block, actor, block_id, number, author)
        return JsonBytes(block_body(block))

    @routes.post("/blocks/{block_id}/revisions/{number}/undo")
    async def undo_revision(actor: ActingUser, block_id: BlockIdPath, number: Number) -> JsonBytes:
        author = user_author(actor)
        block = await db.write(repository.undo_revision, actor, block_id, number, author)
        return JsonBytes(block_body(block))

    @routes.post("/blocks/{block_id}/undo")
    async def undo_last(actor: ActingUser, block_id: BlockIdPath) -> JsonBytes:
        return JsonBytes(
            block_body(await db.write(repository.undo_last, actor, block_id, user_author(actor)))
        )

    @routes.get("/revisions/")
    async def find_revisions(
        actor: ActingUser, where: Annotated[RevisionFilter, Depends(_read_filter)], limit: Limit = 100
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            return revision_bodies(
                connection, repository.find_revisions(connection, actor, where, limit=limit)
            )

        return JsonBytes(await db.read(read))

    return routes


def revision_bodies(connection: Connection, revisions: Sequence[Revision]) -> list[dict[str, Any]]:
    causes = repository.load_causes(connection, revisions)
    nothing = repository.Cause(None, None)
    found = [(each, causes.get(each.author.message_id or "", nothing)) for each in revisions]
    return [revision_body(each, step_id=cause.step_id, reason=cause.reason) for each, cause in found]
