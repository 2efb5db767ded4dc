"""The rows of steps."""

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Row, func, insert, or_, select, update

from remanence.core.actor import Actor
from remanence.core.agent import StopReason
from remanence.core.llm import Usage
from remanence.core.page import Page
from remanence.core.run import Step
from remanence.db.dialect import json_list_holds
from remanence.db.paging import fetch_page
from remanence.db.tables import StepRow
from remanence.errors import NotFound
from remanence.kit.ids import RunId, StepId
from remanence.runs.queries import StepQuery

_STEP = list(StepRow.__table__.columns)
USAGE_FIELDS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost_nanos",
)
_STEP_FIELDS = set(Step.model_fields) - {"usage", "tags"}


def run_usage(connection: Connection, run_id: RunId) -> Usage:
    sums = [func.coalesce(func.sum(getattr(StepRow, name)), 0).label(name) for name in USAGE_FIELDS]
    row = connection.execute(select(*sums).where(StepRow.run_id == run_id)).one()
    return Usage(**{name: int(getattr(row, name)) for name in USAGE_FIELDS})


def count_steps(connection: Connection, run_id: RunId) -> int:
    return connection.scalar(select(func.count(StepRow.id)).where(StepRow.run_id == run_id)) or 0


def insert_step(connection: Connection, step: Step, *, database_ns: int | None = None) -> None:
    usage = step.usage
    values = {name: getattr(step, name) for name in _STEP_FIELDS}
    values |= {name: getattr(usage, name) if usage else None for name in USAGE_FIELDS}
    connection.execute(
        insert(StepRow), values | {"tags": list(step.tags) or None, "database_ns": database_ns}
    )


def add_usage(connection: Connection, step_id: StepId, usage: Usage) -> None:
    """What a saved step cost beside its own call: the summary that made room after it."""
    changes = {
        name: func.coalesce(getattr(StepRow, name), 0) + value
        for name in USAGE_FIELDS
        if (value := getattr(usage, name))
    }
    if changes:
        connection.execute(update(StepRow).where(StepRow.id == step_id).values(**changes))


def find_last_word(connection: Connection, run_id: RunId) -> StopReason | None:
    """Why the run was to end, where its last step is saved and only its end is not."""
    found = connection.scalar(
        select(StepRow.stop_reason).where(
            StepRow.run_id == run_id, StepRow.status == "success", StepRow.stop_reason.is_not(None)
        )
    )
    return cast("StopReason | None", found)


def get_step(connection: Connection, actor: Actor, step_id: str) -> Step:
    """Raises NotFound."""
    row = connection.execute(
        select(*_STEP).where(StepRow.organization_id == actor.organization_id, StepRow.id == step_id)
    ).first()
    if row is None:
        raise NotFound(f"There is no step {step_id}.")
    return _step_from(row)


def list_steps(connection: Connection, actor: Actor, query: StepQuery, page: Page) -> list[Step]:
    conditions: list[ColumnElement[bool]] = [StepRow.organization_id == actor.organization_id]
    for column, value in (
        (StepRow.run_id, query.run_id),
        (StepRow.agent_id, query.agent_id),
        (StepRow.feedback, query.feedback),
        (StepRow.project_id, query.project_id),
    ):
        if value is not None:
            conditions.append(column == value)
    if query.model is not None:
        conditions.append(or_(StepRow.model == query.model, StepRow.model_handle == query.model))
    if query.request_ids:
        conditions.append(StepRow.request_id.in_(query.request_ids))
    if query.has_feedback is not None:
        conditions.append(StepRow.feedback.is_not(None) if query.has_feedback else StepRow.feedback.is_(None))
    if query.start is not None:
        conditions.append(StepRow.created_at >= query.start)
    if query.end is not None:
        conditions.append(StepRow.created_at <= query.end)
    conditions += [json_list_holds(connection, StepRow.tags, tag) for tag in query.tags]
    rows = fetch_page(
        connection,
        select(*_STEP).where(*conditions),
        page,
        key=StepRow.created_at,
        id_column=StepRow.id,
        scope=conditions[:1],
    )
    return [_step_from(row) for row in rows]


def set_feedback(
    connection: Connection, actor: Actor, step_id: str, feedback: str | None, tags: Sequence[str] | None
) -> Step:
    get_step(connection, actor, step_id)
    values: dict[str, Any] = {"feedback": feedback}
    if tags is not None:
        values["tags"] = list(tags)
    connection.execute(update(StepRow).where(StepRow.id == step_id).values(**values))
    return get_step(connection, actor, step_id)


def _step_from(row: Row[Any]) -> Step:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _STEP_FIELDS}
    usage = Usage(**{name: getattr(row, name) for name in USAGE_FIELDS})
    has_usage = row.total_tokens is not None
    return Step.model_validate(
        fields | {"usage": usage if has_usage else None, "tags": tuple(row.tags or ())}
    )
