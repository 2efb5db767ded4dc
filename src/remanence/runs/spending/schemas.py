"""Budgets and spending on the wire."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from remanence.core.spending import Budget, Period
from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject

GroupBy = Literal["agent", "model", "day"]

SUMS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_input_tokens", "reasoning_tokens")


class BudgetSet(BaseModel):
    agent_id: Annotated[str | None, Field(pattern=id_pattern("agent"))] = None
    period: Period = "month"
    limit_usd: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)]


def budget_body(budget: Budget, spent_nanos: int) -> JsonObject:
    return {
        "id": budget.id,
        "organization_id": budget.organization_id,
        "agent_id": budget.agent_id,
        "period": budget.period,
        "limit_usd": budget.limit_nanos / 1e9,
        "spent_usd": spent_nanos / 1e9,
        "created_at": budget.created_at,
        "updated_at": budget.updated_at,
    }


def spending_body(row: Any, group: GroupBy | None) -> JsonObject:
    """Sums over steps, with the share of the prompts that providers had in their caches."""
    sums = {name: int(getattr(row, name) or 0) for name in SUMS}
    body: JsonObject = {} if group is None else {group: row.of}
    return body | {
        "step_count": row.step_count,
        **sums,
        "cache_hit_rate": round(sums["cached_input_tokens"] / sums["prompt_tokens"], 4)
        if sums["prompt_tokens"]
        else None,
        "cost_usd": int(row.cost_nanos or 0) / 1e9,
    }
