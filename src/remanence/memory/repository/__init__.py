"""SQL for blocks: the rows (`blocks`), who holds them (`holders`), what agents do to them (`edits`), tags.

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
    purge_block,
    update_block,
)
from remanence.memory.repository.edits import apply_edits
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
from remanence.memory.repository.tags import list_tags
from remanence.memory.repository.versions import bump_holders, touch_agent

__all__ = [
    "apply_edits",
    "attach_block",
    "bump_holders",
    "count_blocks",
    "delete_block",
    "detach_block",
    "find_block_by_label",
    "get_block",
    "get_blocks",
    "holders_of",
    "insert_blocks",
    "link_blocks",
    "list_agent_blocks",
    "list_blocks",
    "list_blocks_of_agents",
    "list_conversation_blocks",
    "list_tags",
    "page_agent_blocks",
    "purge_block",
    "replace_agent_blocks",
    "touch_agent",
    "update_block",
]
