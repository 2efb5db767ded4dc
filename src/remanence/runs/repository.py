"""SQL for runs, steps and leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.orm import aliased

from remanence.core.actor import Actor
from remanence.core.agent import StopReason
from remanence.core.journal import Journal, read_journal, write_journal
from remanence.core.llm import Tape, Usage
from remanence.core.page import Page
from remanence.core.run import Run, Step, status_after
from remanence.db.dialect import json_list_holds, notify
from remanence.db.paging import fetch_page
from remanence.db.tables import (
    AgentRow,
    LeaseRow,
    ProviderTraceRow,
    RunEventsRow,
    RunOtidRow,
    RunRow,
    StepRow,
    ToolJournalRow,
)
from remanence.errors import AgentBusy, Conflict, LeaseLost, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, RunId, StepId
from remanence.kit.json import JsonObject
from remanence.messages import repository as messages
from remanence.runs.plan import RunCancelled
from remanence.runs.queries import RunQuery, StepQuery
from remanence.runs.traces import Trace, pack

LEASE_S = 15
"""How long a process may be silent before others take its work over."""

_RUN = [c for c in RunRow.__table__.columns if c.name not in ("lane", "alive_until", "worker", "request")]
_STEP = list(StepRow.__table__.columns)
_RUN_FIELDS = set(Run.model_fields) - {"metadata"}
_USAGE_FIELDS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost_nanos",
)
_STEP_FIELDS = set(Step.model_fields) - {"usage", "tags"}
_OPEN = ("created", "running")
_EVENT_ROWS = 200
_NOBODY = ""
"""In place of a worker: it is to be taken over by whoever comes first."""

OTID_KEPT = timedelta(hours=3)
"""How long a stream can be resumed, and a message id sent again attaches to its run."""


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
    .outerjoin(_holding, and_(_holding.id == LeaseRow.holder, _holding.status.in_(_OPEN)))
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
_APPEND_EVENTS = insert(RunEventsRow).from_select(
    ["run_id", "first_seq", "last_seq", "frames"],
    select(
        RunRow.id,
        bindparam("first", type_=RunEventsRow.first_seq.type),
        bindparam("last", type_=RunEventsRow.last_seq.type),
        bindparam("text", type_=RunEventsRow.frames.type),
    ).where(RunRow.id == bindparam("run"), RunRow.worker == bindparam("by")),
)
_AGENT_VERSION = select(AgentRow.state_version).where(
    AgentRow.id == bindparam("agent"), AgentRow.is_deleted.is_(False)
)


@dataclass(frozen=True, slots=True)
class Grant:
    """The lease is ours; these are the versions of what we may now work on."""

    agent_version: int
    window_version: int
    fence: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A run taken over from a dead process, with what it was asked to do."""

    run: Run
    request: JsonObject


# Leases


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
            _insert_run(connection, run, worker, "created", now, request)
        return None
    if row.holder is not None and not is_free:
        end_dead_run(connection, RunId(row.holder))
    fence = row.fence + 1
    until = now + timedelta(seconds=LEASE_S)
    connection.execute(
        _TAKE_LEASE, {"of_lane": run.lane, "new_holder": run.id, "new_fence": fence, "new_expiry": until}
    )
    if is_new:
        _insert_run(connection, run, worker, "running", now, request)
    else:
        _mark_running(connection, run.id)
    return Grant(row.state_version, row.window_version, fence)


def busy(lane: str, run_id: str | None) -> AgentBusy:
    return AgentBusy(f"Another request is running on {lane}. Wait for it, or cancel it.", run_id=run_id)


def enqueue(connection: Connection, run: Run, worker: str, request: JsonObject | None = None) -> None:
    """Puts a run on record that has to wait for others of this process."""
    _insert_run(connection, run, worker, "created", utc_now(), request)


def _mark_running(connection: Connection, run_id: RunId) -> None:
    changed = connection.execute(
        update(RunRow).where(RunRow.id == run_id, RunRow.status.in_(_OPEN)).values(status="running")
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
    if row.status in _OPEN or not by_force:
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
        .values(worker=_NOBODY, alive_until=now)
    )


def is_in_hands_of(connection: Connection, run_id: RunId, worker: str) -> bool:
    return connection.scalar(select(RunRow.worker).where(RunRow.id == run_id)) == worker


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
        .where(*mine, RunRow.status.in_(_OPEN))
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
            RunRow.status.in_(_OPEN),
        )
        .order_by(RunRow.created_at)
    )
    return [RunId(run_id) for run_id in rows]


def list_open_of_kind(connection: Connection, actor: Actor, run_type: str) -> list[Run]:
    """The few among those that are under way."""
    rows = connection.execute(
        select(*_RUN).where(RunRow.organization_id == actor.organization_id, RunRow.worker.is_not(None))
    )
    found = [_run_from(row) for row in rows]
    return [run for run in found if run.status in _OPEN and (run.metadata or {}).get("run_type") == run_type]


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
    )
    return [
        HeldRun(
            RunId(row.id),
            row.worker,
            has_lapsed=row.alive_until is None or row.alive_until < now,
            is_open=row.status in _OPEN,
            was_cancelled=row.status == "cancelled",
            is_background=row.background,
            is_carried_on=row.status in _OPEN and (row.background or row.run_id is not None),
        )
        for row in rows
    ]


