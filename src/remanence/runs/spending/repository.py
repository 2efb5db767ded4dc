"""SQL for budgets and for what was spent."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, String, cast, delete, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.spending import Budget, start_of
from remanence.db.tables import BudgetRow, StepRow
from remanence.errors import NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, OrgId, new_id
from remanence.runs.spending.schemas import SUMS, BudgetSet, GroupBy

_BUDGET = [column for column in BudgetRow.__table__.columns if column.name != "subject"]


def set_budget(connection: Connection, actor: Actor, body: BudgetSet) -> Budget:
    """Made, or changed if there is one for the same agent (or the organisation) and period."""
    subject = body.agent_id or actor.organization_id
    limit, now = round(body.limit_usd * 1e9), utc_now()
    same = (BudgetRow.subject == subject, BudgetRow.period == body.period)
    changed = connection.execute(update(BudgetRow).where(*same).values(limit_nanos=limit, updated_at=now))
    if not changed.rowcount:
        connection.execute(
            insert(BudgetRow).values(
                id=new_id("budget"),
                organization_id=actor.organization_id,
                agent_id=body.agent_id,
                subject=subject,
                period=body.period,
                limit_nanos=limit,
                created_at=now,
                updated_at=now,
            )
        )
    return _budget(connection.execute(select(*_BUDGET).where(*same)).one())


def list_budgets(connection: Connection, organization_id: OrgId) -> list[tuple[Budget, int]]:
    """Each with what has been spent of it, in billionths of a dollar."""
    rows = connection.execute(
        select(*_BUDGET)
        .where(BudgetRow.organization_id == organization_id)
        .order_by(BudgetRow.created_at, BudgetRow.id)
    )
    return [(budget, spent_of(connection, budget)) for budget in map(_budget, rows.all())]


def delete_budget(connection: Connection, actor: Actor, budget_id: str) -> None:
    """Raises NotFound."""
    gone = connection.execute(
        delete(BudgetRow).where(BudgetRow.id == budget_id, BudgetRow.organization_id == actor.organization_id)
    )
    if not gone.rowcount:
        raise NotFound(f"There is no budget {budget_id}.")


def spent_of(connection: Connection, budget: Budget) -> int:
    since = start_of(budget.period, utc_now())
    where = _steps_of(budget.organization_id, budget.agent_id, since, None)
    return int(connection.scalar(select(func.coalesce(func.sum(StepRow.cost_nanos), 0)).where(*where)) or 0)


def sum_spending(
    connection: Connection,
    actor: Actor,
    *,
    agent_id: AgentId | None,
    since: datetime | None,
    until: datetime | None,
    group: GroupBy | None,
) -> list[Row[Any]]:
    sums = [func.sum(getattr(StepRow, name)).label(name) for name in (*SUMS, "cost_nanos")]
    statement = select(func.count().label("step_count"), *sums).where(
        *_steps_of(actor.organization_id, agent_id, since, until)
    )
    if group is not None:
        key: dict[str, ColumnElement[Any]] = {
            "agent": StepRow.agent_id.expression,
            "model": func.coalesce(StepRow.model_handle, StepRow.model),
            "day": func.substr(cast(StepRow.created_at, String), 1, 10),
        }
        of = key[group].label("of")
        statement = statement.add_columns(of).group_by(of).order_by(of)
    return list(connection.execute(statement).all())


def _steps_of(
    organization_id: OrgId, agent_id: str | None, since: datetime | None, until: datetime | None
) -> list[ColumnElement[bool]]:
    where = [StepRow.organization_id == organization_id]
    if agent_id is not None:
        where.append(StepRow.agent_id == agent_id)
    if since is not None:
        where.append(StepRow.created_at >= since)
    if until is not None:
        where.append(StepRow.created_at <= until)
    return where


def _budget(row: Row[Any]) -> Budget:
    return Budget.model_validate(dict(row._mapping))  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's own name
