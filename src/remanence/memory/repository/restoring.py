"""Going back: a block as it was at some revision, or without one of its writes."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.revision import Action, Author, Revision, go_back, merge_blocks
from remanence.core.text_merge import Touching
from remanence.db.tables import AgentRow, BlocksAgentsRow, RevisionRow
from remanence.errors import BadArgument, Conflict
from remanence.kit.ids import AgentId
from remanence.memory.repository.blocks import conflict, delete_block
from remanence.memory.repository.holders import link_blocks
from remanence.memory.repository.revisions import (
    get_revision,
    lock_block,
    past_block,
    write_block,
)
from remanence.memory.repository.versions import bump_holders
from remanence.memory.rules import check_texts


def restore_block(connection: Connection, actor: Actor, block_id: str, number: int, author: Author) -> Block:
    """The block as it was after that revision, as a new revision; whoever lost it since holds it again.

    Raises NotFound, Gone, BadArgument, and AlreadyExists if a holder has another block of that label now.
    """
    block, is_deleted = lock_block(connection, actor, block_id)
    past = past_block(connection, block, is_deleted, number)
    if past.is_deleted:
        raise BadArgument(f"At revision {number} block {block_id} was deleted; delete it instead.")
    return _write(connection, block, is_deleted, past.block, past.lost_by, author, "restore", number)


def undo_last(connection: Connection, actor: Actor, block_id: str, author: Author) -> Block:
    """One step back; done again, another one. Raises what `restore_block` raises, and Conflict at the end."""
    block, _ = lock_block(connection, actor, block_id)
    number = block.revision
    rows = connection.execute(
        select(RevisionRow.number, RevisionRow.restored).where(
            RevisionRow.subject_id == block_id, RevisionRow.action == "restore"
        )
    )
    restored = {row.number: row.restored for row in rows}
    while (earlier := restored.get(number)) is not None:
        number = earlier
    if number <= 1:
        raise Conflict(f"Block {block_id} is as it was made: there is nothing to undo.")
    return restore_block(connection, actor, block_id, number - 1, author)


def undo_revision(connection: Connection, actor: Actor, block_id: str, number: int, author: Author) -> Block:
    """Takes one write back and keeps those after it.

    Raises NotFound, Gone, and EditConflict if a later write was about the same place.
    """
    block, is_deleted = lock_block(connection, actor, block_id)
    revision = get_revision(connection, block, number)
    if revision.action == "create":
        if not is_deleted:
            delete_block(connection, actor, block_id, author, action="undo", restored=number)
        return block
    written = past_block(connection, block, is_deleted, number).block
    try:
        merged = merge_blocks(written, theirs=block, ours=go_back(written, revision.change))
    except Touching:
        raise conflict(block, number) from None
    was_deleted = is_deleted and revision.change.get("is_deleted") is not False
    lost_by = revision.change.get("held_by", ())
    return _write(connection, block, is_deleted, merged, lost_by, author, "undo", number, was_deleted)


def undo_writes(
    connection: Connection, actor: Actor, revisions: Sequence[Revision], author: Author
) -> list[Block]:
    """Takes these writes to blocks back, the newest first: all or, if one raises, none. Each block once."""
    done: dict[str, Block] = {}
    of_blocks = [each for each in revisions if each.is_of_block]
    for revision in sorted(of_blocks, key=lambda each: (each.subject_id, -each.number)):
        block = undo_revision(connection, actor, revision.subject_id, revision.number, author)
        done[block.id] = block
    return list(done.values())


def still_standing(connection: Connection, written: Sequence[Revision]) -> list[Revision]:
    """Those of these writes that were not undone."""
    rows = connection.execute(
        select(RevisionRow.subject_id, RevisionRow.restored).where(
            RevisionRow.subject_id.in_({each.subject_id for each in written}), RevisionRow.action == "undo"
        )
    )
    undone = {(row.subject_id, row.restored) for row in rows}
    return [each for each in written if (each.subject_id, each.number) not in undone]


def _write(
    connection: Connection,
    before: Block,
    is_deleted: bool,
    after: Block,
    lost_by: Sequence[AgentId],
    author: Author,
    action: Action,
    restored: int,
    stays_deleted: bool = False,
) -> Block:
    check_texts(after)
    returns = is_deleted and not stays_deleted
    stored = write_block(
        connection,
        before,
        after.model_copy(update={"revision": before.revision}),
        author,
        action=action,
        restored=restored,
        marks={"is_deleted": True} if returns else {"held_by": []} if lost_by else None,
        is_deleted=False if returns else None,
    )
    if not is_deleted or returns:
        for agent_id in _without(connection, stored, lost_by):
            link_blocks(connection, agent_id, [stored])
    bump_holders(connection, [stored.id])
    return stored


def _without(connection: Connection, block: Block, agent_ids: Sequence[AgentId]) -> list[AgentId]:
    """Those of these agents that are there and do not hold the block."""
    holding = select(BlocksAgentsRow.agent_id).where(BlocksAgentsRow.block_id == block.id)
    wanted = select(AgentRow.id).where(
        AgentRow.id.in_(list(agent_ids)), AgentRow.is_deleted.is_(False), AgentRow.id.not_in(holding)
    )
    return [AgentId(agent_id) for agent_id in connection.execute(wanted).scalars()]
