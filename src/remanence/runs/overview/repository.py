"""SQL for the gist of many runs at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from remanence.core.packing import is_notice, unpack_user_message
from remanence.core.run import Run
from remanence.db.tables import AgentRow, MessageRow, StepRow
from remanence.kit.json import JsonObject

_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Gist:
    agent_name: str | None = None
    said: str | None = None
    """The beginning of what the agent was told."""
    num_steps: int = 0
    prompt_tokens: int | None = None
    cached_input_tokens: int | None = None
    completion_tokens: int | None = None
    cost_nanos: int | None = None


def gists(connection: Connection, runs: Sequence[Run]) -> dict[str, Gist]:
    ids = [run.id for run in runs]
    names = {
        row.id: row.name
        for row in connection.execute(
            select(AgentRow.id, AgentRow.name).where(AgentRow.id.in_({run.agent_id for run in runs}))
        )
    }
    statement = (
        select(
            StepRow.run_id,
            func.count(StepRow.id),
            func.sum(StepRow.prompt_tokens),
            func.sum(StepRow.cached_input_tokens),
            func.sum(StepRow.completion_tokens),
            func.sum(StepRow.cost_nanos),
        )
        .where(StepRow.run_id.in_(ids))
        .group_by(StepRow.run_id)
    )
    sums = {str(row[0]): row[1:] for row in connection.execute(statement)}
    said = _first_words(connection, ids)
    return {run.id: _gist(names.get(run.agent_id), said.get(run.id), sums.get(run.id)) for run in runs}


def _gist(name: str | None, said: str | None, sums: Sequence[Any] | None) -> Gist:
    if sums is None:
        return Gist(name, said)
    return Gist(name, said, int(sums[0]), *map(_number, sums[1:]))


def _number(value: object) -> int | None:
    """PostgreSQL sums whole numbers into decimals."""
    return None if value is None else int(str(value))


def _first_words(connection: Connection, run_ids: Sequence[str]) -> dict[str, str]:
    rows = connection.execute(
        select(MessageRow.run_id, MessageRow.content)
        .where(MessageRow.run_id.in_(run_ids), MessageRow.role == "user")
        .order_by(MessageRow.created_at, MessageRow.id)
    )
    found: dict[str, str] = {}
    for row in rows:
        text = _text(row.content)
        if not is_notice(text):
            found.setdefault(row.run_id, unpack_user_message(text)[:_SHOWN_CHARS])
    return found


def _text(content: list[JsonObject] | None) -> str:
    return "".join(part["text"] for part in content or () if part["type"] == "text")
