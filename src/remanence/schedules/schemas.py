"""Schedules on the wire."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from remanence.core.conform import as_object
from remanence.core.schedule import MissedRuns, Schedule
from remanence.edge.fields import MAX_NUMBER
from remanence.errors import Invalid
from remanence.kit.json import JsonObject
from remanence.messages.sending import MessageCreate, MessageType, SendRequest

_SECONDS_BELOW = 1e11
"""A number of seconds below this lies before the year 5138; as milliseconds it lies in 1973."""


class OneTime(BaseModel):
    type: Literal["one-time"] = "one-time"
    scheduled_at: float
    """Since 1970, in milliseconds, as JavaScript counts, or in seconds."""

    def moment(self) -> datetime:
        """Raises Invalid."""
        seconds = self.scheduled_at if abs(self.scheduled_at) < _SECONDS_BELOW else self.scheduled_at / 1000
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):
            raise Invalid(
                "`scheduled_at` lies outside the calendar; give a Unix time in milliseconds."
            ) from None


class Recurring(BaseModel):
    type: Literal["recurring"]
    cron_expression: str
    timezone: str | None = None
    """The agent's, unless another is given."""


def _kind_of(given: Any) -> str:
    kind = getattr(given, "type", None) or as_object(given).get("type")
    return str(kind or "one-time")


Timing = Annotated[
    Annotated[OneTime, Tag("one-time")] | Annotated[Recurring, Tag("recurring")], Discriminator(_kind_of)
]


class ScheduleCreate(BaseModel):
    messages: Annotated[list[MessageCreate], Field(min_length=1)]
    schedule: Timing
    callback_url: str | None = None
    include_return_message_types: list[MessageType] | None = None
    max_steps: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = None
    missed_runs: MissedRuns | None = None
    grace_s: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None


def message_request(schedule: Schedule) -> SendRequest:
    """What is sent at each occurrence. Its messages get new ids each time."""
    said = [message | {"otid": None} for message in schedule.request["messages"]]
    return SendRequest.model_validate(schedule.request | {"messages": said})


def schedule_body(schedule: Schedule) -> JsonObject:
    timing: JsonObject
    if schedule.cron is not None:
        timing = {"type": "recurring", "cron_expression": schedule.cron, "timezone": schedule.timezone}
    else:
        assert schedule.scheduled_at is not None
        timing = {"type": "one-time", "scheduled_at": schedule.scheduled_at.timestamp() * 1000}
    return {
        "id": schedule.id,
        "agent_id": schedule.agent_id,
        "message": schedule.request,
        "next_scheduled_time": schedule.next_run_at,
        "schedule": timing,
        "missed_runs": schedule.missed_runs,
        "grace_s": schedule.grace_s,
        "last_run_at": schedule.last_run_at,
        "last_run_id": schedule.last_run_id,
        "created_at": schedule.created_at,
    }
