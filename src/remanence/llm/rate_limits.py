"""How long a provider asks to be left alone, from the headers of its refusal."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_REMAINING = re.compile(r"^(?:x|anthropic)-ratelimit-(?:(.+)-)?remaining(?:-(.+))?$")
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait: what `Retry-After` says, or until a limit that is used up is full again."""
    lowered = {name.lower(): value for name, value in headers.items()}
    if milliseconds := lowered.get("retry-after-ms"):
        try:
            return max(0.0, float(milliseconds) / 1_000)
        except ValueError:
            pass
    if value := lowered.get("retry-after"):
        return _seconds_until(value)
    return max((wait for wait in _resets(lowered) if wait is not None), default=None)


def _resets(headers: Mapping[str, str]) -> list[float | None]:
    """`x-ratelimit-remaining-tokens` goes with `x-ratelimit-reset-tokens`, and likewise in the other orders."""
    return [
        _seconds_until(reset)
        for name, value in headers.items()
        if _REMAINING.match(name) and value.strip() == "0"
        if (reset := headers.get(name.replace("remaining", "reset")))
    ]


def _seconds_until(value: str) -> float | None:
    """From a number, a duration like 6m0s, a date, or a moment as seconds or milliseconds since 1970."""
    value = value.strip()
    pieces = _DURATION.findall(value)
    if pieces and "".join(f"{number}{unit}" for number, unit in pieces) == value:
        return sum(float(number) * _UNITS[unit] for number, unit in pieces)
    now = datetime.now(UTC)
    try:
        number = float(value)
    except ValueError:
        moment = _moment(value)
        return None if moment is None else max(0.0, (moment - now).total_seconds())
    if number > 1e9:
        number = (number / 1_000 if number > 1e11 else number) - now.timestamp()
    return max(0.0, number)


def _moment(value: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except ValueError:
            continue
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return None
