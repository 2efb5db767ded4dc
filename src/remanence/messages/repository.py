"""SQL for messages and the windows of context over them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from remanence.core.actor import Actor
from remanence.core.agent import AgentType
from remanence.core.history import whole_until, without_lost_calls
from remanence.core.message import Message
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import (
    AgentRow,
    BlockRow,
    ContextMessageRow,
    MessageRow,
    RunRow,
    SharedMessageRow,
    StepRow,
)
from remanence.errors import NotFound
from remanence.kit.ids import AgentId, MessageId, OrgId, RunId, StepId

MESSAGE_COLUMNS = [column for column in MessageRow.__table__.columns if column.name != "organization_id"]
_NAMES = [column.name for column in MESSAGE_COLUMNS]
_MOST_SINCE = 1000

_LAST_BEFORE_RUN = (  # every message asks this, so it is built once
    select(MessageRow.created_at)
    .where(MessageRow.agent_id == bindparam("agent"), MessageRow.run_id.is_distinct_from(bindparam("run")))
    .order_by(MessageRow.created_at.desc())
    .limit(1)
)


def insert_messages(connection: Connection, organization_id: OrgId, messages: Sequence[Message]) -> None:
    if messages:
        connection.execute(insert(MessageRow), [_row(organization_id, message) for message in messages])


def append_context(
    connection: Connection, lane: str, first_position: int, message_ids: Sequence[MessageId]
) -> None:
    if message_ids:
        rows = [
            {"owner_id": lane, "position": first_position + offset, "message_id": message_id}
            for offset, message_id in enumerate(message_ids)
        ]
        connection.execute(insert(ContextMessageRow), rows)


def replace_context(connection: Connection, lane: str, message_ids: Sequence[MessageId]) -> None:
    connection.execute(delete(ContextMessageRow).where(ContextMessageRow.owner_id == lane))
    append_context(connection, lane, 0, message_ids)


def load_window(connection: Connection, lane: str) -> tuple[list[Message], int]:
    """The messages in context, in order, and the position that the next one takes."""
    rows = connection.execute(
        select(*MESSAGE_COLUMNS, ContextMessageRow.position)
        .join(ContextMessageRow, ContextMessageRow.message_id == MessageRow.id)
        .where(ContextMessageRow.owner_id == lane)
        .order_by(ContextMessageRow.position)
    ).all()
    return [message_from(row) for row in rows], (rows[-1].position + 1 if rows else 0)


def has_steps(connection: Connection, lane: str) -> bool:
    """Whether a model has spoken in what is in context."""
    found = connection.execute(
        select(MessageRow.id)
        .join(ContextMessageRow, ContextMessageRow.message_id == MessageRow.id)
        .where(ContextMessageRow.owner_id == lane, MessageRow.step_id.is_not(None))
        .limit(1)
    )
    return found.first() is not None


_CONTEXT_IDS = (
    select(ContextMessageRow.owner_id, ContextMessageRow.message_id)
    .where(ContextMessageRow.owner_id.in_(bindparam("lanes", expanding=True)))
    .order_by(ContextMessageRow.owner_id, ContextMessageRow.position)
)
_REQUESTS = select(*MESSAGE_COLUMNS).where(
    MessageRow.id.in_(bindparam("ids", expanding=True)), MessageRow.role == "approval"
)


def context_ids(connection: Connection, lanes: Sequence[str]) -> dict[str, list[MessageId]]:
    """The ids in context of several histories at once."""
    found: dict[str, list[MessageId]] = {lane: [] for lane in lanes}
    if lanes:
        for row in connection.execute(_CONTEXT_IDS, {"lanes": lanes}):
            found[row.owner_id].append(MessageId(row.message_id))
    return found


def list_requests(connection: Connection, message_ids: Sequence[MessageId]) -> dict[MessageId, Message]:
    """Those of these messages that ask a person for approval."""
    if not message_ids:
        return {}
    rows = connection.execute(_REQUESTS, {"ids": message_ids})
    return {MessageId(row.id): message_from(row) for row in rows if row.tool_calls}


def find_pending_approval(connection: Connection, lane: str) -> Message | None:
    """The request that a person has yet to answer: the last message in context, if it is one."""
    row = connection.execute(
        select(*MESSAGE_COLUMNS)
        .join(ContextMessageRow, ContextMessageRow.message_id == MessageRow.id)
        .where(ContextMessageRow.owner_id == lane)
        .order_by(ContextMessageRow.position.desc())
        .limit(1)
    ).first()
    if row is None or row.role != "approval" or not row.tool_calls:
        return None
    return message_from(row)


def next_position(connection: Connection, lane: str) -> int:
    last = connection.scalar(
        select(func.max(ContextMessageRow.position)).where(ContextMessageRow.owner_id == lane)
    )
    return 0 if last is None else last + 1


def last_message_at(connection: Connection, agent_id: AgentId) -> datetime | None:
    return connection.scalar(
        select(MessageRow.created_at)
        .where(MessageRow.agent_id == agent_id)
        .order_by(MessageRow.created_at.desc())
        .limit(1)
    )


def last_message_before_run(connection: Connection, agent_id: AgentId, run_id: RunId) -> datetime | None:
    """When the newest message that is not this run's own was said."""
    return connection.scalar(_LAST_BEFORE_RUN, {"agent": agent_id, "run": run_id})


