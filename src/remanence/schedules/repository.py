"""SQL for schedules."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.schedule import Schedule
from remanence.db.dialect import checked
from remanence.db.paging import fetch_page
from remanence.db.tables import RunRow, ScheduleRow
from remanence.errors import NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId

_COLUMNS = [column for column in ScheduleRow.__table__.columns if column.name in Schedule.model_fields]


def insert_schedule(connection: Connection, schedule: Schedule) -> Schedule:
    connection.execute(insert(ScheduleRow), schedule.model_dump())
    return schedule


def get_schedule(connection: Connection, actor: Actor, agent_id: str, schedule_id: str) -> Schedule:
    """Raises NotFound."""
    row = connection.execute(
        select(*_COLUMNS).where(
            ScheduleRow.id == schedule_id,
            ScheduleRow.agent_id == agent_id,
            checked(ScheduleRow.organization_id) == actor.organization_id,
        )
    ).first()
    if row is None:
        raise NotFound(f"Agent {agent_id} has no schedule {schedule_id}.")
    return _schedule_from(row)


def list_schedules(connection: Connection, actor: Actor, agent_id: str, page: Page) -> list[Schedule]:
    mine = (
        ScheduleRow.agent_id == agent_id,
        checked(ScheduleRow.organization_id) == actor.organization_id,
    )
    rows = fetch_page(
        connection,
        select(*_COLUMNS).where(*mine),
        page,
        key=ScheduleRow.created_at,
        id_column=ScheduleRow.id,
        scope=mine,
    )
    return [_schedule_from(row) for row in rows]


def delete_schedule(connection: Connection, actor: Actor, agent_id: str, schedule_id: str) -> None:
    """What it has started already goes on. Raises NotFound."""
    get_schedule(connection, actor, agent_id, schedule_id)
    forget(connection, schedule_id)


def forget(connection: Connection, schedule_id: str) -> None:
    connection.execute(delete(ScheduleRow).where(ScheduleRow.id == schedule_id))


# For the timekeeper, who looks at all organisations


def list_due(connection: Connection, now: datetime) -> list[str]:
    """Those whose time has come; one whose last run is still under way rests, unless all are to run."""
    last_run = (
        select(RunRow.id)
        .where(RunRow.id == ScheduleRow.last_run_id, RunRow.status.in_(("created", "running")))
        .exists()
    )
    rows = connection.scalars(
        select(ScheduleRow.id)
        .where(ScheduleRow.next_run_at <= now, (ScheduleRow.missed_runs == "all") | ~last_run)
        .order_by(ScheduleRow.next_run_at, ScheduleRow.id)
    )
    return list(rows)


def find_next_moment(connection: Connection, now: datetime) -> datetime | None:
    """When the next one after now is due."""
    return connection.scalar(select(func.min(ScheduleRow.next_run_at)).where(ScheduleRow.next_run_at > now))


def lock_due(connection: Connection, schedule_id: str, now: datetime) -> Schedule | None:
    """One that is due, kept from other processes until the transaction is over; None if it is in hands."""
    row = connection.execute(
        select(*_COLUMNS)
        .where(ScheduleRow.id == schedule_id, ScheduleRow.next_run_at <= now)
        .with_for_update(skip_locked=True)
    ).first()
    return None if row is None else _schedule_from(row)


def note_run(
    connection: Connection,
    schedule_id: str,
    next_run_at: datetime | None,
    last: tuple[datetime, RunId] | None,
) -> None:
    values: dict[str, Any] = {"next_run_at": next_run_at, "updated_at": utc_now()}
    if last is not None:
        values |= {"last_run_at": last[0], "last_run_id": last[1]}
    connection.execute(update(ScheduleRow).where(ScheduleRow.id == schedule_id).values(**values))


def drop_finished(connection: Connection, *, days: int = 30) -> None:
    """Forgets what was said once, a while after."""
    connection.execute(
        delete(ScheduleRow).where(
            ScheduleRow.next_run_at.is_(None), ScheduleRow.updated_at < utc_now() - timedelta(days=days)
        )
    )


def _schedule_from(row: Row[*tuple[Any, ...]]) -> Schedule:
    return Schedule(**row._mapping)  # pyright: ignore[reportPrivateUsage]  # a public part of SQLAlchemy's API
