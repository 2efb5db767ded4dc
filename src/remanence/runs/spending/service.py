"""Budgets as runs meet them: asked before every call of a model."""

import time
from dataclasses import dataclass, field

from remanence.core.actor import Actor
from remanence.core.spending import Budget
from remanence.db.database import Database
from remanence.errors import ProviderCredits
from remanence.kit.ids import AgentId, OrgId
from remanence.runs.spending import repository
from remanence.runs.spending.schemas import BudgetSet

_FRESH_S = 2.0
"""What was spent is asked again after this long, so that much may be spent beyond a budget."""
_IDLE_S = 30.0
"""How long it takes until a first budget, set at another replica, is noticed here."""
_MOST_ORGANIZATIONS = 10_000


@dataclass(slots=True)
class _Known:
    read_at: float = float("-inf")
    budgets: list[tuple[Budget, int]] = field(default_factory=list[tuple[Budget, int]])


class Spending:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: dict[OrgId, _Known] = {}

    async def check(self, organization_id: OrgId, agent_id: AgentId) -> None:
        """Raises ProviderCredits if a budget of the agent or of its organisation is spent."""
        known = self._known.get(organization_id)
        now = time.monotonic()
        if known is None or now - known.read_at > (_FRESH_S if known.budgets else _IDLE_S):
            if len(self._known) > _MOST_ORGANIZATIONS:
                self._known.clear()
            budgets = await self._db.read(repository.list_budgets, organization_id)
            known = self._known[organization_id] = _Known(now, budgets)
        for budget, spent in known.budgets:
            if budget.agent_id in (None, agent_id) and spent >= budget.limit_nanos:
                whose = "this agent" if budget.agent_id else "the organisation"
                span = {"day": " for today", "month": " for this month", "total": ""}[budget.period]
                raise ProviderCredits(
                    f"The budget of {whose}{span} ({budget.limit_nanos / 1e9:g} USD) is spent. "
                    "Raise it or wait for the next period."
                )

    async def set_budget(self, actor: Actor, body: BudgetSet) -> Budget:
        budget = await self._db.write(repository.set_budget, actor, body)
        self._known.pop(actor.organization_id, None)
        return budget

    async def delete_budget(self, actor: Actor, budget_id: str) -> None:
        """Raises NotFound."""
        await self._db.write(repository.delete_budget, actor, budget_id)
        self._known.pop(actor.organization_id, None)
