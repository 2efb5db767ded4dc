"""Routes of budgets and of what was spent."""

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.db.database import Database
from remanence.edge.fields import StoredMoment
from remanence.edge.parameters import id_path
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.kit.ids import AgentId
from remanence.kit.json import JsonObject
from remanence.runs.spending import repository
from remanence.runs.spending.schemas import BudgetSet, GroupBy, budget_body, spending_body
from remanence.runs.spending.service import Spending


def router(db: Database, spending: Spending) -> APIRouter:
    routes = make_routes("spending")

    @routes.get("/budgets/", operation_id="list_budgets")
    async def list_budgets(actor: ActingUser) -> JsonBytes:
        found = await db.read(repository.list_budgets, actor.organization_id)
        return JsonBytes([budget_body(budget, spent) for budget, spent in found])

    @routes.put("/budgets/", operation_id="set_budget")
    async def set_budget(actor: ActingUser, body: BudgetSet) -> JsonBytes:
        if body.agent_id is not None:
            await db.read(agents.get_agent, actor, body.agent_id)
        budget = await spending.set_budget(actor, body)
        return JsonBytes(budget_body(budget, await db.read(repository.spent_of, budget)))

    @routes.delete("/budgets/{budget_id}", operation_id="delete_budget")
    async def delete_budget(actor: ActingUser, budget_id: Annotated[str, id_path("budget")]) -> JsonBytes:
        await spending.delete_budget(actor, budget_id)
        return JsonBytes(None)

    @routes.get("/usage/", operation_id="retrieve_spending")
    async def retrieve_spending(
        actor: ActingUser,
        agent_id: str | None = None,
        start: StoredMoment | None = None,
        end: StoredMoment | None = None,
        group_by: GroupBy | None = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[JsonObject]:
            rows = repository.sum_spending(
                connection,
                actor,
                agent_id=AgentId(agent_id) if agent_id else None,
                since=start,
                until=end,
                group=group_by,
            )
            return [spending_body(row, group_by) for row in rows]

        found = await db.read(read)
        return JsonBytes(found if group_by else found[0])

    return routes
