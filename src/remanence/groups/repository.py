"""SQL for the turns of groups and for what was said in them."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select, update

from remanence.core.agent import AgentType
from remanence.core.message import Message
from remanence.db.tables import AgentRow, GroupTurnRow, MessageRow, RunRow
from remanence.kit.ids import AgentId, RunId
from remanence.messages.repository import MESSAGE_COLUMNS, message_from

_MOST_HEARD = 200
_OPEN = ("created", "running")


@dataclass(frozen=True, slots=True)
class Turn:
    group_id: str
    number: int
    round_id: RunId
    run_id: RunId
    is_open: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """Something said in a group, and who said it."""

    message: Message
    agent_name: str
    agent_type: AgentType


_TURNS = select(
    GroupTurnRow.group_id, GroupTurnRow.number, GroupTurnRow.round_id, GroupTurnRow.run_id, RunRow.status
).join(RunRow, RunRow.id == GroupTurnRow.run_id)


def newest_turn(connection: Connection, group_id: str) -> Turn | None:
    newest = _TURNS.where(GroupTurnRow.group_id == group_id).order_by(GroupTurnRow.number.desc()).limit(1)
    found = _turns(connection, newest)
    return found[0] if found else None


def list_turns(connection: Connection, group_id: str, round_id: RunId, after: int) -> list[Turn]:
    """Of one round, beyond a number, in order."""
    beyond = _TURNS.where(
        GroupTurnRow.group_id == group_id, GroupTurnRow.round_id == round_id, GroupTurnRow.number > after
    )
    return _turns(connection, beyond.order_by(GroupTurnRow.number))


def add_turn(connection: Connection, group_id: str, round_id: RunId, run_id: RunId) -> int:
    """Its number. Whoever calls it has locked the group."""
    last = connection.scalar(select(func.max(GroupTurnRow.number)).where(GroupTurnRow.group_id == group_id))
    number = (last or 0) + 1
    connection.execute(
        insert(GroupTurnRow).values(group_id=group_id, number=number, round_id=round_id, run_id=run_id)
    )
    return number


def list_heard(connection: Connection, group_id: str, agent_id: AgentId) -> list[Heard]:
    """What was said in the group since this agent spoke there, oldest first."""
    said = (MessageRow.group_id == group_id, MessageRow.is_err.is_not(True))
    own = select(func.max(MessageRow.created_at)).where(*said, MessageRow.agent_id == agent_id)
    moment = connection.execute(own).scalar()
    newest = (
        select(*MESSAGE_COLUMNS, AgentRow.name.label("agent_name"), AgentRow.agent_type)
        .join(AgentRow, AgentRow.id == MessageRow.agent_id)
        .where(*said, *([MessageRow.created_at > moment] if moment is not None else []))
        .where(MessageRow.role != "tool", MessageRow.agent_id != agent_id)
        .order_by(MessageRow.created_at.desc(), MessageRow.id.desc())
        .limit(_MOST_HEARD)
    )
    found = connection.execute(newest)
    return [Heard(message_from(row), row.agent_name, row.agent_type) for row in found][::-1]


def list_run_ids(connection: Connection, group_id: str) -> dict[str, set[str]]:
    """The runs in which something was said to this group or in it, by the histories they wrote to."""
    rows = connection.execute(
        select(MessageRow.agent_id, MessageRow.conversation_id, MessageRow.run_id)
        .where(MessageRow.group_id == group_id)
        .distinct()
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row.conversation_id or row.agent_id, set()).add(row.run_id)
    return found


def unmark_messages(connection: Connection, group_id: str) -> None:
    """They stay in the histories of their agents, and are no part of the group's any more."""
    connection.execute(update(MessageRow).where(MessageRow.group_id == group_id).values(group_id=None))


def _turns(connection: Connection, wanted: Select[*tuple[Any, ...]]) -> list[Turn]:
    return [
        Turn(row.group_id, row.number, RunId(row.round_id), RunId(row.run_id), row.status in _OPEN)
        for row in connection.execute(wanted)
    ]
