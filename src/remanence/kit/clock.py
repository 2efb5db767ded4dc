"""Time: always UTC, always with a zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def utc_now() -> datetime:
    return datetime.now(UTC)


def later_than(previous: datetime | None) -> datetime:
    """Now, or a microsecond after `previous` if the clock has not moved past it.

    Order within a history is order of time, so a clock that steps back, or that of
    another replica, must not place a message before the one it answers.
    """
    now = utc_now()
    if previous is not None and now <= previous:
        return previous + timedelta(microseconds=1)
    return now


def find_zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def zone_of(name: str | None) -> ZoneInfo:
    """The named zone; UTC if the name is unknown here."""
    return find_zone(name) or ZoneInfo("UTC")


def local_text(moment: datetime, timezone: str | None) -> str:
    """A moment as prompts show it, e.g. `2026-11-15 06:59:39 PM UTC+0000`."""
    return moment.astimezone(zone_of(timezone)).strftime("%Y-%m-%d %I:%M:%S %p %Z%z")
