"""Agents learn here that something they hold has changed: whoever caches their state compares versions."""

from collections.abc import Collection

from sqlalchemy import BindParameter, Connection, bindparam, or_, select, update

from remanence.core.actor import Actor
from remanence.db.tables import AgentRow, BlockRow, BlocksAgentsRow, ConversationRow
from remanence.errors import NotFound
from remanence.kit.ids import AgentId

_CHANGED: BindParameter[list[str]] = bindparam("changed", expanding=True)
_BUMP = (  # built once: to build a statement costs several times as much as to run it
    update(AgentRow)
    .where(
        or_(
            AgentRow.id.in_(select(BlocksAgentsRow.agent_id).where(BlocksAgentsRow.block_id.in_(_CHANGED))),
            AgentRow.id.in_(
                select(ConversationRow.agent_id)
                .join(BlockRow, BlockRow.conversation_id == ConversationRow.id)
                .where(BlockRow.id.in_(_CHANGED))
            ),
            AgentRow.id.in_(bindparam("agents", expanding=True)),
        )
    )
    .values(state_version=AgentRow.state_version + 1, updated_at=AgentRow.updated_at)
    .returning(AgentRow.id, AgentRow.state_version)
)


def bump_holders(
    connection: Connection, block_ids: Collection[str], agent_ids: Collection[str] = ()
) -> dict[AgentId, int]:
    """Raises the version of each agent that holds one of the blocks, if only in a conversation, and of those named.

    Returns the new versions. What the agent itself is has not changed, so its `updated_at` stays.
    """
    values = {"changed": list(block_ids), "agents": list(agent_ids)}
    rows = connection.execute(_BUMP, values)
    return {AgentId(row.id): row.state_version for row in rows}


def touch_agent(connection: Connection, actor: Actor, agent_id: str) -> None:
    """Raises the version of an agent that is given or loses something. Raises NotFound.

    The row stays locked until the commit, so such changes to one agent come one by one.
    """
    changed = connection.execute(
        update(AgentRow)
        .where(
            AgentRow.id == agent_id,
            AgentRow.organization_id == actor.organization_id,
            AgentRow.is_deleted.is_(False),
        )
        .values(state_version=AgentRow.state_version + 1, last_updated_by_id=actor.user_id)
    )
    if changed.rowcount == 0:
        raise NotFound(f"There is no agent {agent_id}.")
