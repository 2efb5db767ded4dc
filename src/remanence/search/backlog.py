"""Texts that wait for their vectors: rows that processes take, and give back finished or not.

A row is gone in the very transaction that stores its vectors, so each text is embedded once, and none is
forgotten when a process dies (ADR 6).
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, and_, delete, func, or_, select, update

from remanence.db.dialect import insert as upsert
from remanence.db.tables import EmbeddingBacklogRow
from remanence.kit.clock import utc_now
from remanence.search.ports import Document

_Row = EmbeddingBacklogRow
LEASE = timedelta(seconds=60)
_FIRST_PAUSE_S = 2
_LONGEST_PAUSE_S = 600

_ADD_FAST = """
INSERT INTO embedding_backlog (document_id, owner_id, tries) VALUES (?, ?, 0)
ON CONFLICT (document_id) DO UPDATE SET worker = NULL, alive_until = NULL, tries = 0
"""


def add_fast(connection: Connection, documents: Sequence[Document]) -> None:
    """For SQLite, on the way of every message: SQLAlchemy would take longer than the database."""
    if documents:
        connection.exec_driver_sql(_ADD_FAST, [(each.id, each.owner_id) for each in documents])


def add(connection: Connection, owners_by_id: dict[str, str]) -> None:
    if not owners_by_id:
        return
    statement = upsert(connection, _Row)
    fresh = {"worker": None, "alive_until": None, "tries": 0}
    statement = statement.on_conflict_do_update(index_elements=[_Row.document_id], set_=fresh)
    rows = [{"document_id": id, "owner_id": owner_id} for id, owner_id in owners_by_id.items()]
    connection.execute(statement, rows)


def drop(connection: Connection, ids: Sequence[str]) -> None:
    connection.execute(delete(_Row).where(_Row.document_id.in_(ids)))


def drop_owner(connection: Connection, owner_id: str) -> None:
    connection.execute(delete(_Row).where(_Row.owner_id == owner_id))


def has_waiting(connection: Connection) -> bool:
    free = or_(_Row.alive_until.is_(None), _Row.alive_until < utc_now())
    return connection.execute(select(_Row.key).where(free).limit(1)).first() is not None


def claim(connection: Connection, worker: str, count: int) -> dict[str, str]:
    """Takes up to so many, the latest first, so that what was just said does not wait behind old texts.

    From the document's id to its owner's.
    """
    now = utc_now()
    free = (
        select(_Row.key)
        .where(or_(_Row.alive_until.is_(None), _Row.alive_until < now))
        .order_by(_Row.key.desc())
        .limit(count)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(
        update(_Row)
        .where(_Row.key.in_(free.scalar_subquery()))
        .values(worker=worker, alive_until=now + LEASE)
        .returning(_Row.document_id, _Row.owner_id)
    )
    return {row.document_id: row.owner_id for row in rows}


def finish(connection: Connection, worker: str, ids: Sequence[str]) -> set[str]:
    """Those that were still ours to finish."""
    rows = connection.execute(
        delete(_Row).where(_Row.document_id.in_(ids), _Row.worker == worker).returning(_Row.document_id)
    )
    return {row.document_id for row in rows}


def put_back(connection: Connection, worker: str, ids: Sequence[str]) -> None:
    """Lets them rest after a failure, longer each time."""
    now = utc_now()
    mine = and_(_Row.document_id.in_(ids), _Row.worker == worker)
    tries = connection.scalar(select(func.max(_Row.tries)).where(mine)) or 0
    pause = timedelta(seconds=min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(tries, 10)))
    connection.execute(
        update(_Row).where(mine).values(worker=None, alive_until=now + pause, tries=min(tries + 1, 1000))
    )


def release_dead(connection: Connection, workers: Sequence[str]) -> None:
    """Frees what these processes had; they are gone."""
    connection.execute(update(_Row).where(_Row.worker.in_(workers)).values(worker=None, alive_until=None))


def list_workers(connection: Connection) -> list[str]:
    rows = connection.scalars(select(_Row.worker).where(_Row.worker.is_not(None)).distinct())
    return [worker for worker in rows if worker is not None]


def count_waiting(connection: Connection, owner_id: str | None = None) -> int:
    statement = select(func.count()).select_from(_Row)
    if owner_id is not None:
        statement = statement.where(_Row.owner_id == owner_id)
    return connection.scalar(statement) or 0