def count_messages(connection: Connection, agent_id: AgentId) -> int:
    return connection.scalar(select(func.count()).where(MessageRow.agent_id == agent_id)) or 0


def list_run_messages(connection: Connection, run_id: RunId) -> list[Message]:
    rows = connection.execute(
        select(*MESSAGE_COLUMNS)
        .where(MessageRow.run_id == run_id)
        .order_by(MessageRow.created_at, MessageRow.id)
    )
    return [message_from(row) for row in rows]


def list_since(
    connection: Connection, agent_id: AgentId, after: MessageId | None, until: datetime
) -> list[Message]:
    """What was said and done after a message and up to a moment, oldest first, at most the newest thousand.

    Not what was said in conversations that have memory of their own: it is to stay there.
    """
    alone = select(BlockRow.id).where(BlockRow.conversation_id == MessageRow.conversation_id).exists()
    conditions = [
        MessageRow.agent_id == agent_id,
        MessageRow.role != "system",
        MessageRow.created_at <= until,
        MessageRow.is_err.is_not(True),
        ~alone,
    ]
    if after is not None:
        moment = select(MessageRow.created_at).where(MessageRow.id == after).scalar_subquery()
        conditions.append(MessageRow.created_at > moment)
    newest = (
        select(*MESSAGE_COLUMNS)
        .where(*conditions)
        .order_by(MessageRow.created_at.desc(), MessageRow.id.desc())
    )
    return [message_from(row) for row in connection.execute(newest.limit(_MOST_SINCE))][::-1]


def set_text(connection: Connection, message_id: MessageId, text: str) -> None:
    """Gives a system message its newly compiled text; the row and its id stay."""
    connection.execute(
        update(MessageRow).where(MessageRow.id == message_id).values(content=[{"type": "text", "text": text}])
    )


def mark_failed(connection: Connection, run_id: RunId) -> None:
    """The inputs of a run that came to nothing: kept, but no part of the conversation.

    A run that has saved a step was heard; what is not in context of it has left the window since.
    """
    in_context = select(ContextMessageRow.message_id).where(ContextMessageRow.message_id == MessageRow.id)
    saved = select(StepRow.id).where(StepRow.run_id == run_id, StepRow.status != "failed")
    connection.execute(
        update(MessageRow)
        .where(MessageRow.run_id == run_id, ~in_context.exists(), ~saved.exists())
        .values(is_err=True)
    )


