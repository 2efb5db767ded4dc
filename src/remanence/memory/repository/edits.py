"""What agents do to their blocks, saved with the step in which they did it."""

from collections.abc import Sequence
from typing import Any, assert_never

from sqlalchemy import Connection, bindparam, select

from remanence.core.actor import Actor
from remanence.core.block import (
    Block,
    BlockAdded,
    BlockDropped,
    BlockEdit,
    DescriptionSet,
    LabelSet,
    ValueSet,
)
from remanence.core.revision import Author
from remanence.db.dialect import checked
from remanence.db.tables import BlockRow
from remanence.errors import AlreadyExists, Invalid
from remanence.kit.ids import AgentId, BlockId, ConversationId
from remanence.memory.repository.blocks import delete_block, insert_blocks
from remanence.memory.repository.holders import find_block_by_label, link_blocks, unlink_block
from remanence.memory.repository.revisions import write_block
from remanence.memory.repository.rows import BLOCK, to_block
from remanence.memory.repository.versions import bump_holders
from remanence.memory.rules import check_label

_LOCKED = (  # built once: to build a statement costs several times as much as to run it
    select(*BLOCK)
    .where(
        BlockRow.id.in_(bindparam("blocks", expanding=True)),
        checked(BlockRow.organization_id) == bindparam("organization"),
        BlockRow.is_deleted.is_(False),
    )
    .order_by(BlockRow.id)
    .with_for_update(of=BlockRow)
)


class EditRefused(Exception):
    """An edit cannot be saved although its tool saw nothing wrong: another agent's memory is in the way."""

    def __init__(self, edit: BlockEdit, reason: str) -> None:
        super().__init__(reason)
        self.edit = edit
        self.reason = reason


def apply_edits(
    connection: Connection,
    actor: Actor,
    agent_id: AgentId,
    edits: Sequence[BlockEdit],
    author: Author,
    conversation_id: ConversationId | None = None,
) -> int | None:
    """Saves the edits in order, and returns the agent's new version; None if there is nothing to save.

    A block that was deleted in the meantime stays deleted. Raises EditRefused, e.g. if a holder of a
    renamed block has another of the new label by now.
    """
    if not edits:
        return None
    changed = [edit.block_id for edit in edits if not isinstance(edit, BlockAdded)]
    known = _lock_blocks(connection, actor, changed)
    for edit in edits:
        by = author.model_copy(update={"tool": edit.tool})
        try:
            match edit:
                case BlockAdded(block=block):
                    known[block.id] = _add(connection, actor, agent_id, block, by, conversation_id)
                case BlockDropped(block_id=block_id):
                    if block_id in known:
                        _drop(connection, actor, agent_id, known.pop(block_id), by)
                case _:
                    if edit.block_id in known:
                        before = known[edit.block_id]
                        after = before.model_copy(update=_fields(edit))
                        known[before.id] = write_block(connection, before, after, by)
        except (AlreadyExists, Invalid) as error:
            raise EditRefused(edit, error.message) from error
    return bump_holders(connection, changed, [agent_id]).get(agent_id)


def _fields(edit: ValueSet | DescriptionSet | LabelSet) -> dict[str, Any]:
    match edit:
        case ValueSet(value=value):
            return {"value": value}
        case DescriptionSet(description=description):
            return {"description": description}
        case LabelSet(label=label):
            check_label(label)
            return {"label": label}
        case _:
            assert_never(edit)


def _lock_blocks(connection: Connection, actor: Actor, block_ids: Sequence[BlockId]) -> dict[BlockId, Block]:
    if not block_ids:
        return {}
    values = {"blocks": list(dict.fromkeys(block_ids)), "organization": actor.organization_id}
    rows = connection.execute(_LOCKED, values)
    return {block.id: block for block in map(to_block, rows)}


def _add(
    connection: Connection,
    actor: Actor,
    agent_id: AgentId,
    block: Block,
    author: Author,
    conversation_id: ConversationId | None,
) -> Block:
    block = block.model_copy(update={"created_by_id": actor.user_id, "last_updated_by_id": actor.user_id})
    # In a conversation that hides the agent's block of this label, the new one is the conversation's own.
    if conversation_id and find_block_by_label(connection, actor, agent_id, block.label):
        own = block.model_copy(update={"conversation_id": conversation_id})
        return insert_blocks(connection, [own], author)[0]
    stored = insert_blocks(connection, [block], author)
    link_blocks(connection, agent_id, stored)
    return stored[0]


def _drop(connection: Connection, actor: Actor, agent_id: AgentId, block: Block, author: Author) -> None:
    if block.conversation_id is not None:
        delete_block(connection, actor, block.id, author, action="drop")
    elif unlink_block(connection, agent_id, block.id):
        write_block(connection, block, block, author, action="drop", marks={"held_by": [agent_id]})
