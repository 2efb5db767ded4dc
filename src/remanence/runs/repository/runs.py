"""The rows of runs: how they begin, are found, cancelled and ended."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, case, delete, insert, or_, select, update

from remanence.core.actor import Actor
from remanence.core.agent import StopReason
from remanence.core.page import Page
from remanence.core.run import Run, status_after
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, RunRow
from remanence.errors import Conflict, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, RunId
from remanence.kit.json import JsonObject
from remanence.runs.queries import RunQuery

LEASE_S = 15
"""How long a process may be silent before others take its work over."""

RUN_COLUMNS = [
    c for c in RunRow.__table__.columns if c.name not in ("lane", "alive_until", "worker", "request")
]
_RUN_FIELDS = set(Run.model_fields) - {"metadata"}
OPEN = ("created", "running")
# Cancelled stays cancelled, also where the last step was quicker than the word of it.
_was_cancelled = RunRow.status == "cancelled"
_FINISH_RUN = (
    update(RunRow)
    .where(RunRow.id == bindparam("run"))
    .values(
        status=case((_was_cancelled, RunRow.status), else_=bindparam("new_status", type_=RunRow.status.type)),
        stop_reason=case(
            (_was_cancelled, RunRow.stop_reason), else_=bindparam("reason", type_=RunRow.stop_reason.type)
        ),
        completed_at=case(
            (_was_cancelled, RunRow.completed_at), else_=bindparam("now", type_=RunRow.completed_at.type)
        ),
        metadata_=bindparam("new_metadata"),
        worker=case((RunRow.background, RunRow.worker)),  # the end of one in the background is yet to be told
        ttft_ns=bindparam("to_first_token_ns"),
        total_duration_ns=bindparam("duration_ns"),
        tools_used=bindparam("new_tools_used"),
    )
)
_NOTE_RUN_ON_AGENT = (
    update(AgentRow)
    .where(AgentRow.id == bindparam("agent"), AgentRow.is_deleted.is_(False))
    .values(
        last_run_completion=bindparam("now"),
        last_run_duration_ms=bindparam("duration_ms"),
        last_stop_reason=bindparam("reason"),
        updated_at=AgentRow.updated_at,
    )
    .returning(AgentRow.state_version)
)
_AGENT_VERSION = select(AgentRow.state_version).where(
    AgentRow.id == bindparam("agent"), AgentRow.is_deleted.is_(False)
)


def list_cancelled(connection: Connection, run_ids: Sequence[RunId]) -> list[RunId]:
    """Those of these runs that somebody cancelled, perhaps through another process."""
    rows = connection.scalars(select(RunRow.id).where(RunRow.id.in_(run_ids), RunRow.status == "cancelled"))
    return [RunId(run_id) for run_id in rows]


def cancel_run(connection: Connection, actor: Actor, lane: str, run_id: str) -> bool | None:
    """Marks an open run as cancelled, at once and for good; its process finds out by itself.

    True if it was open, False if it had ended, None if this agent or conversation has no such run.
    """
    mine = (
        RunRow.id == run_id,
        RunRow.organization_id == actor.organization_id,
        or_(RunRow.lane == lane, RunRow.agent_id == lane),
    )
    changed = connection.execute(
        update(RunRow)
        .where(*mine, RunRow.status.in_(OPEN))
        .values(status="cancelled", stop_reason="cancelled", completed_at=utc_now())
    )
    if changed.rowcount:
        return True
    return False if connection.scalar(select(RunRow.id).where(*mine)) is not None else None


def list_open_runs(connection: Connection, actor: Actor, lane: str) -> list[RunId]:
    rows = connection.scalars(
        select(RunRow.id)
        .where(
            RunRow.organization_id == actor.organization_id,
            RunRow.lane == lane,
            RunRow.status.in_(OPEN),
        )
        .order_by(RunRow.created_at)
    )
    return [RunId(run_id) for run_id in rows]


def list_open_of_kind(connection: Connection, actor: Actor, run_type: str) -> list[Run]:
    """The few among those that are under way."""
    rows = connection.execute(
        select(*RUN_COLUMNS).where(
            RunRow.organization_id == actor.organization_id, RunRow.worker.is_not(None)
        )
    )
    found = [run_from(row) for row in rows]
    return [run for run in found if run.status in OPEN and (run.metadata or {}).get("run_type") == run_type]


def finish_run(
    connection: Connection,
    run: Run,
    stop_reason: StopReason,
    *,
    error: str | None = None,
    ttft_ns: int | None,
    duration_ns: int,
    tools_used: Sequence[str],
) -> int | None:
    """Closes the run and notes it on the agent; the version of the agent's state, if it is still there."""
    now = utc_now()
    metadata = (run.metadata or {}) | ({"error": error} if error else {})
    connection.execute(
        _FINISH_RUN,
        {
            "run": run.id,
            "new_status": status_after(stop_reason),
            "reason": stop_reason,
            "now": now,
            "new_metadata": metadata,
            "to_first_token_ns": ttft_ns,
            "duration_ns": duration_ns,
            "new_tools_used": list(tools_used) or None,
        },
    )
    return connection.execute(
        _NOTE_RUN_ON_AGENT,
        {
            "agent": run.agent_id,
            "now": now,
            "duration_ms": duration_ns // 1_000_000,
            "reason": stop_reason,
        },
    ).scalar_one_or_none()