def find_messages(connection: Connection, actor: Actor, message_ids: Sequence[str]) -> list[Message]:
    rows = connection.execute(
        select(*MESSAGE_COLUMNS).where(
            MessageRow.organization_id == actor.organization_id, MessageRow.id.in_(message_ids)
        )
    )
    return [message_from(row) for row in rows]


def get_message(connection: Connection, actor: Actor, message_id: str) -> tuple[Message, AgentType]:
    """The message and the type of its agent. Raises NotFound."""
    row = connection.execute(
        select(*MESSAGE_COLUMNS, AgentRow.agent_type)
        .join(AgentRow, AgentRow.id == MessageRow.agent_id)
        .where(
            MessageRow.id == message_id,
            MessageRow.organization_id == actor.organization_id,
            AgentRow.is_deleted.is_(False),
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no message {message_id}.")
    return message_from(row), row.agent_type


def check_agent(connection: Connection, actor: Actor, agent_id: str) -> None:
    """Raises NotFound if this actor has no such agent."""
    known = connection.scalar(
        select(AgentRow.id).where(
            AgentRow.id == agent_id,
            AgentRow.organization_id == actor.organization_id,
            AgentRow.is_deleted.is_(False),
        )
    )
    if known is None:
        raise NotFound(f"There is no agent {agent_id}.")


def list_agent_ids(
    connection: Connection, actor: Actor, *, project_id: str | None, template_id: str | None
) -> list[str]:
    statement = select(AgentRow.id).where(
        AgentRow.organization_id == actor.organization_id, AgentRow.is_deleted.is_(False)
    )
    if project_id is not None:
        statement = statement.where(AgentRow.project_id == project_id)
    if template_id is not None:
        statement = statement.where(AgentRow.template_id == template_id)
    return list(connection.scalars(statement))


_BACK = 200
"""How many messages a window that goes back beyond its beginning is made of; the rest is left to recall."""


def window_until(
    connection: Connection, actor: Actor, agent_id: str, conversation_id: str | None, message_id: str
) -> list[Message] | None:
    """The window as it ends with this message, also where the message has left it; None if it is not there.

    Where that would leave calls without their returns, it ends before them.
    """
    window, _ = load_window(connection, conversation_id or agent_id)
    kept = whole_until(window, message_id)
    if kept is not None:
        return kept
    is_here = select(MessageRow.id).where(
        MessageRow.id == message_id,
        MessageRow.agent_id == agent_id,
        MessageRow.organization_id == actor.organization_id,
        MessageRow.is_err.is_not(True),
        _of_conversation(conversation_id),
    )
    unheard = _unheard(connection, agent_id)
    if connection.scalar(is_here) is None or message_id in unheard:
        return None
    before = list_messages(
        connection,
        actor,
        Page(after=message_id, limit=_BACK, order="desc"),
        agent_id=agent_id,
        conversation_id=conversation_id or "default",
    )
    last = connection.execute(select(*MESSAGE_COLUMNS).where(MessageRow.id == message_id)).one()
    said = [message_from(row) for row in (*reversed(before), last)]
    said = [each for each in said if each.role not in ("system", "summary") and each.id not in unheard]
    head = [message for message in window[:1] if message.role == "system"]
    # Among them are those that the window was rewound from, perhaps with a request that nobody answered.
    return whole_until(without_lost_calls([*head, *said]), message_id)


def _unheard(connection: Connection, agent_id: str) -> set[str]:
    """What was said to the agent by runs that still wait for their turn, or for their first answer."""
    saved = select(StepRow.id).where(StepRow.run_id == RunRow.id, StepRow.status != "failed")
    return set(
        connection.scalars(
            select(MessageRow.id)
            .join(RunRow, RunRow.id == MessageRow.run_id)
            .where(RunRow.agent_id == agent_id, RunRow.status.in_(("created", "running")))
            .where(MessageRow.role.in_(("user", "system")), ~saved.exists())
        )
    )


def _of_conversation(conversation_id: str | None) -> ColumnElement[bool]:
    """What was said in it or before it was branched off; None is the agent's own history."""
    if conversation_id is None:
        return MessageRow.conversation_id.is_(None)
    shared = select(SharedMessageRow.message_id).where(SharedMessageRow.conversation_id == conversation_id)
    return or_(MessageRow.conversation_id == conversation_id, MessageRow.id.in_(shared))


def list_messages(
    connection: Connection,
    actor: Actor,
    page: Page,
    *,
    agent_id: str | None = None,
    conversation_id: str | None = None,
    group_id: str | None = None,
    run_id: str | None = None,
    step_id: str | None = None,
    of_runs: Select[str | None] | None = None,
    include_err: bool = False,
) -> list[Row[Any]]:
    """Rows of messages with the `agent_type` of their agents, in the page's own order.

    `conversation_id="default"` means the agent's own history.
    """
    scope = [MessageRow.organization_id == actor.organization_id, AgentRow.is_deleted.is_(False)]
    if agent_id is not None:
        scope.append(MessageRow.agent_id == agent_id)
    if run_id is not None:
        scope.append(MessageRow.run_id == run_id)
    if step_id is not None:
        scope.append(MessageRow.step_id == step_id)
    if of_runs is not None:
        scope.append(MessageRow.run_id.in_(of_runs))
    statement: Select[Any] = (
        select(*MESSAGE_COLUMNS, AgentRow.agent_type, AgentRow.name.label("agent_name"))
        .join(AgentRow, AgentRow.id == MessageRow.agent_id)
        .where(*scope)
    )
    if conversation_id is not None:
        statement = statement.where(
            _of_conversation(None if conversation_id == "default" else conversation_id)
        )
    if group_id is not None:
        statement = statement.where(MessageRow.group_id == group_id)
    if not include_err:
        statement = statement.where(MessageRow.is_err.is_not(True))
    return fetch_page(
        connection,
        statement,
        page,
        key=MessageRow.created_at,
        id_column=MessageRow.id,
        scope=[MessageRow.organization_id == actor.organization_id],
    )


def restamp(connection: Connection, messages: Sequence[Message]) -> None:
    """Moves inputs that had to wait to the end of the history that grew meanwhile."""
    for message in messages:
        connection.execute(
            update(MessageRow).where(MessageRow.id == message.id).values(created_at=message.created_at)
        )


def delete_step_messages(connection: Connection, step_id: StepId) -> None:
    connection.execute(delete(MessageRow).where(MessageRow.step_id == step_id))


def message_from(row: Row[Any]) -> Message:
    """A row that begins with the columns of a message."""
    # By place: SQLAlchemy takes longer to find a column by its name than the database to read it.
    fields = dict(zip(_NAMES, row, strict=False))
    for name in ("content", "tool_calls", "tool_returns", "approvals"):
        fields[name] = fields[name] or ()
    fields["is_err"] = bool(fields["is_err"])
    return Message.model_validate(fields)


def _row(organization_id: OrgId, message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "organization_id": organization_id,
        "agent_id": message.agent_id,
        "conversation_id": message.conversation_id,
        "role": message.role,
        "content": _dump(message.content),
        "tool_calls": _dump(message.tool_calls),
        "tool_returns": _dump(message.tool_returns),
        "approvals": _dump(message.approvals),
        "approval_request_id": message.approval_request_id,
        "name": message.name,
        "run_id": message.run_id,
        "step_id": message.step_id,
        "otid": message.otid,
        "sender_id": message.sender_id,
        "group_id": message.group_id,
        "batch_item_id": message.batch_item_id,
        "model": message.model,
        "is_err": True if message.is_err else None,
        "created_at": message.created_at,
    }


def _dump(parts: Sequence[Any]) -> list[Any] | None:
    return [part.model_dump(mode="json", exclude_none=True) for part in parts] or None
