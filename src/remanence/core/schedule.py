"""When something is to be said to an agent: once, or again and again. Knows calendars, no clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Literal

from cronsim import CronSim, CronSimError

from remanence.core.frozen import Frozen
from remanence.errors import Invalid
from remanence.kit.clock import zone_of
from remanence.kit.ids import AgentId, OrgId, RunId, UserId
from remanence.kit.json import JsonObject

MissedRuns = Literal["skip", "once", "all"]
MOST_MADE_UP_FOR = 100
"""Of the occurrences that were missed, where all are to run."""
_MAX_EXPRESSION = 200
_SPANS = [timedelta(hours=1), timedelta(days=1), timedelta(days=31), timedelta(days=366)]


class Schedule(Frozen):
    id: str
    organization_id: OrgId
    agent_id: AgentId
    created_by_id: UserId
    request: JsonObject
    """What is said, and how: the body of a send."""
    scheduled_at: datetime | None = None
    """If it is said once."""
    cron: str | None = None
    """If it is said again and again, by the wall clock of the timezone."""
    timezone: str
    missed_runs: MissedRuns
    """What becomes of occurrences that nobody was there for: none of them runs, the last, or each."""
    grace_s: int
    """How late an occurrence may be and still not count as missed."""
    next_run_at: datetime | None
    last_run_at: datetime | None = None
    last_run_id: RunId | None = None
    created_at: datetime


class Due(Frozen):
    """What is to run now, oldest first, and when there is something to do again."""

    occurrences: tuple[datetime, ...]
    next_run_at: datetime | None


def check_cron(expression: str, timezone: str, now: datetime) -> datetime:
    """The first moment at which it holds. Raises Invalid."""
    if len(expression) > _MAX_EXPRESSION or len(expression.split()) != 5:
        raise Invalid(
            "A cron expression has five fields: minute, hour, day of the month, month, day of the week; "
            "such as `0 9 * * MON-FRI`, at nine on working days."
        )
    try:
        return next(_occurrences(expression, timezone, now))
    except CronSimError as error:
        raise Invalid(f"The cron expression {expression!r} cannot be read: {error}.") from None
    except StopIteration:
        raise Invalid(f"The cron expression {expression!r} describes a moment that never comes.") from None


def plan_due(schedule: Schedule, now: datetime) -> Due:
    """Which of its occurrences until now are to run. Its next one must have come."""
    first = schedule.next_run_at
    assert first is not None
    assert first <= now, "not due yet"
    following = None
    due = [first]
    if schedule.cron is not None:
        most = MOST_MADE_UP_FOR if schedule.missed_runs == "all" else 1
        due = _latest_until(schedule.cron, schedule.timezone, first, now, most) or due
        following = next(_occurrences(schedule.cron, schedule.timezone, now), None)
    if schedule.missed_runs == "skip":
        due = [each for each in due if now - each <= timedelta(seconds=schedule.grace_s)]
    return Due(occurrences=tuple(due), next_run_at=following)


def _latest_until(
    expression: str, timezone: str, first: datetime, now: datetime, most: int
) -> list[datetime]:
    """Looks back step by step: after a long silence of something frequent there would be far too many."""
    for span in (*_SPANS, now - first):
        start = max(first, now - span)
        ahead = _occurrences(expression, timezone, start - timedelta(seconds=1))
        found = list(takewhile(lambda moment: moment <= now, ahead))
        if len(found) >= most or start == first:
            return found[-most:]
    raise AssertionError("the last span reaches back to the first")


def _occurrences(expression: str, timezone: str, after: datetime) -> Iterator[datetime]:
    for moment in CronSim(expression, after.astimezone(zone_of(timezone))):
        yield moment.astimezone(UTC)
