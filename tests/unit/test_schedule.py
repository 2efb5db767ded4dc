"""When scheduled messages run: cron expressions on the wall clocks of the world, and what was missed."""

from datetime import UTC, datetime, timedelta

import pytest

from remanence.core.schedule import MOST_MADE_UP_FOR, MissedRuns, Schedule, check_cron, plan_due
from remanence.errors import Invalid
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, AgentId

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)  # a Saturday


def schedule(
    cron: str | None, next_run_at: datetime, missed_runs: MissedRuns = "once", timezone: str = "UTC"
) -> Schedule:
    return Schedule(
        id="schedule-1",
        organization_id=DEFAULT_ORG_ID,
        agent_id=AgentId("agent-1"),
        created_by_id=DEFAULT_USER_ID,
        request={"messages": []},
        scheduled_at=None if cron else next_run_at,
        cron=cron,
        timezone=timezone,
        missed_runs=missed_runs,
        grace_s=300,
        next_run_at=next_run_at,
        created_at=next_run_at,
    )


@pytest.mark.parametrize(
    ("cron", "timezone", "first"),
    [
        ("* * * * *", "UTC", "2026-03-14T12:01:00+00:00"),
        ("0 9 * * MON-FRI", "UTC", "2026-03-16T09:00:00+00:00"),
        ("0 9 * * *", "Asia/Tokyo", "2026-03-15T00:00:00+00:00"),
        ("0 0 29 2 *", "UTC", "2028-02-29T00:00:00+00:00"),
        ("0 0 L * *", "UTC", "2026-03-31T00:00:00+00:00"),
    ],
)
def test_an_expression_is_read_on_the_wall_clock_of_its_timezone(
    cron: str, timezone: str, first: str
) -> None:
    assert check_cron(cron, timezone, NOON) == datetime.fromisoformat(first)


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("*/5 * * * * *", "five fields"),
        ("0 0 * * " + "1," * 200 + "1", "five fields"),
        ("61 * * * *", "Bad minute"),
        ("* * * * funday", "Bad day-of-week"),
        ("*/0 * * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 0 * 2 MON#5,TUE#9", "Bad day-of-week"),
    ],
)
def test_an_expression_that_means_nothing_is_refused_with_the_reason(cron: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        check_cron(cron, "UTC", NOON)


def test_each_day_has_its_run_where_clocks_are_put_forward_and_back() -> None:
    berlin = "Europe/Berlin"
    before_gap = datetime(2026, 3, 28, 12, tzinfo=UTC)
    in_gap = check_cron("30 2 * * *", berlin, before_gap)
    assert in_gap == datetime(2026, 3, 29, 1, tzinfo=UTC), "half past two does not exist: at three, then"
    assert check_cron("30 2 * * *", berlin, in_gap) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    twice = check_cron("30 2 * * *", berlin, datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert twice == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert check_cron("30 2 * * *", berlin, twice) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_what_is_said_once_runs_once_and_has_no_next() -> None:
    due = plan_due(schedule(None, NOON), NOON + timedelta(hours=3))
    assert (due.occurrences, due.next_run_at) == ((NOON,), None)


@pytest.mark.parametrize(
    ("missed_runs", "late", "count"),
    [
        ("once", timedelta(seconds=1), 1),
        ("once", timedelta(hours=3, seconds=30), 1),
        ("once", timedelta(days=900), 1),
        ("all", timedelta(hours=3, seconds=30), 4),
        ("all", timedelta(days=900), MOST_MADE_UP_FOR),
        ("skip", timedelta(seconds=299), 1),
        ("skip", timedelta(minutes=30), 0),
        ("skip", timedelta(hours=3, seconds=30), 1),
    ],
)
def test_missed_occurrences_are_made_up_for_as_asked(
    missed_runs: MissedRuns, late: timedelta, count: int
) -> None:
    now = NOON + late
    due = plan_due(schedule("0 * * * *", NOON, missed_runs), now)
    assert len(due.occurrences) == count
    assert list(due.occurrences) == sorted(set(due.occurrences))
    if count:
        assert now - due.occurrences[-1] < timedelta(hours=1), "the newest are the ones that run"
    assert due.next_run_at is not None
    assert now < due.next_run_at <= now + timedelta(hours=1)


def test_an_occurrence_is_due_at_its_very_moment() -> None:
    due = plan_due(schedule("0 12 * * *", NOON), NOON)
    assert due.occurrences == (NOON,)
    assert due.next_run_at == NOON + timedelta(days=1)


def test_a_minute_of_each_hour_missed_for_years_is_found_at_once() -> None:
    due = plan_due(schedule("* * * * *", NOON, "all", "Europe/Berlin"), NOON + timedelta(days=3650))
    assert len(due.occurrences) == MOST_MADE_UP_FOR
