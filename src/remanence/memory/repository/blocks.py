"""Blocks: make, read, list, change, delete."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, select

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.page import Page
from remanence.core.revision import Action, Author, merge_blocks, user_author
from remanence.core.text_merge import Touching
from remanence.db.paging import fetch_page
from remanence.db.tables import BlockRow, BlocksAgentsRow
from remanence.errors import EditConflict
from remanence.kit.clock import later_than
from remanence.kit.ids import BlockId
from remanence.memory.repository.filters import conditions
from remanence.memory.repository.revisions import (
    drop_revisions,
    lock_block,
    note_creation,
    past_block,
    write_block,
)
from remanence.memory.repository.rows import BLOCK, insert_tags, live, to_block, to_values, unknown
from remanence.memory.repository.versions import bump_holders
from remanence.memory.rules import check_block, check_length, check_texts
from remanence.memory.schemas import BlockFilter, BlockUpdate


def insert_blocks(
    connection: Connection, blocks: Sequence[Block], author: Author | None = None
) -> list[Block]:
    """Stores new blocks, in this order as lists show them; made by their user, or else by this author.

    Raises Invalid.
    """
    stored: list[Block] = []
    moment: datetime | None = None
    for block in blocks:
        check_block(block)
        moment = _later(block.created_at, moment)
        stored.append(block.model_copy(update={"created_at": moment, "revision": 1}))
    if stored:
        connection.execute(insert(BlockRow), [to_values(block) for block in stored])
        insert_tags(connection, stored)
        if author is not None:
            note_creation(connection, stored, author)
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
    """The blocks that a conversation has to itself."""
    return list_stand_ins(connection, actor, conversation_id)[0]


def list_stand_ins(
    connection: Connection, actor: Actor, conversation_id: str
) -> tuple[list[Block], set[BlockId]]:
    """The blocks that a conversation has to itself, and those of the agent that it therefore does not see.

    A copy that was deleted there hides what it was copied from all the same.
    """
    rows = connection.execute(
        select(BlockRow.is_deleted, *BLOCK)
        .where(BlockRow.conversation_id == conversation_id, BlockRow.organization_id == actor.organization_id)
        .order_by(BlockRow.created_at)
    ).all()
    found = [(to_block(row), row.is_deleted) for row in rows]
    hidden = {block.copied_from for block, _ in found if block.copied_from is not None}
    return [block for block, is_deleted in found if not is_deleted], hidden


def count_blocks(connection: Connection, actor: Actor, where: BlockFilter) -> int:
    statement = select(func.count()).select_from(BlockRow).where(*live(actor), *conditions(where))
    return connection.execute(statement).scalar_one()


def update_block(
    connection: Connection, actor: Actor, block_id: str, changes: BlockUpdate, author: Author | None = None
) -> Block:
    """Raises NotFound, Invalid, AlreadyExists if a holder has another block of the new label, and
    EditConflict if the block has changed since the revision that the caller read, in the same place.
    """
    # Locked, so that a value and a limit that come at once cannot each be right and both be wrong.
    before, is_deleted = lock_block(connection, actor, block_id)
    if is_deleted:
        raise unknown(block_id)
    after = changes.applied_to(before)
    if changes.base_revision is not None and changes.base_revision != before.revision:
        read = past_block(connection, before, False, changes.base_revision).block
        try:
            after = merge_blocks(read, theirs=before, ours=changes.applied_to(read))
        except Touching:
            raise conflict(before, changes.base_revision) from None
    if after == before:
        return before
    check_texts(after)
    if (after.value, after.limit) != (before.value, before.limit):
        check_length(after)
    after = write_block(connection, before, after, author or user_author(actor))
    bump_holders(connection, [before.id])
    return after


def conflict(block: Block, read: int) -> EditConflict:
    return EditConflict(
        f"Block {block.id} ({block.label!r}) was changed in the same place since revision {read}; it is at "
        f"revision {block.revision} now. Read it, bring both changes together and write again. Nothing was "
        "changed.",
        block.revision,
    )


def delete_block(
    connection: Connection,
    actor: Actor,
    block_id: str,
    author: Author | None = None,
    *,
    action: Action = "delete",
    restored: int | None = None,
) -> None:
    """Takes the block from all its holders and out of sight; the row stays. Raises NotFound."""
    block, is_deleted = lock_block(connection, actor, block_id)
    if is_deleted:
        raise unknown(block_id)
    bump_holders(connection, [block_id])
    holders = delete(BlocksAgentsRow).where(BlocksAgentsRow.block_id == block_id)
    lost_by = sorted(connection.execute(holders.returning(BlocksAgentsRow.agent_id)).scalars())
    write_block(
        connection,
        block,
        block,
        author or user_author(actor),
        action=action,
        restored=restored,
        marks={"is_deleted": False, "held_by": lost_by},
        is_deleted=True,
    )


def purge_block(connection: Connection, actor: Actor, block_id: str) -> None:
    """Removes the row for good, a deleted one too, with all that refers to it. Raises NotFound."""
    mine = (BlockRow.id == block_id, BlockRow.organization_id == actor.organization_id)
    if connection.execute(select(BlockRow.id).where(*mine)).first() is None:
        raise unknown(block_id)
    bump_holders(connection, [block_id])
    connection.execute(delete(BlockRow).where(*mine))
    drop_revisions(connection, block_id)


def _later(given: datetime | None, previous: datetime | None) -> datetime:
    if given is not None and (previous is None or given > previous):
        return given
    return later_than(previous)
