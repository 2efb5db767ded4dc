"""Puts what was read into our tables, where it is not there yet. What is here stays as it is."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from remanence.agents import repository as agents
from remanence.agents.compiling import recompile
from remanence.agents.conversations.repository import insert_conversation, share_messages
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.block import Block
from remanence.core.conversation import Conversation
from remanence.core.message import Message
from remanence.core.tool import Tool
from remanence.db.tables import AgentRow, Base, BlockRow, ToolRow
from remanence.kit.ids import DEFAULT_USER_ID, MessageId
from remanence.kit.vault import Vault
from remanence.memory import repository as blocks
from remanence.memory.repository.rows import insert_tags, to_values
from remanence.messages import repository as messages
from remanence.runs.mending import repair
from remanence.runs.service import Address
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex
from remanence.tools import repository as tools

_MANY = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ids of rows that came, that were here, and that could not be stored."""

    came: Collection[str]
    there: Collection[str] = ()
    lost: Collection[str] = ()


@dataclass(slots=True)
class Talk:
    """A side history of an agent."""

    conversation: Conversation
    said: dict[str, Message]
    window: list[MessageId]
    shared: list[MessageId] = field(default_factory=list[MessageId])


@dataclass(slots=True)
class AgentParts:
    """All that comes with an agent."""

    agent: Agent
    said: dict[str, Message]
    window: list[MessageId]
    failed: set[str] = field(default_factory=set[str])
    """Messages that were kept there, but are no part of what was said."""
    talks: list[Talk] = field(default_factory=list[Talk])
    tool_ids: list[str] = field(default_factory=list[str])
    block_ids: list[str] = field(default_factory=list[str])
    tags: list[str] = field(default_factory=list[str])
    secrets: dict[str, str] = field(default_factory=dict[str, str])


def copy_rows(connection: Connection, name: str, rows: Sequence[Mapping[str, Any]]) -> Outcome:
    """Rows of a table that has the same name and columns in both; those that refer to nothing are left out."""
    target = Base.metadata.tables[name]
    fitting = list(rows)
    for key in target.foreign_keys:
        here = key.parent.name
        wanted = {str(row[here]) for row in fitting if row.get(here) is not None}
        lost = find_missing(connection, key.column.table.name, wanted, key.column.name)
        fitting = [row for row in fitting if row.get(here) not in lost]
    ids = [str(row["id"]) for row in rows] if "id" in target.columns else []
    missing = find_missing(connection, name, ids)
    by_shape: dict[frozenset[str], list[dict[str, Any]]] = {}
    for row in fitting:
        values = _fitting_values(target, row)
        by_shape.setdefault(frozenset(values), []).append(values)
    for some in by_shape.values():
        connection.execute(_insert(connection, target).on_conflict_do_nothing(), some)
    if not ids:
        return Outcome(came=[""] * len(fitting))
    lost = find_missing(connection, name, ids)
    return Outcome(missing - lost, set(ids) - missing, lost)


def find_missing(connection: Connection, name: str, values: Collection[str], column: str = "id") -> set[str]:
    """Those of these values that no row of a table has."""
    if not values:
        return set()
    target = Base.metadata.tables[name].columns[column]
    found: set[str] = set()
    asked = list(values)
    for start in range(0, len(asked), _MANY):
        found.update(connection.scalars(select(target).where(target.in_(asked[start : start + _MANY]))))
    return set(asked) - found


def _insert(connection: Connection, target: Table) -> "postgresql.Insert | sqlite.Insert":
    return postgresql.insert(target) if connection.dialect.name == "postgresql" else sqlite.insert(target)


def _fitting_values(target: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """What the column has a default for may be absent."""
    values: dict[str, Any] = {}
    for column in target.columns:
        if column.name not in row:
            continue
        value = row[column.name]
        has_default = column.default is not None or column.server_default is not None
        if value is None and not column.nullable and has_default:
            continue
        values[column.name] = value
    return values


def has_agent(connection: Connection, agent_id: str) -> bool:
    return connection.scalar(select(AgentRow.id).where(AgentRow.id == agent_id)) is not None


def store_blocks(connection: Connection, found: Sequence[Block]) -> Outcome:
    missing = find_missing(connection, "block", [block.id for block in found])
    homeless = find_missing(connection, "organizations", {block.organization_id for block in found})
    fresh = [block for block in found if block.id in missing and block.organization_id not in homeless]
    if fresh:
        connection.execute(insert(BlockRow), [to_values(block) for block in fresh])
        insert_tags(connection, fresh)
    came = {str(block.id) for block in fresh}
    return Outcome(came, {str(block.id) for block in found} - missing, missing - came)


def store_tool(connection: Connection, tool: Tool) -> tuple[str, bool]:
    """The id that it has here, and whether it came: a tool of the same name that is here stays."""
    actor = Actor(user_id=DEFAULT_USER_ID, organization_id=tool.organization_id)
    here = connection.scalar(select(ToolRow.id).where(ToolRow.id == tool.id))
    if here is not None:
        return here, False
    known = tools.find_by_name(connection, actor, tool.name)
    if known is not None:
        return known.id, False
    return tools.insert_tool(connection, tool).id, True


def store_agent(connection: Connection, parts: AgentParts, index: SearchIndex, vault: Vault) -> bool:
    """False if it is here: then all of it is, for it comes in one piece."""
    agent = parts.agent
    if has_agent(connection, agent.id):
        return False
    actor = Actor(user_id=agent.created_by_id or DEFAULT_USER_ID, organization_id=agent.organization_id)
    agents.insert_agent(connection, agent)
    found_tools = tools.find_by_ids(connection, actor, parts.tool_ids)
    agents.link_tools(connection, agent.id, [tool.id for tool in found_tools])
    _link_blocks(connection, agent, parts.block_ids)
    agents.set_tags(connection, agent.id, parts.tags)
    agents.set_secrets(connection, agent, parts.secrets, vault)
    _keep(connection, agent, agent.id, parts.said, parts.window, parts.failed, index)
    repair(connection, actor, Address(agent.id))
    recompile(connection, actor, agent.id)
    for talk in parts.talks:
        insert_conversation(connection, talk.conversation)
        share_messages(connection, talk.conversation.id, talk.shared)
        _keep(connection, agent, talk.conversation.id, talk.said, talk.window, parts.failed, index)
        repair(connection, actor, Address(agent.id, talk.conversation))
        recompile(connection, actor, agent.id, talk.conversation)
    return True


def _link_blocks(connection: Connection, agent: Agent, block_ids: Sequence[str]) -> None:
    rows = connection.execute(
        select(BlockRow.id).where(
            BlockRow.id.in_(block_ids), BlockRow.organization_id == agent.organization_id
        )
    )
    known = {row.id for row in rows}
    actor = Actor(user_id=DEFAULT_USER_ID, organization_id=agent.organization_id)
    held = blocks.get_blocks(connection, actor, [id for id in block_ids if id in known])
    labelled = {block.label: block for block in reversed(held)}
    blocks.link_blocks(connection, agent.id, [block for block in held if labelled[block.label] is block])


def _keep(
    connection: Connection,
    agent: Agent,
    lane: str,
    said: Mapping[str, Message],
    window: Sequence[MessageId],
    failed: Collection[str],
    index: SearchIndex,
) -> None:
    kept = [
        message.model_copy(update={"is_err": True}) if message.id in failed else message
        for message in said.values()
    ]
    for start in range(0, len(kept), _MANY):
        messages.insert_messages(connection, agent.organization_id, kept[start : start + _MANY])
    messages.append_context(connection, lane, 0, window)
    index.index(connection, message_documents(kept, agent.organization_id))
