"""What can be asked about agents, as plain values between the routes and the SQL."""

from collections.abc import Sequence
from typing import Literal, get_args

from remanence.core.frozen import Frozen

Include = Literal[
    "agent.blocks",
    "agent.identities",
    "agent.managed_group",
    "agent.pending_approval",
    "agent.secrets",
    "agent.sources",
    "agent.tags",
    "agent.tools",
]
EVERYTHING: frozenset[Include] = frozenset(get_args(Include))

_OLDER_NAMES: dict[str, tuple[Include, ...]] = {
    "memory": ("agent.blocks",),
    "tools": ("agent.tools",),
    "sources": ("agent.sources",),
    "tags": ("agent.tags",),
    "identity_ids": ("agent.identities",),
    "multi_agent_group": ("agent.managed_group",),
    "tool_exec_environment_variables": ("agent.secrets",),
    "secrets": ("agent.secrets",),
}


class AgentQuery(Frozen):
    """Filters of the agent list; those not given do not count."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    match_all_tags: bool = False
    query_text: str | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    identity_id: str | None = None
    identifier_keys: tuple[str, ...] = ()
    last_stop_reason: str | None = None
    created_by_id: str | None = None
    tool_id: str | None = None
    source_id: str | None = None
    block_id: str | None = None
    archive_id: str | None = None
    include_hidden: bool = False


def wanted_relations(
    include: Sequence[Include], older: list[str] | None, *, is_sdk: bool
) -> frozenset[Include]:
    """Newer clients get what they name; older ones get everything unless they name something."""
    also: set[Include] = {each for name in older or () for each in _OLDER_NAMES.get(name, ())}
    named: frozenset[Include] = frozenset(include) | also
    if named or older is not None:
        return named
    return frozenset() if is_sdk else EVERYTHING
