"""SQL for the gist of many runs at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from remanence.core.packing import unpack_user_message
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
    sums = {
        row.run_id: row
        for row in connection.execute(
            select(
                StepRow.run_id,
                func.count(StepRow.id).label("num_steps"),
                func.sum(StepRow.prompt_tokens).label("prompt_tokens"),
                func.sum(StepRow.cached_input_tokens).label("cached_input_tokens"),
                func.sum(StepRow.completion_tokens).label("completion_tokens"),
                func.sum(StepRow.cost_nanos).label("cost_nanos"),
            )
            .where(StepRow.run_id.in_(ids))
            .group_by(StepRow.run_id)
        )
    }
    said = _first_words(connection, ids)
    return {
        run.id: Gist(
            names.get(run.agent_id),
            said.get(run.id),
            *([int(row.num_steps), *map(_number, row[2:])] if (row := sums.get(run.id)) else ()),
        )
        for run in runs
    }


def _number(value: object) -> int | None:
    """PostgreSQL sums whole numbers into decimals."""
    return None if value is None else int(str(value))


def _first_words(connection: Connection, run_ids: Sequence[str]) -> dict[str, str]:
    first = (
        select(MessageRow.run_id, func.min(MessageRow.created_at).label("at"))
        .where(MessageRow.run_id.in_(run_ids), MessageRow.role == "user")
        .group_by(MessageRow.run_id)
        .subquery()
    )
    rows = connection.execute(
        select(MessageRow.run_id, MessageRow.content)
        .join(first, (first.c.run_id == MessageRow.run_id) & (first.c.at == MessageRow.created_at))
        .where(MessageRow.role == "user")
    )
    return {row.run_id: unpack_user_message(_text(row.content))[:_SHOWN_CHARS] for row in rows}


def _text(content: list[JsonObject] | None) -> str:
    return "".join(part["text"] for part in content or () if part["type"] == "text")
