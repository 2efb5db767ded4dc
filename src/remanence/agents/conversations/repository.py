"""SQL for conversations."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select, update

from remanence.agents.conversations.schemas import ConversationFilter
from remanence.core.actor import Actor
from remanence.core.conversation import Conversation
from remanence.core.memory_notes import Told
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, ConversationRow, LeaseRow, SharedMessageRow
from remanence.errors import NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import ConversationId, MessageId

_COLUMNS = [column for column in ConversationRow.__table__.columns if column.name != "is_deleted"]
_FIELDS = set(Conversation.model_fields)
_TOLD = select(LeaseRow.told).where(LeaseRow.lane == bindparam("of_lane"))


def insert_conversation(connection: Connection, conversation: Conversation) -> None:
    values = {name: getattr(conversation, name) for name in _FIELDS}
    values["isolated_block_ids"] = list(conversation.isolated_block_ids)
    connection.execute(insert(ConversationRow).values(**values))
    connection.execute(insert(LeaseRow).values(lane=conversation.id, agent_id=conversation.agent_id))


def get_conversation(connection: Connection, actor: Actor, conversation_id: str) -> Conversation:
    """Raises NotFound, also when its agent was deleted."""
    row = connection.execute(
        select(*_COLUMNS)
        .join(AgentRow, AgentRow.id == ConversationRow.agent_id)
        .where(*_mine(actor), ConversationRow.id == conversation_id)
    ).first()
    if row is None:
        raise NotFound(f"There is no conversation {conversation_id}.")
    return _from(row)


def list_conversations(
    connection: Connection, actor: Actor, where: ConversationFilter, page: Page
) -> list[Conversation]:
    conditions: list[ColumnElement[bool]] = [*_mine(actor), ConversationRow.hidden.is_not(True)]
    if where.agent_id is not None:
        conditions.append(ConversationRow.agent_id == where.agent_id)
    if where.summary_search:
        text = where.summary_search.lower()
        conditions.append(func.lower(ConversationRow.summary).contains(text, autoescape=True))
    if where.archive_status == "archived":
        conditions.append(ConversationRow.archived.is_(True))
    elif where.archive_status == "unarchived":
        conditions.append(ConversationRow.archived.is_(False))
    key = ConversationRow.created_at if page.order_by == "created_at" else ConversationRow.last_message_at
    rows = fetch_page(
        connection,
        select(*_COLUMNS).join(AgentRow, AgentRow.id == ConversationRow.agent_id).where(*conditions),
        page,
        key=key,
        id_column=ConversationRow.id,
        scope=[ConversationRow.organization_id == actor.organization_id],
        nulls_last=page.order_by != "created_at",
    )
    return [_from(row) for row in rows]


def update_conversation(
    connection: Connection, actor: Actor, conversation_id: str, changes: Mapping[str, Any]
) -> Conversation:
    get_conversation(connection, actor, conversation_id)
    connection.execute(
        update(ConversationRow)
        .where(ConversationRow.id == conversation_id)
        .values(**changes, updated_at=utc_now(), last_updated_by_id=actor.user_id)
    )
    return get_conversation(connection, actor, conversation_id)


def delete_conversation(connection: Connection, conversation_id: ConversationId) -> None:
    """Out of sight; the messages stay, since forks may share them."""
    connection.execute(
        update(ConversationRow).where(ConversationRow.id == conversation_id).values(is_deleted=True)
    )
    connection.execute(delete(LeaseRow).where(LeaseRow.lane == conversation_id))


def share_messages(
    connection: Connection, conversation_id: ConversationId, message_ids: Sequence[MessageId]
) -> None:
    if message_ids:
        rows = [{"conversation_id": conversation_id, "message_id": each} for each in message_ids]
        connection.execute(insert(SharedMessageRow), rows)


def note_message(connection: Connection, conversation_id: ConversationId) -> None:
    connection.execute(
        update(ConversationRow).where(ConversationRow.id == conversation_id).values(last_message_at=utc_now())
    )


def _mine(actor: Actor) -> tuple[ColumnElement[bool], ...]:
    return (
        ConversationRow.organization_id == actor.organization_id,
        ConversationRow.is_deleted.is_(False),
        AgentRow.is_deleted.is_(False),
    )


def _from(row: Row[Any]) -> Conversation:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _FIELDS}
    return Conversation.model_validate(fields | {"isolated_block_ids": row.isolated_block_ids or ()})


# What a model knows of its agent's memory, history by history


def find_told(connection: Connection, lane: str) -> Told | None:
    """Beyond what the system message says; None: nothing."""
    return connection.scalar(_TOLD, {"of_lane": lane})


def note_told(connection: Connection, lane: str, told: Told | None) -> None:
    connection.execute(update(LeaseRow).where(LeaseRow.lane == lane).values(told=told))
