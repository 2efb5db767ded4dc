"""Blocks: make, read, list, change, delete."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import BlockRow, BlocksAgentsRow, BlockTagRow
from remanence.errors import AlreadyExists
from remanence.kit.clock import later_than
from remanence.memory.repository.filters import conditions
from remanence.memory.repository.rows import BLOCK, insert_tags, live, to_block, to_values, unknown
from remanence.memory.repository.versions import bump_holders
from remanence.memory.rules import check_block, check_length, check_texts
from remanence.memory.schemas import BlockFilter, BlockUpdate


def insert_blocks(connection: Connection, blocks: Sequence[Block]) -> list[Block]:
    """Stores new blocks, in this order as lists show them. Raises Invalid."""
    stored: list[Block] = []
    moment: datetime | None = None
    for block in blocks:
        check_block(block)
        moment = _later(block.created_at, moment)
        stored.append(block.model_copy(update={"created_at": moment}))
    if stored:
        connection.execute(insert(BlockRow), [to_values(block) for block in stored])
        insert_tags(connection, stored)
    return stored


def get_block(connection: Connection, actor: Actor, block_id: str) -> Block:
    """Raises NotFound."""
    row = connection.execute(select(*BLOCK).where(BlockRow.id == block_id, *live(actor))).first()
    if row is None:
        raise unknown(block_id)
    return to_block(row)


def get_blocks(connection: Connection, actor: Actor, block_ids: Collection[str]) -> list[Block]:
    """These blocks, each once and in the order given. Raises NotFound if one is missing."""
    if not block_ids:
        return []
    statement = select(*BLOCK).where(BlockRow.id.in_(list(block_ids)), *live(actor))
    found = {row.id: to_block(row) for row in connection.execute(statement)}
    for block_id in block_ids:
        if block_id not in found:
            raise unknown(block_id)
    return [found[block_id] for block_id in dict.fromkeys(block_ids)]


def list_blocks(connection: Connection, actor: Actor, where: BlockFilter, page: Page) -> list[Block]:
    """Raises NotFound for an unknown cursor."""
    rows = fetch_page(
        connection,
        select(*BLOCK).where(*live(actor), *conditions(where)),
        page,
        key=BlockRow.created_at,
        id_column=BlockRow.id,
        # A block that is deleted while someone pages is still a place to go on from.
        scope=(BlockRow.organization_id == actor.organization_id,),
    )
    return [to_block(row) for row in rows]


def list_conversation_blocks(connection: Connection, actor: Actor, conversation_id: str) -> list[Block]:
    """The copies that a conversation has to itself."""
    statement = select(*BLOCK).where(BlockRow.conversation_id == conversation_id, *live(actor))
    return [to_block(row) for row in connection.execute(statement.order_by(BlockRow.created_at))]


def count_blocks(connection: Connection, actor: Actor, where: BlockFilter) -> int:
    statement = select(func.count()).select_from(BlockRow).where(*live(actor), *conditions(where))
    return connection.execute(statement).scalar_one()


def update_block(connection: Connection, actor: Actor, block_id: str, changes: BlockUpdate) -> Block:
    """Raises NotFound, Invalid, and AlreadyExists if a holder has another block of the new label."""
    # Locked, so that a value and a limit that come at once cannot each be right and both be wrong.
    connection.execute(select(BlockRow.id).where(BlockRow.id == block_id, *live(actor)).with_for_update())
    before = get_block(connection, actor, block_id)
    after = changes.applied_to(before)
    if after == before:
        return before
    check_texts(after)
    if (after.value, after.limit) != (before.value, before.limit):
        check_length(after)
    after = after.model_copy(update={"last_updated_by_id": actor.user_id})
    change_row(connection, actor, before.id, to_values(after))
    if after.tags != before.tags:
        connection.execute(delete(BlockTagRow).where(BlockTagRow.block_id == before.id))
        insert_tags(connection, [after])
    bump_holders(connection, [before.id])
    return after


def change_row(connection: Connection, actor: Actor, block_id: str, values: dict[str, Any]) -> None:
    """Sets columns of a live block; a new label reaches its holders by the cascade. Raises AlreadyExists."""
    try:
        connection.execute(update(BlockRow).where(BlockRow.id == block_id, *live(actor)).values(**values))
    except IntegrityError:
        raise AlreadyExists(
            f"An agent that holds {block_id} holds another block labelled {values.get('label')!r} too. "
            "Choose another label, or detach one of the two first."
        ) from None


def delete_block(connection: Connection, actor: Actor, block_id: str) -> None:
    """Takes the block from all its holders and out of sight; the row stays. Raises NotFound."""
    get_block(connection, actor, block_id)
    bump_holders(connection, [block_id])
    connection.execute(delete(BlocksAgentsRow).where(BlocksAgentsRow.block_id == block_id))
    change_row(connection, actor, block_id, {"is_deleted": True, "last_updated_by_id": actor.user_id})


def purge_block(connection: Connection, actor: Actor, block_id: str) -> None:
    """Removes the row for good, a deleted one too, with all that refers to it. Raises NotFound."""
    mine = (BlockRow.id == block_id, BlockRow.organization_id == actor.organization_id)
    if connection.execute(select(BlockRow.id).where(*mine)).first() is None:
        raise unknown(block_id)
    bump_holders(connection, [block_id])
    connection.execute(delete(BlockRow).where(*mine))


def _later(given: datetime | None, previous: datetime | None) -> datetime:
    if given is not None and (previous is None or given > previous):
        return given
    return later_than(previous)
