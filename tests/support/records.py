"""Records that tests of storage start from: a second organisation, bare agents, blocks, identities."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, insert, select, update

from remanence.accounts.repository import create_organization, create_user
from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.llm import LLMConfig
from remanence.db.tables import AgentRow, AgentTagRow, IdentitiesBlocksRow, IdentityRow, RunRow, ToolRow
from remanence.kit.ids import AgentId, new_agent_id, new_id
from remanence.memory.schemas import BlockCreate


def add_stranger(connection: Connection) -> Actor:
    """A user of an organisation of their own."""
    organization_id = create_organization(connection, "elsewhere")
    return Actor(
        user_id=create_user(connection, "stranger", organization_id), organization_id=organization_id
    )


def add_agent(connection: Connection, actor: Actor, *tags: str) -> AgentId:
    agent_id = new_agent_id()
    connection.execute(
        insert(AgentRow).values(
            id=agent_id,
            organization_id=actor.organization_id,
            name="someone",
            llm_config=LLMConfig(model="m", model_endpoint_type="openai", context_window=8000),
        )
    )
    for position, tag in enumerate(tags):
        connection.execute(insert(AgentTagRow).values(agent_id=agent_id, tag=tag, position=position))
    return agent_id


def delete_agent_softly(connection: Connection, agent_id: str) -> None:
    connection.execute(update(AgentRow).where(AgentRow.id == agent_id).values(is_deleted=True))


def ask_by_default(connection: Connection, tool_id: str) -> None:
    """From now on agents that get this tool must ask before they call it."""
    connection.execute(update(ToolRow).where(ToolRow.id == tool_id).values(default_requires_approval=True))


def age_run(connection: Connection, run_id: str, by: timedelta) -> None:
    """Lets a run have ended earlier than it did."""
    completed_at = connection.execute(select(RunRow.completed_at).where(RunRow.id == run_id)).scalar_one()
    assert completed_at is not None, "it is not over"
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(completed_at=completed_at - by))


def add_identity(connection: Connection, actor: Actor, key: str, *block_ids: str) -> str:
    identity_id = new_id("identity")
    connection.execute(
        insert(IdentityRow).values(
            id=identity_id,
            organization_id=actor.organization_id,
            identifier_key=key,
            name=key,
            identity_type="user",
            properties=[],
        )
    )
    for block_id in block_ids:
        connection.execute(insert(IdentitiesBlocksRow).values(identity_id=identity_id, block_id=block_id))
    return identity_id


def read_version(connection: Connection, agent_id: str) -> int:
    return connection.execute(select(AgentRow.state_version).where(AgentRow.id == agent_id)).scalar_one()


def a_block(actor: Actor, label: str, value: str = "", **fields: Any) -> Block:
    return BlockCreate(label=label, value=value, **fields).new_block(actor)
