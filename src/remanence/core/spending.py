"""What may be spent on models, by whom and until when."""

from datetime import datetime
from typing import Literal

from remanence.core.frozen import Frozen
from remanence.kit.ids import AgentId, OrgId

Period = Literal["day", "month", "total"]


class Budget(Frozen):
    id: str
    organization_id: OrgId
    agent_id: AgentId | None = None
    """None where it is the whole organisation's."""
    period: Period
    limit_nanos: int
    """Billionths of a US dollar."""
    created_at: datetime
    updated_at: datetime


def start_of(period: Period, now: datetime) -> datetime | None:
    """When the period that `now` lies in began, in UTC; None if it never did."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "day":
            return midnight
        case "month":
            return midnight.replace(day=1)
        case "total":
            return None
