"""Routes of blocks and of tags."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import BlockIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.memory import repository
from remanence.memory.schemas import BlockCreate, BlockFilter, BlockUpdate, block_body


async def _read_filter(where: Annotated[BlockFilter, Query()]) -> BlockFilter:
    return where


Where = Annotated[BlockFilter, Depends(_read_filter)]


def router(db: Database) -> APIRouter:
    routes = make_routes()

    @routes.get("/blocks/", operation_id="list_blocks", tags=["blocks"])
    async def list_blocks(
        actor: ActingUser,
        where: Where,
        page: Annotated[Page, Depends(page_parameters(limit=50, order="asc"))],
    ) -> JsonBytes:
        blocks = await db.read(repository.list_blocks, actor, where, page)
        return JsonBytes([block_body(block) for block in blocks])

    @routes.get("/blocks/count", operation_id="count_blocks", tags=["blocks"])
    async def count_blocks(actor: ActingUser, where: Where) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_blocks, actor, where))

    @routes.post("/blocks/", operation_id="create_block", tags=["blocks"])
    async def create_block(actor: ActingUser, body: BlockCreate) -> JsonBytes:
        stored = await db.write(repository.insert_blocks, [body.new_block(actor)])
        return JsonBytes(block_body(stored[0]))

    @routes.get("/blocks/{block_id}", operation_id="retrieve_block", tags=["blocks"])
    async def retrieve_block(actor: ActingUser, block_id: BlockIdPath) -> JsonBytes:
        return JsonBytes(block_body(await db.read(repository.get_block, actor, block_id)))

    @routes.patch("/blocks/{block_id}", operation_id="modify_block", tags=["blocks"])
    async def modify_block(actor: ActingUser, block_id: BlockIdPath, body: BlockUpdate) -> JsonBytes:
        return JsonBytes(block_body(await db.write(repository.update_block, actor, block_id, body)))

    @routes.delete("/blocks/{block_id}", operation_id="delete_block", tags=["blocks"])
    async def delete_block(actor: ActingUser, block_id: BlockIdPath) -> JsonBytes:
        await db.write(repository.delete_block, actor, block_id)
        return JsonBytes(None)

    @routes.get("/tags/", operation_id="list_tags", tags=["tags"])
    async def list_tags(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50, order="asc", order_by=("name",)))],
        name: StoredText | None = None,
        query_text: Annotated[StoredText | None, Query(deprecated=True)] = None,
    ) -> JsonBytes:
        return JsonBytes(await db.read(repository.list_tags, actor, page, name or query_text))

    return routes