def claim_run(connection: Connection, found: HeldRun, worker: str) -> Claim | None:
    """Takes an abandoned run over, or the telling of its end, unless another process was quicker."""
    now = utc_now()
    is_open = RunRow.status.in_(_OPEN)
    row = connection.execute(
        update(RunRow)
        .where(RunRow.id == found.id, is_open if found.is_open else ~is_open, RunRow.worker == found.worker)
        .values(worker=worker, alive_until=now + timedelta(seconds=LEASE_S))
        .returning(*_RUN, RunRow.request)
    ).first()
    return Claim(_run_from(row), row.request or {}) if row is not None else None


def dismiss(connection: Connection, run_id: RunId) -> None:
    """Nothing is left to do for it."""
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(worker=None))


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
        .where(RunRow.id == run_id, RunRow.status.in_(_OPEN))
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


# Runs


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
        select(*_RUN).where(RunRow.organization_id == actor.organization_id, RunRow.id == run_id)
    ).first()
    if row is None:
        raise NotFound(f"There is no run {run_id}.")
    return _run_from(row)


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
        select(*_RUN).where(*conditions),
        page,
        key=RunRow.created_at,
        id_column=RunRow.id,
        scope=conditions[:1],
    )
    return [_run_from(row) for row in rows]


def delete_run(connection: Connection, actor: Actor, run_id: str) -> None:
    """The record goes; the messages stay. Raises NotFound, and Conflict while the run is at work."""
    run = get_run(connection, actor, run_id)
    if run.status in _OPEN:
        raise Conflict(f"{run_id} is still at work: cancel it, or wait for its end, and delete it then.")
    connection.execute(delete(RunRow).where(RunRow.id == run_id))


def run_usage(connection: Connection, run_id: RunId) -> Usage:
    sums = [func.coalesce(func.sum(getattr(StepRow, name)), 0).label(name) for name in _USAGE_FIELDS]
    row = connection.execute(select(*sums).where(StepRow.run_id == run_id)).one()
    return Usage(**{name: int(getattr(row, name)) for name in _USAGE_FIELDS})


def count_steps(connection: Connection, run_id: RunId) -> int:
    return connection.scalar(select(func.count(StepRow.id)).where(StepRow.run_id == run_id)) or 0


# Streams of background runs


def append_events(
    connection: Connection,
    run_id: RunId,
    worker: str,
    *,
    first_seq: int,
    last_seq: int,
    frames: str,
    channel: str,
    is_last: bool = False,
) -> None:
    """With the last of them the run is let go, unless somebody is to be called back.

    Raises LeaseLost when another process has the run by now: then the stream is its to write.
    """
    written = connection.execute(
        _APPEND_EVENTS,
        {"run": run_id, "by": worker, "first": first_seq, "last": last_seq, "text": frames},
    )
    if written.rowcount == 0:
        raise LeaseLost("Another process has this run, and writes its stream.")
    if is_last:
        connection.execute(
            update(RunRow).where(RunRow.id == run_id, RunRow.callback_url.is_(None)).values(worker=None)
        )
    notify(connection, channel, run_id)


def list_events(connection: Connection, run_id: RunId, after: int) -> Sequence[Row[int, int, str]]:
    """What was stored beyond a frame, oldest first; the first row may begin before it."""
    return connection.execute(
        select(RunEventsRow.first_seq, RunEventsRow.last_seq, RunEventsRow.frames)
        .where(RunEventsRow.run_id == run_id, RunEventsRow.last_seq > after)
        .order_by(RunEventsRow.last_seq)
        .limit(_EVENT_ROWS)
    ).all()


def all_frames(connection: Connection, run_id: RunId) -> str:
    frames = select(RunEventsRow.frames).where(RunEventsRow.run_id == run_id)
    return "".join(connection.scalars(frames.order_by(RunEventsRow.last_seq)))


def has_event_ending(connection: Connection, run_id: RunId, ending: str) -> bool:
    last = connection.scalar(
        select(RunEventsRow.frames)
        .where(RunEventsRow.run_id == run_id)
        .order_by(RunEventsRow.last_seq.desc())
        .limit(1)
    )
    return last is not None and last.endswith(ending)


def last_event_seq(connection: Connection, run_id: RunId) -> int:
    return (
        connection.scalar(select(func.max(RunEventsRow.last_seq)).where(RunEventsRow.run_id == run_id)) or 0
    )