def agent_version(connection: Connection, agent_id: AgentId, *, locks: bool = False) -> int | None:
    """`locks`: nobody changes the agent's memory until this transaction is over."""
    statement = _AGENT_VERSION.with_for_update() if locks else _AGENT_VERSION
    return connection.scalar(statement, {"agent": agent_id})


def get_run(connection: Connection, actor: Actor, run_id: str) -> Run:
    """Raises NotFound."""
    row = connection.execute(
        select(*RUN_COLUMNS).where(RunRow.organization_id == actor.organization_id, RunRow.id == run_id)
    ).first()
    if row is None:
        raise NotFound(f"There is no run {run_id}.")
    return run_from(row)


def list_runs(connection: Connection, actor: Actor, query: RunQuery, page: Page) -> list[Run]:
    conditions: list[ColumnElement[bool]] = [RunRow.organization_id == actor.organization_id]
    if query.agent_ids:
        conditions.append(RunRow.agent_id.in_(query.agent_ids))
    if query.statuses:
        conditions.append(RunRow.status.in_(query.statuses))
    if query.background is not None:
        conditions.append(RunRow.background.is_(query.background))
    if query.stop_reason is not None:
        conditions.append(RunRow.stop_reason == query.stop_reason)
    if query.conversation_id is not None:
        conditions.append(RunRow.conversation_id == query.conversation_id)
    rows = fetch_page(
        connection,
        select(*RUN_COLUMNS).where(*conditions),
        page,
        key=RunRow.created_at,
        id_column=RunRow.id,
        scope=conditions[:1],
    )
    return [run_from(row) for row in rows]


def delete_run(connection: Connection, actor: Actor, run_id: str) -> None:
    """The record goes; the messages stay. Raises NotFound, and Conflict while the run is at work."""
    run = get_run(connection, actor, run_id)
    if run.status in OPEN:
        raise Conflict(f"{run_id} is still at work: cancel it, or wait for its end, and delete it then.")
    connection.execute(delete(RunRow).where(RunRow.id == run_id))


def note_callback(
    connection: Connection, run_id: RunId, *, sent_at: datetime, status: int | None, error: str | None
) -> None:
    connection.execute(
        update(RunRow)
        .where(RunRow.id == run_id)
        .values(callback_sent_at=sent_at, callback_status_code=status, callback_error=error, worker=None)
    )


def insert_run(
    connection: Connection, run: Run, worker: str, status: str, now: datetime, request: JsonObject | None
) -> None:
    values = {name: getattr(run, name) for name in _RUN_FIELDS}
    values |= {
        "status": status,
        "metadata_": run.metadata,
        "lane": run.lane,
        "worker": worker,
        "request": request,
        "alive_until": now + timedelta(seconds=LEASE_S),
        "tools_used": None,
    }
    connection.execute(insert(RunRow), values)


def run_from(row: Row[Any]) -> Run:
    fields = {name: getattr(row, name) for name in _RUN_FIELDS}
    return Run.model_validate(fields | {"metadata": row.metadata_})
