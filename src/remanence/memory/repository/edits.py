"""What agents do to their blocks, saved with the step in which they did it."""

from collections.abc import Sequence
from typing import Any, assert_never

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.block import BlockAdded, BlockDropped, BlockEdit, DescriptionSet, LabelSet, ValueSet
from remanence.kit.ids import AgentId, BlockId
from remanence.memory.repository.blocks import change_row, insert_blocks
from remanence.memory.repository.holders import link_blocks, unlink_block
from remanence.memory.repository.versions import bump_holders
from remanence.memory.rules import check_label


def apply_edits(
    connection: Connection, actor: Actor, agent_id: AgentId, edits: Sequence[BlockEdit]
) -> int | None:
    """Saves the edits in order, and returns the agent's new version; None if there is nothing to save.

    A block that was deleted in the meantime stays deleted. Raises AlreadyExists if a holder of a renamed
    block has another of the new label by now, and Invalid for a new block that breaks the rules.
    """
    if not edits:
        return None
    changed: list[BlockId] = []
    for edit in edits:
        match edit:
            case BlockAdded(block=block):
                link_blocks(connection, agent_id, insert_blocks(connection, [block]))
                continue
            case BlockDropped(block_id=block_id):
                unlink_block(connection, agent_id, block_id)
                continue
            case ValueSet(block_id=block_id, value=value):
                values: dict[str, Any] = {"value": value}
            case DescriptionSet(block_id=block_id, description=description):
                values = {"description": description}
            case LabelSet(block_id=block_id, label=label):
                check_label(label)
                values = {"label": label}
            case _:
                assert_never(edit)
        change_row(connection, actor, block_id, values | {"last_updated_by_id": actor.user_id})
        changed.append(block_id)
    return bump_holders(connection, changed, [agent_id]).get(agent_id)
