"""SQL for what batches consist of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.db.tables import BatchItemRow, RunRow
from remanence.kit.ids import AgentId, JobId, RunId, new_id
from remanence.kit.json import JsonObject
from remanence.messages import repository as messages

_OPEN_RUN = ("created", "running")


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    agent_id: AgentId
    request: JsonObject


def insert_items(connection: Connection, job_id: JobId, items: Sequence[tuple[str, JsonObject]]) -> None:
    rows = [
        {
            "id": new_id("batch_item"),
            "job_id": job_id,
            "position": position,
            "agent_id": agent_id,
            "request": request,
        }
        for position, (agent_id, request) in enumerate(items)
    ]
    connection.execute(insert(BatchItemRow), rows)


def settle(connection: Connection, job_id: JobId) -> None:
    """Notes how those ended whose runs are over, or gone."""
    under_way = connection.execute(
        select(BatchItemRow.id, RunRow.status)
        .outerjoin(RunRow, RunRow.id == BatchItemRow.run_id)
        .where(_is_under_way(job_id))
    ).all()
    for item_id, status in under_way:
        if status not in _OPEN_RUN:
            end_item(connection, item_id, status or "failed")


def has_news(connection: Connection, job_id: JobId) -> bool:
    """Whether one has come to its end since they were settled."""
    over = (
        select(BatchItemRow.id)
        .outerjoin(RunRow, RunRow.id == BatchItemRow.run_id)
        .where(_is_under_way(job_id), func.coalesce(RunRow.status, "").not_in(_OPEN_RUN))
    )
    return connection.scalar(over.limit(1)) is not None


def list_waiting(connection: Connection, job_id: JobId, most: int) -> list[Item]:
    """Those to begin next, in order, none of an agent that is busy with this batch already, one of each."""
    busy = select(BatchItemRow.agent_id).where(_is_under_way(job_id))
    first = (
        select(func.min(BatchItemRow.position))
        .where(_is_waiting(job_id), BatchItemRow.agent_id.not_in(busy))
        .group_by(BatchItemRow.agent_id)
    )
    rows = connection.execute(
        select(BatchItemRow.id, BatchItemRow.agent_id, BatchItemRow.request)
        .where(_is_waiting(job_id), BatchItemRow.position.in_(first))
        .order_by(BatchItemRow.position)
        .limit(most)
    )
    return [Item(row.id, AgentId(row.agent_id), row.request) for row in rows]


def begin_item(connection: Connection, item_id: str, run_id: RunId) -> None:
    connection.execute(update(BatchItemRow).where(BatchItemRow.id == item_id).values(run_id=run_id))


def end_item(connection: Connection, item_id: str, status: str) -> None:
    connection.execute(update(BatchItemRow).where(BatchItemRow.id == item_id).values(status=status))


def cancel_items(connection: Connection, job_id: JobId) -> list[tuple[AgentId, RunId]]:
    """None begins any more. The runs that are under way, with their agents."""
    connection.execute(update(BatchItemRow).where(_is_waiting(job_id)).values(status="cancelled"))
    rows = connection.execute(select(BatchItemRow.agent_id, BatchItemRow.run_id).where(_is_under_way(job_id)))
    return [(AgentId(row.agent_id), RunId(row.run_id)) for row in rows]


def count_items(connection: Connection, job_id: JobId) -> dict[str, int]:
    """By how they stand: waiting, running, completed, failed, cancelled."""
    rows = connection.execute(
        select(BatchItemRow.status, BatchItemRow.run_id.is_(None), func.count())
        .where(BatchItemRow.job_id == job_id)
        .group_by(BatchItemRow.status, BatchItemRow.run_id.is_(None))
    )
    counts: dict[str, int] = dict.fromkeys(("waiting", "running", "completed", "failed", "cancelled"), 0)
    for status, has_no_run, count in rows:
        counts[status or ("waiting" if has_no_run else "running")] += count
    return counts


def list_messages(
    connection: Connection, actor: Actor, job_id: str, page: Page, agent_id: str | None
) -> list[Row[Any]]:
    """All that was said in its runs, whatever became of them."""
    runs = select(BatchItemRow.run_id).where(BatchItemRow.job_id == job_id, BatchItemRow.run_id.is_not(None))
    return messages.list_messages(connection, actor, page, agent_id=agent_id, of_runs=runs, include_err=True)


def _is_waiting(job_id: JobId) -> ColumnElement[bool]:
    return and_(BatchItemRow.job_id == job_id, BatchItemRow.run_id.is_(None), BatchItemRow.status.is_(None))


def _is_under_way(job_id: JobId) -> ColumnElement[bool]:
    return and_(
        BatchItemRow.job_id == job_id, BatchItemRow.run_id.is_not(None), BatchItemRow.status.is_(None)
    )
