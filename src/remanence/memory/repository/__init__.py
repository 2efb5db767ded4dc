"""SQL for blocks: the rows (`blocks`), who holds them (`holders`), what agents do to them (`edits`), how
they came to be as they are (`revisions`) and go back (`restoring`), tags.

What belongs to another organisation, or is deleted, is not there. Functions that take no actor are for
callers who know that what they name is the actor's.
"""

from remanence.memory.repository.blocks import (
    count_blocks,
    delete_block,
    get_block,
    get_blocks,
    insert_blocks,
    list_blocks,
    list_conversation_blocks,
    list_stand_ins,
    purge_block,
    update_block,
)
from remanence.memory.repository.edits import EditRefused, apply_edits
from remanence.memory.repository.holders import (
    attach_block,
    detach_block,
    find_block_by_label,
    holders_of,
    link_blocks,
    list_agent_blocks,
    list_blocks_of_agents,
    page_agent_blocks,
    replace_agent_blocks,
)
from remanence.memory.repository.restoring import (
    restore_block,
    still_standing,
    undo_last,
    undo_revision,
    undo_writes,
)
from remanence.memory.repository.revisions import (
    Cause,
    find_any_block,
    find_revisions,
    get_revision,
    list_revisions,
    load_causes,
    past_block,
    prune_revisions,
)
from remanence.memory.repository.tags import list_tags
from remanence.memory.repository.versions import bump_holders, touch_agent

__all__ = [
    "Cause",
    "EditRefused",
    "apply_edits",
    "attach_block",
    "bump_holders",
    "count_blocks",
    "delete_block",
    "detach_block",
    "find_any_block",
    "find_block_by_label",
    "find_revisions",
    "get_block",
    "get_blocks",
    "get_revision",
    "holders_of",
    "insert_blocks",
    "link_blocks",
    "list_agent_blocks",
    "list_blocks",
    "list_blocks_of_agents",
    "list_conversation_blocks",
    "list_revisions",
    "list_stand_ins",
    "list_tags",
    "load_causes",
    "page_agent_blocks",
    "past_block",
    "prune_revisions",
    "purge_block",
    "replace_agent_blocks",
    "restore_block",
    "still_standing",
    "touch_agent",
    "undo_last",
    "undo_revision",
    "undo_writes",
    "update_block",
]
