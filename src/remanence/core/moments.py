"""Days and times as people and models write them."""

import re
from datetime import UTC, datetime, time, timedelta

from remanence.kit.clock import zone_of

_SHOWN = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [AP]M)(?: ?[A-Z]*([+-]\d{4}))?", re.IGNORECASE)
"""A moment as prompts and answers show it (`kit/clock.py`): models copy them."""


def parse_moment(text: str, timezone: str, *, is_end: bool = False) -> datetime:
    """A time without a zone is in the one given. As an end, a date alone means the whole day.

    Raises ValueError.
    """
    try:
        moment = _parse(text)
        if is_end:
            moment = _last_moment(moment, is_day=len(text) <= len("2026-03-15"))
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_of(timezone))
        moment.astimezone(UTC)  # at the edges of the calendar there may be no such moment
    except OverflowError:
        raise ValueError("this moment lies outside the calendar") from None
    return moment


def time_ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for unit, size in (
        ("year", 31_536_000),
        ("month", 2_592_000),
        ("day", 86_400),
        ("hour", 3600),
        ("minute", 60),
    ):
        count = seconds // size
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _parse(text: str) -> datetime:
    if (shown := _SHOWN.fullmatch(text)) is not None:
        # Without an offset the caller adds the zone.
        naive = datetime.strptime(shown[1], "%Y-%m-%d %I:%M:%S %p")  # noqa: DTZ007
        return naive if shown[2] is None else naive.replace(tzinfo=datetime.strptime(shown[2], "%z").tzinfo)
    return datetime.fromisoformat(text)


def _last_moment(moment: datetime, *, is_day: bool) -> datetime:
    """Days, minutes and seconds are meant to their end: moments are shown to the second only."""
    if is_day:
        return datetime.combine(moment.date(), time.max)
    if moment.microsecond:
        return moment
    return moment + timedelta(seconds=0 if moment.second else 59, microseconds=999_999)
