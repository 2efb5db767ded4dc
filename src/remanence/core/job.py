"""Jobs: work that is done later, or over a long time, and survives whoever began it."""

from datetime import datetime
from typing import Literal

from remanence.core.actor import Actor
from remanence.core.frozen import Frozen
from remanence.kit.ids import JobId, OrgId, UserId
from remanence.kit.json import JsonObject

JobStatus = Literal["created", "running", "completed", "failed", "pending", "cancelled", "expired"]
JobType = Literal["job", "batch"]

OPEN: frozenset[JobStatus] = frozenset({"created", "running", "pending"})
"""Created: nobody has begun. Pending: it was begun and rests, to be tried again or to go on."""


class Job(Frozen):
    id: JobId
    organization_id: OrgId
    created_by_id: UserId
    """For whom it is done."""
    kind: str
    """Which handler does it."""
    job_type: JobType = "job"
    status: JobStatus = "created"
    agent_id: str | None = None
    source_id: str | None = None
    payload: JsonObject
    """What is to be done; never changes."""
    state: JsonObject | None = None
    """How far it has come, for the handler alone."""
    metadata: JsonObject | None = None
    """What is shown of it."""
    due_at: datetime
    tries: int = 0
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    callback_url: str | None = None
    callback_sent_at: datetime | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None

    @property
    def actor(self) -> Actor:
        return Actor(user_id=self.created_by_id, organization_id=self.organization_id)


def pause_after(tries: int) -> float:
    """Seconds of rest after so many failures: 2, 4, 8 … ten minutes at most."""
    return min(600.0, 2.0 ** min(tries, 10))
