"""What runs said, frame by frame, and the ids by which a message sent again finds its run."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from remanence.core.run import Run
from remanence.db.dialect import notify
from remanence.db.tables import LeaseRow, RunEventsRow, RunOtidRow, RunRow
from remanence.errors import LeaseLost
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId

_EVENT_ROWS = 200

OTID_KEPT = timedelta(hours=3)
"""How long a stream can be resumed, and a message id sent again attaches to its run."""
_APPEND_EVENTS = insert(RunEventsRow).from_select(
    ["run_id", "first_seq", "last_seq", "frames"],
    select(
        RunRow.id,
        bindparam("first", type_=RunEventsRow.first_seq.type),
        bindparam("last", type_=RunEventsRow.last_seq.type),
        bindparam("text", type_=RunEventsRow.frames.type),
    ).where(RunRow.id == bindparam("run"), RunRow.worker == bindparam("by")),
)


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
    known = find_started(connection, run.lane, otids)
    if known is not None:
        return known
    connection.execute(delete(RunOtidRow).where(RunOtidRow.lane == run.lane, RunOtidRow.otid.in_(otids)))
    rows = [
        {"lane": run.lane, "otid": otid, "run_id": run.id, "created_at": run.created_at} for otid in otids
    ]
    connection.execute(insert(RunOtidRow), rows)
    return None


def find_started(connection: Connection, lane: str, otids: Sequence[str]) -> RunId | None:
    """The run that one of these message ids has started; one that failed may be tried again."""
    if not otids:
        return None
    found = connection.scalar(
        select(RunOtidRow.run_id)
        .join(RunRow, RunRow.id == RunOtidRow.run_id)
        .where(
            RunOtidRow.lane == lane,
            RunOtidRow.otid.in_(otids),
            RunOtidRow.created_at > utc_now() - OTID_KEPT,
            RunRow.status.in_(("created", "running", "completed")),
        )
    )
    return RunId(found) if found is not None else None


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
