"""Who may work on a history: one run at a time, by a lease with a fence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, and_, bindparam, or_, select, update
from sqlalchemy.orm import aliased

from remanence.core.run import Run, status_after
from remanence.db.tables import AgentRow, LeaseRow, RunRow
from remanence.errors import AgentBusy, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId
from remanence.kit.json import JsonObject
from remanence.messages import repository as messages
from remanence.runs.plan import RunCancelled
from remanence.runs.repository.journals import find_journal, strike_journal
from remanence.runs.repository.runs import LEASE_S, OPEN, insert_run
from remanence.runs.repository.steps import find_last_word

NOBODY = ""
"""In place of a worker: it is to be taken over by whoever comes first."""


# Every message runs these, so they are built once, with their values beside them: to build a statement
# costs five to ten times as much as to run it.

_holding = aliased(RunRow)
_waiting = aliased(RunRow)
_ADMISSION = (
    select(
        AgentRow.state_version,
        LeaseRow.window_version,
        LeaseRow.holder,
        LeaseRow.expires_at,
        LeaseRow.fence,
        _holding.id.label("open_holder"),
        _holding.background.label("held_in_background"),
        # Whether somebody who came earlier still waits for this history, in a live process.
        select(_waiting.id)
        .where(
            _waiting.lane == bindparam("lane"),
            _waiting.status == "created",
            _waiting.alive_until > bindparam("now"),
            or_(
                _waiting.created_at < bindparam("arrival"),
                and_(_waiting.created_at == bindparam("arrival"), _waiting.id < bindparam("run")),
            ),
        )
        .exists()
        .label("must_wait"),
    )
    .select_from(AgentRow)
    .join(LeaseRow, LeaseRow.lane == bindparam("lane"))
    .outerjoin(_holding, and_(_holding.id == LeaseRow.holder, _holding.status.in_(OPEN)))
    .where(
        AgentRow.id == bindparam("agent"),
        AgentRow.organization_id == bindparam("organization"),
        AgentRow.is_deleted.is_(False),
    )
    .with_for_update(of=LeaseRow)
)
_TAKE_LEASE = (
    update(LeaseRow)
    .where(LeaseRow.lane == bindparam("of_lane"))
    .values(holder=bindparam("new_holder"), fence=bindparam("new_fence"), expires_at=bindparam("new_expiry"))
)
_ADVANCE_LEASE = (
    update(LeaseRow)
    .where(
        LeaseRow.lane == bindparam("of_lane"),
        LeaseRow.holder == bindparam("run"),
        LeaseRow.fence == bindparam("with_fence"),
    )
    .values(
        window_version=LeaseRow.window_version + 1,
        holder=bindparam("new_holder"),
        expires_at=bindparam("new_expiry"),
    )
    .returning(LeaseRow.window_version)
)


@dataclass(frozen=True, slots=True)
class Grant:
    """The lease is ours; these are the versions of what we may now work on."""

    agent_version: int
    window_version: int
    fence: int


def try_start(
    connection: Connection,
    run: Run,
    worker: str,
    *,
    is_new: bool,
    is_patient: bool = True,
    request: JsonObject | None = None,
) -> Grant | None:
    """Takes the lease for this run if it is its turn, and records the run either way.

    A new run is stored, running or waiting; one that waits is only looked at again. Raises NotFound.
    """
    now = utc_now()
    row = connection.execute(
        _ADMISSION,
        {
            "agent": run.agent_id,
            "organization": run.organization_id,
            "lane": run.lane,
            "run": run.id,
            "arrival": run.created_at,
            "now": now,
        },
    ).first()
    if row is None:
        raise NotFound(f"There is no agent {run.agent_id}.")
    is_free = row.holder is None or row.holder == run.id
    has_lapsed = row.expires_at is None or row.expires_at <= now
    # A background run whose process died is carried on by whoever finds it, before others have their turn.
    # So is one that had begun something outside.
    is_carried_on = bool(row.held_in_background) or (
        has_lapsed and row.open_holder is not None and find_journal(connection, row.open_holder) is not None
    )
    is_held = not is_free and (not has_lapsed or is_carried_on)
    # One that has the lease and is carried on waits for nobody: those who came before it wait for it.
    must_wait = is_held or (row.must_wait and row.holder != run.id)
    if must_wait and not is_patient:
        raise busy(run.lane, row.holder)
    if must_wait:
        if is_new:
            insert_run(connection, run, worker, "created", now, request)
        return None
    if row.holder is not None and not is_free:
        end_dead_run(connection, RunId(row.holder))
    fence = row.fence + 1
    until = now + timedelta(seconds=LEASE_S)
    connection.execute(
        _TAKE_LEASE, {"of_lane": run.lane, "new_holder": run.id, "new_fence": fence, "new_expiry": until}
    )
    if is_new:
        insert_run(connection, run, worker, "running", now, request)
    else:
        _mark_running(connection, run.id)
    return Grant(row.state_version, row.window_version, fence)


def busy(lane: str, run_id: str | None) -> AgentBusy:
    return AgentBusy(f"Another request is running on {lane}. Wait for it, or cancel it.", run_id=run_id)


def enqueue(connection: Connection, run: Run, worker: str, request: JsonObject | None = None) -> None:
    """Puts a run on record that has to wait for others of this process."""
    insert_run(connection, run, worker, "created", utc_now(), request)


def _mark_running(connection: Connection, run_id: RunId) -> None:
    changed = connection.execute(
        update(RunRow).where(RunRow.id == run_id, RunRow.status.in_(OPEN)).values(status="running")
    )
    if changed.rowcount == 0:
        raise RunCancelled


def advance_lease(
    connection: Connection, lane: str, run_id: RunId, fence: int, *, is_last: bool
) -> int | None:
    """Renews the lease for a step about to be saved, or gives it back with the last one.

    The new version of the window, or None if the lease is no longer ours.
    """
    values = {
        "of_lane": lane,
        "run": run_id,
        "with_fence": fence,
        "new_holder": None if is_last else run_id,
        "new_expiry": None if is_last else utc_now() + timedelta(seconds=LEASE_S),
    }
    return connection.execute(_ADVANCE_LEASE, values).scalar_one_or_none()


def holds_lease(connection: Connection, lane: str, run_id: RunId, fence: int) -> bool:
    """Keeps it so until the transaction is over."""
    held = select(LeaseRow.lane).where(
        LeaseRow.lane == lane, LeaseRow.holder == run_id, LeaseRow.fence == fence
    )
    return connection.scalar(held.with_for_update()) is not None


def lock_idle_lane(connection: Connection, lane: str, *, by_force: bool) -> bool:
    """Keeps runs from this history until the transaction is over. False if one is at work on it.

    `by_force` shuts a run out that was cancelled and has not let go yet.
    """
    row = connection.execute(
        select(LeaseRow.holder, RunRow.status)
        .outerjoin(RunRow, RunRow.id == LeaseRow.holder)
        .where(LeaseRow.lane == lane)
        .with_for_update(of=LeaseRow)
    ).one()
    if row.holder is None:
        return True
    if row.status in OPEN or not by_force:
        return False
    connection.execute(
        update(LeaseRow)
        .where(LeaseRow.lane == lane)
        .values(holder=None, expires_at=None, fence=LeaseRow.fence + 1)
    )
    return True


def release_lease(connection: Connection, run_id: RunId) -> None:
    connection.execute(update(LeaseRow).where(LeaseRow.holder == run_id).values(holder=None, expires_at=None))


def renew(connection: Connection, run_ids: Sequence[RunId]) -> None:
    """Says that these runs, waiting or working, are in good hands."""
    until = utc_now() + timedelta(seconds=LEASE_S)
    connection.execute(update(LeaseRow).where(LeaseRow.holder.in_(run_ids)).values(expires_at=until))
    connection.execute(update(RunRow).where(RunRow.id.in_(run_ids)).values(alive_until=until))


def let_go(connection: Connection, run_ids: Sequence[RunId]) -> None:
    """Leaves those of these runs that are in the background to whoever finds them, from this moment on."""
    left = select(RunRow.id).where(RunRow.id.in_(run_ids), RunRow.background.is_(True))
    now = utc_now()
    connection.execute(
        update(LeaseRow)
        .where(LeaseRow.holder.in_(left))
        .values(expires_at=now, fence=LeaseRow.fence + 1)  # so that nothing more is saved from here
    )
    connection.execute(
        update(RunRow)
        .where(RunRow.id.in_(run_ids), RunRow.background.is_(True))
        .values(worker=NOBODY, alive_until=now)
    )


def is_in_hands_of(connection: Connection, run_id: RunId, worker: str) -> bool:
    return connection.scalar(select(RunRow.worker).where(RunRow.id == run_id)) == worker


def is_held(connection: Connection, run_id: RunId) -> bool:
    return connection.scalar(select(RunRow.worker).where(RunRow.id == run_id)) is not None


def end_dead_run(connection: Connection, run_id: RunId) -> None:
    """Its process died. What it had saved stands; an input that was never answered is set aside.

    One in the background is held until its end has been told as well.
    """
    metadata: JsonObject = connection.scalar(select(RunRow.metadata_).where(RunRow.id == run_id)) or {}
    reason = find_last_word(connection, run_id)
    if reason is None:
        metadata = metadata | {"error": "The server stopped while this run was under way."}
    connection.execute(
        update(RunRow)
        .where(RunRow.id == run_id, RunRow.status.in_(OPEN))
        .values(
            status=status_after(reason or "error"),
            stop_reason=reason or "error",
            completed_at=utc_now(),
            metadata_=metadata,
        )
    )
    connection.execute(
        update(RunRow).where(RunRow.id == run_id, RunRow.background.is_(False)).values(worker=None)
    )
    strike_journal(connection, run_id)
    messages.mark_failed(connection, run_id)  # also those of one that was cancelled just before
    release_lease(connection, run_id)
