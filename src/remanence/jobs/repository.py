"""SQL for jobs: put in line, taken by one process at a time, given back or done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, case, delete, insert, or_, select, update

from remanence.core.actor import Actor
from remanence.core.job import OPEN, Job, JobStatus, JobType
from remanence.core.page import Page
from remanence.db.dialect import checked
from remanence.db.paging import fetch_page
from remanence.db.tables import JobRow
from remanence.errors import Conflict, LeaseLost, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_job_id
from remanence.kit.json import JsonObject

LEASE = timedelta(seconds=30)
_JOB = [column for column in JobRow.__table__.columns if column.name in Job.model_fields]
_SHOWN = [*_JOB, JobRow.metadata_]


@dataclass(frozen=True, slots=True)
class Grip:
    """The right to work on a job, for as long as nobody else has taken it."""

    job: Job
    worker: str
    fence: int


def enqueue(
    connection: Connection,
    actor: Actor,
    kind: str,
    payload: JsonObject,
    *,
    due_at: datetime | None = None,
    job_type: JobType = "job",
    agent_id: str | None = None,
    source_id: str | None = None,
    metadata: JsonObject | None = None,
    callback_url: str | None = None,
) -> Job:
    """Puts work in line, in the transaction that makes it necessary. Wake the `Workers` afterwards."""
    now = utc_now()
    job = Job(
        id=new_job_id(),
        organization_id=actor.organization_id,
        created_by_id=actor.user_id,
        kind=kind,
        job_type=job_type,
        agent_id=agent_id,
        source_id=source_id,
        payload=payload,
        metadata=metadata,
        due_at=due_at or now,
        created_at=now,
        updated_at=now,
        callback_url=callback_url,
    )
    values = job.model_dump(exclude={"metadata"}) | {"metadata_": metadata}
    connection.execute(insert(JobRow), values)
    return job


# Taking and giving back


def claim(connection: Connection, worker: str, kind: str, count: int) -> list[Grip]:
    """Takes up to so many that are due, those that have waited longest first."""
    now = utc_now()
    free = (
        select(JobRow.id)
        .where(
            JobRow.completed_at.is_(None),
            JobRow.due_at <= now,
            JobRow.kind == kind,
            or_(JobRow.worker.is_(None), JobRow.alive_until < now),
        )
        .order_by(JobRow.due_at, JobRow.id)
        .limit(count)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(
        update(JobRow)
        .where(JobRow.id.in_(free.scalar_subquery()))
        .values(
            worker=worker,
            alive_until=now + LEASE,
            fence=JobRow.fence + 1,
            tries=JobRow.tries + 1,
            status="running",
            updated_at=now,
        )
        .returning(*_SHOWN, JobRow.fence)
    )
    return [Grip(_job_from(row), worker, row.fence) for row in rows]


def list_due_kinds(connection: Connection) -> set[str]:
    """What a look without writing shows to be waiting."""
    now = utc_now()
    rows = connection.scalars(
        select(JobRow.kind)
        .where(
            JobRow.completed_at.is_(None),
            JobRow.due_at <= now,
            or_(JobRow.worker.is_(None), JobRow.alive_until < now),
        )
        .distinct()
    )
    return set(rows)


def hold(connection: Connection, grip: Grip) -> None:
    """Keeps the job ours until the transaction is over, for what is written with it. Raises LeaseLost."""
    held = select(JobRow.id).where(_is_held(grip)).with_for_update()
    if connection.scalar(held) is None:
        raise LeaseLost(f"Job {grip.job.id} was cancelled, or goes on elsewhere.")


def save(
    connection: Connection,
    grip: Grip,
    *,
    state: JsonObject | None = None,
    metadata: JsonObject | None = None,
    status: JobStatus | None = None,
) -> None:
    """Notes how far it has come; what is None stays. Raises LeaseLost.

    With the `status` of one that is over, it looks so already while something is left to do for it.
    """
    values: dict[str, Any] = {"updated_at": utc_now()}
    if status is not None:
        values["status"] = status
    if state is not None:
        values["state"] = state
    if metadata is not None:
        values["metadata_"] = metadata
    _change(connection, grip, values)


def finish(connection: Connection, grip: Grip, status: JobStatus, metadata: JsonObject | None = None) -> None:
    """It is over. Raises LeaseLost."""
    now = utc_now()
    values: dict[str, Any] = {"status": status, "completed_at": now, "updated_at": now, "worker": None}
    if metadata is not None:
        values["metadata_"] = metadata
    _change(connection, grip, values)


def put_back(
    connection: Connection, grip: Grip, due_at: datetime, *, tries: int, state: JsonObject | None = None
) -> None:
    """Lets it rest until then. Raises LeaseLost."""
    values: dict[str, Any] = {
        "status": "pending",
        "due_at": due_at,
        "tries": tries,
        "worker": None,
        "updated_at": utc_now(),
    }
    if state is not None:
        values["state"] = state
    _change(connection, grip, values)


def note_callback(
    connection: Connection, grip: Grip, *, sent_at: datetime, status: int | None, error: str | None
) -> None:
    """Raises LeaseLost."""
    told = {"callback_sent_at": sent_at, "callback_status_code": status, "callback_error": error}
    _change(connection, grip, told)


def renew(connection: Connection, grips: Sequence[Grip]) -> list[Grip]:
    """Says that these are in good hands. Those that are no longer ours."""
    rows = connection.execute(
        update(JobRow)
        .where(or_(*(_is_held(grip) for grip in grips)))
        .values(alive_until=utc_now() + LEASE)
        .returning(JobRow.id, JobRow.fence)
    )
    kept = {(row.id, row.fence) for row in rows}
    return [grip for grip in grips if (grip.job.id, grip.fence) not in kept]


def release(connection: Connection, workers: Sequence[str], *, counts: bool) -> None:
    """Frees what these processes had. Where one died of it, having begun counts as a try."""
    tries = JobRow.tries if counts else case((JobRow.tries > 0, JobRow.tries - 1), else_=0)
    connection.execute(
        update(JobRow)
        .where(JobRow.worker.in_(workers), JobRow.completed_at.is_(None))
        .values(worker=None, status="pending", fence=JobRow.fence + 1, tries=tries)
    )


def list_workers(connection: Connection) -> list[str]:
    rows = connection.scalars(
        select(JobRow.worker).where(JobRow.worker.is_not(None), JobRow.completed_at.is_(None)).distinct()
    )
    return [worker for worker in rows if worker is not None]


def _is_held(grip: Grip) -> Any:
    return and_(
        JobRow.id == grip.job.id,
        JobRow.worker == grip.worker,
        JobRow.fence == grip.fence,
        JobRow.completed_at.is_(None),
    )


def _change(connection: Connection, grip: Grip, values: dict[str, Any]) -> None:
    changed = connection.execute(update(JobRow).where(_is_held(grip)).values(**values))
    if changed.rowcount == 0:
        raise LeaseLost(f"Job {grip.job.id} was cancelled, or goes on elsewhere.")


# What is seen from outside


def get_job(connection: Connection, actor: Actor, job_id: str, *, job_type: JobType | None = None) -> Job:
    """Raises NotFound."""
    statement = select(*_SHOWN).where(
        JobRow.id == job_id, checked(JobRow.organization_id) == actor.organization_id
    )
    if job_type is not None:
        statement = statement.where(JobRow.job_type == job_type)
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound(f"There is no {job_type or 'job'} {job_id}.")
    return _job_from(row)


def list_jobs(
    connection: Connection,
    actor: Actor,
    page: Page,
    *,
    is_open: bool = False,
    source_id: str | None = None,
    job_type: JobType | None = None,
) -> list[Job]:
    mine = JobRow.organization_id == actor.organization_id
    statement = select(*_SHOWN).where(mine)
    if is_open:
        statement = statement.where(JobRow.status.in_(OPEN))
    if source_id is not None:
        statement = statement.where(JobRow.source_id == source_id)
    if job_type is not None:
        statement = statement.where(JobRow.job_type == job_type)
    rows = fetch_page(connection, statement, page, key=JobRow.created_at, id_column=JobRow.id, scope=[mine])
    return [_job_from(row) for row in rows]


def cancel(connection: Connection, actor: Actor, job_id: str, *, job_type: JobType | None = None) -> Job:
    """Whoever is at it learns of it at once, or with the next thing that it saves. Raises NotFound, Conflict."""
    job = get_job(connection, actor, job_id, job_type=job_type)
    now = utc_now()
    changed = connection.execute(
        update(JobRow)
        .where(JobRow.id == job_id, JobRow.completed_at.is_(None), JobRow.status.in_(OPEN))
        .values(status="cancelled", completed_at=now, updated_at=now, worker=None, fence=JobRow.fence + 1)
    )
    if changed.rowcount == 0:
        raise Conflict(f"{job_id} is over ({job.status}); there is nothing to cancel.")
    return get_job(connection, actor, job_id)


def set_metadata(connection: Connection, job_id: str, metadata: JsonObject) -> None:
    """Of one that has been taken out of the hands of whoever was at it."""
    connection.execute(update(JobRow).where(JobRow.id == job_id).values(metadata_=metadata))


def delete_job(connection: Connection, actor: Actor, job_id: str) -> Job:
    """Also one that somebody is at: it ends there. Raises NotFound."""
    job = get_job(connection, actor, job_id)
    connection.execute(delete(JobRow).where(JobRow.id == job_id))
    return job


def drop_old(connection: Connection, *, days: int) -> None:
    """Forgets what has been over for so long."""
    connection.execute(delete(JobRow).where(JobRow.completed_at < utc_now() - timedelta(days=days)))


def _job_from(row: Row[Any]) -> Job:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _JOB}
    return Job.model_validate(fields | {"metadata": row.metadata_})