def claim_otids(connection: Connection, run: Run, otids: Sequence[str]) -> RunId | None:
    """Notes that this run was started by these message ids, or says which run was, before."""
    if not otids:
        return None
    # Of two that come at once, the second must see what the first has noted.
    connection.execute(select(LeaseRow.lane).where(LeaseRow.lane == run.lane).with_for_update())
    known = connection.scalar(
        select(RunOtidRow.run_id)
        .join(RunRow, RunRow.id == RunOtidRow.run_id)
        .where(
            RunOtidRow.lane == run.lane,
            RunOtidRow.otid.in_(otids),
            RunOtidRow.created_at > run.created_at - OTID_KEPT,
            RunRow.status.in_(("created", "running", "completed")),  # one that failed may be tried again
        )
    )
    if known is not None:
        return RunId(known)
    connection.execute(delete(RunOtidRow).where(RunOtidRow.lane == run.lane, RunOtidRow.otid.in_(otids)))
    rows = [
        {"lane": run.lane, "otid": otid, "run_id": run.id, "created_at": run.created_at} for otid in otids
    ]
    connection.execute(insert(RunOtidRow), rows)
    return None


def find_by_otid(connection: Connection, lane: str, otid: str) -> RunId | None:
    found = connection.scalar(
        select(RunOtidRow.run_id).where(RunOtidRow.lane == lane, RunOtidRow.otid == otid)
    )
    return RunId(found) if found is not None else None


def drop_old_events(connection: Connection) -> None:
    """Streams can be read again for a while, not for ever."""
    before = utc_now() - OTID_KEPT
    ended = select(RunRow.id).where(RunRow.completed_at < before, RunRow.background.is_(True))
    connection.execute(delete(RunEventsRow).where(RunEventsRow.run_id.in_(ended)))
    connection.execute(delete(RunOtidRow).where(RunOtidRow.created_at < before))


def note_callback(
    connection: Connection, run_id: RunId, *, sent_at: datetime, status: int | None, error: str | None
) -> None:
    connection.execute(
        update(RunRow)
        .where(RunRow.id == run_id)
        .values(callback_sent_at=sent_at, callback_status_code=status, callback_error=error, worker=None)
    )


# What a run has begun outside


def put_journal(connection: Connection, run_id: RunId, journal: Journal) -> None:
    values = {"run_id": run_id, "entry": write_journal(journal), "created_at": utc_now()}
    strike_journal(connection, run_id)
    connection.execute(insert(ToolJournalRow), values)


def find_journal(connection: Connection, run_id: str) -> Journal | None:
    entry = connection.scalar(select(ToolJournalRow.entry).where(ToolJournalRow.run_id == run_id))
    return read_journal(entry) if entry is not None else None


def strike_journal(connection: Connection, run_id: RunId) -> None:
    connection.execute(delete(ToolJournalRow).where(ToolJournalRow.run_id == run_id))


# Steps


def insert_step(connection: Connection, step: Step, *, database_ns: int | None = None) -> None:
    usage = step.usage
    values = {name: getattr(step, name) for name in _STEP_FIELDS}
    values |= {name: getattr(usage, name) if usage else None for name in _USAGE_FIELDS}
    connection.execute(
        insert(StepRow), values | {"tags": list(step.tags) or None, "database_ns": database_ns}
    )


def add_usage(connection: Connection, step_id: StepId, usage: Usage) -> None:
    """What a saved step cost beside its own call: the summary that made room after it."""
    changes = {
        name: func.coalesce(getattr(StepRow, name), 0) + value
        for name in _USAGE_FIELDS
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


def insert_trace(connection: Connection, step: Step, tape: Tape) -> None:
    request, response = pack(tape)
    spent_ns = step.llm_request_ns or step.step_ns
    values = {
        "step_id": step.id,
        "created_at": utc_now(),
        "request": request,
        "response": response,
        "latency_ms": spent_ns // 1_000_000 if spent_ns is not None else None,
    }
    connection.execute(insert(ProviderTraceRow), values)


def find_trace(connection: Connection, step_id: StepId) -> Trace | None:
    columns = list(ProviderTraceRow.__table__.columns)
    row = connection.execute(select(*columns).where(ProviderTraceRow.step_id == step_id)).first()
    return Trace(*row) if row is not None else None


def drop_old_traces(connection: Connection, *, days: int) -> None:
    before = utc_now() - timedelta(days=days)
    connection.execute(delete(ProviderTraceRow).where(ProviderTraceRow.created_at < before))


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


# Rows


def _insert_run(
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


def _run_from(row: Row[Any]) -> Run:
    fields = {name: getattr(row, name) for name in _RUN_FIELDS}
    return Run.model_validate(fields | {"metadata": row.metadata_})


def _step_from(row: Row[Any]) -> Step:
    fields: dict[str, Any] = {name: getattr(row, name) for name in _STEP_FIELDS}
    usage = Usage(**{name: getattr(row, name) for name in _USAGE_FIELDS})
    has_usage = row.total_tokens is not None
    return Step.model_validate(
        fields | {"usage": usage if has_usage else None, "tags": tuple(row.tags or ())}
    )
