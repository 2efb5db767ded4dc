"""Runs whose process is gone, and what becomes of them."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, select, update

from remanence.core.run import Run
from remanence.db.tables import RunRow, ToolJournalRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId
from remanence.kit.json import JsonObject
from remanence.runs.repository.runs import LEASE_S, OPEN, RUN_COLUMNS, run_from


@dataclass(frozen=True, slots=True)
class Claim:
    """A run taken over from a dead process, with what it was asked to do."""

    run: Run
    request: JsonObject


@dataclass(frozen=True, slots=True)
class HeldRun:
    """One that a process has something left to do for, alive or dead."""

    id: RunId
    worker: str
    has_lapsed: bool
    is_open: bool
    was_cancelled: bool
    is_background: bool
    is_carried_on: bool
    """It goes on in another process: nobody waits for it here, or it has begun something outside."""


def list_held(connection: Connection) -> list[HeldRun]:
    """All runs that somebody has to see to, the process that has each, and whether its time is up."""
    now = utc_now()
    rows = connection.execute(
        select(
            RunRow.id,
            RunRow.status,
            RunRow.worker,
            RunRow.alive_until,
            RunRow.background,
            ToolJournalRow.run_id,
        )
        .outerjoin(ToolJournalRow, ToolJournalRow.run_id == RunRow.id)
        .where(RunRow.worker.is_not(None))
        .order_by(RunRow.created_at, RunRow.id)
    )
    return [
        HeldRun(
            RunId(row.id),
            row.worker,
            has_lapsed=row.alive_until is None or row.alive_until < now,
            is_open=row.status in OPEN,
            was_cancelled=row.status == "cancelled",
            is_background=row.background,
            is_carried_on=row.status in OPEN and (row.background or row.run_id is not None),
        )
        for row in rows
    ]


def claim_run(connection: Connection, found: HeldRun, worker: str) -> Claim | None:
    """Takes an abandoned run over, or the telling of its end, unless another process was quicker."""
    now = utc_now()
    is_open = RunRow.status.in_(OPEN)
    row = connection.execute(
        update(RunRow)
        .where(RunRow.id == found.id, is_open if found.is_open else ~is_open, RunRow.worker == found.worker)
        .values(worker=worker, alive_until=now + timedelta(seconds=LEASE_S))
        .returning(*RUN_COLUMNS, RunRow.request)
    ).first()
    return Claim(run_from(row), row.request or {}) if row is not None else None


def dismiss(connection: Connection, run_id: RunId) -> None:
    """Nothing is left to do for it."""
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(worker=None))
