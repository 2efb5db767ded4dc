"""Which agent holds which blocks. A shared block is one row that several agents hold."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, delete, insert, or_, select
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.page import Page
from remanence.db.dialect import checked
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, BlockRow, BlocksAgentsRow
from remanence.errors import AlreadyExists
from remanence.kit.ids import AgentId
from remanence.memory.repository.blocks import get_block, get_blocks
from remanence.memory.repository.rows import BLOCK, live, to_block
from remanence.memory.repository.versions import touch_agent

_OF_AGENTS = (  # every list of agents and every state reads these, so it is built once
    select(BlocksAgentsRow.agent_id, *BLOCK)
    .join(BlockRow, BlockRow.id == BlocksAgentsRow.block_id)
    .where(
        BlocksAgentsRow.agent_id.in_(bindparam("agents", expanding=True)),
        checked(BlockRow.organization_id) == bindparam("organization"),
        BlockRow.is_deleted.is_(False),
    )
    .order_by(BlockRow.created_at, BlockRow.id)
)


def find_block_by_label(connection: Connection, actor: Actor, agent_id: str, label: str) -> Block | None:
    statement = _held(actor, BlocksAgentsRow.agent_id == agent_id, BlocksAgentsRow.block_label == label)
    row = connection.execute(statement).first()
    return to_block(row) if row else None


def list_agent_blocks(connection: Connection, actor: Actor, agent_id: str) -> tuple[Block, ...]:
    """All blocks of one agent, oldest first."""
    return list_blocks_of_agents(connection, actor, [AgentId(agent_id)])[AgentId(agent_id)]


def list_blocks_of_agents(
    connection: Connection, actor: Actor, agent_ids: Collection[AgentId]
) -> dict[AgentId, tuple[Block, ...]]:
    """The same for many agents at once; each has an entry."""
    held: dict[AgentId, tuple[Block, ...]] = dict.fromkeys(agent_ids, ())
    if not held:
        return held
    values = {"organization": actor.organization_id, "agents": list(held)}
    for row in connection.execute(_OF_AGENTS, values):
        held[AgentId(row.agent_id)] += (to_block(row),)
    return held


def page_agent_blocks(connection: Connection, actor: Actor, agent_id: str, page: Page) -> list[Block]:
    """Raises NotFound for an unknown cursor."""
    rows = fetch_page(
        connection,
        _held(actor, BlocksAgentsRow.agent_id == agent_id),
        page,
        key=BlockRow.created_at,
        id_column=BlockRow.id,
        scope=(BlockRow.organization_id == actor.organization_id,),
    )
    return [to_block(row) for row in rows]


def holders_of(connection: Connection, actor: Actor, block_id: str) -> list[AgentId]:
    """The live agents that hold a block, oldest first."""
    statement = (
        select(AgentRow.id)
        .join(BlocksAgentsRow, BlocksAgentsRow.agent_id == AgentRow.id)
        .where(
            BlocksAgentsRow.block_id == block_id,
            AgentRow.organization_id == actor.organization_id,
            AgentRow.is_deleted.is_(False),
        )
        .order_by(AgentRow.created_at, AgentRow.id)
    )
    return [AgentId(agent_id) for agent_id in connection.execute(statement).scalars()]


def attach_block(connection: Connection, actor: Actor, agent_id: str, block_id: str) -> None:
    """Nothing changes if the agent holds it already.

    Raises NotFound, and AlreadyExists if the agent holds another block of the same label.
    """
    touch_agent(connection, actor, agent_id)
    block = get_block(connection, actor, block_id)
    in_the_way = connection.execute(
        select(BlocksAgentsRow.block_id).where(
            BlocksAgentsRow.agent_id == agent_id,
            or_(BlocksAgentsRow.block_id == block_id, BlocksAgentsRow.block_label == block.label),
        )
    )
    held = set(in_the_way.scalars())
    if block_id in held:
        return
    if held:
        raise _label_taken(agent_id, block.label)
    link_blocks(connection, agent_id, [block])


def detach_block(connection: Connection, actor: Actor, agent_id: str, block_id: str) -> None:
    """Nothing changes if the agent does not hold it; the block stays in any case. Raises NotFound."""
    touch_agent(connection, actor, agent_id)
    get_block(connection, actor, block_id)
    unlink_block(connection, agent_id, block_id)


def replace_agent_blocks(
    connection: Connection, actor: Actor, agent_id: str, block_ids: Collection[str]
) -> None:
    """From now on the agent holds these blocks and no others. Raises NotFound and AlreadyExists."""
    touch_agent(connection, actor, agent_id)
    blocks = get_blocks(connection, actor, block_ids)
    connection.execute(delete(BlocksAgentsRow).where(BlocksAgentsRow.agent_id == agent_id))
    link_blocks(connection, agent_id, blocks)


def link_blocks(connection: Connection, agent_id: str, blocks: Sequence[Block]) -> None:
    """Gives an agent blocks it does not hold yet, both known to be the actor's. Raises AlreadyExists.

    Whoever calls it sees to the agent's version.
    """
    labels: set[str] = set()
    for block in blocks:
        if block.label in labels:
            raise _label_taken(agent_id, block.label)
        labels.add(block.label)
    if not blocks:
        return
    rows = [{"agent_id": agent_id, "block_id": block.id, "block_label": block.label} for block in blocks]
    try:
        connection.execute(insert(BlocksAgentsRow), rows)
    except IntegrityError:
        raise _label_taken(agent_id, *sorted(labels)) from None


def unlink_block(connection: Connection, agent_id: str, block_id: str) -> bool:
    """Whether the agent held it. Whoever calls it sees to the agent's version."""
    done = connection.execute(
        delete(BlocksAgentsRow).where(
            BlocksAgentsRow.agent_id == agent_id, BlocksAgentsRow.block_id == block_id
        )
    )
    return done.rowcount > 0


def _held(actor: Actor, *conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return (
        select(BlocksAgentsRow.agent_id, *BLOCK)
        .join(BlockRow, BlockRow.id == BlocksAgentsRow.block_id)
        .where(*conditions, *live(actor))
    )


def _label_taken(agent_id: str, *labels: str) -> AlreadyExists:
    named = " or ".join(repr(label) for label in labels)
    return AlreadyExists(
        f"Agent {agent_id} holds another block labelled {named}, and two of one label cannot be told apart. "
        "Detach that one first, or give this one another label."
    )
