"""How often a key may ask: a bucket of tokens for each, kept in this process and by each replica for itself."""

import time

from remanence.core.access import ApiKey
from remanence.errors import TooManyRequests

_MOST_KNOWN = 10_000


class RateLimits:
    """A key starts with a minute's worth, which it may use up at once, and gets it back evenly."""

    def __init__(self, requests_per_minute: int | None) -> None:
        self._by_default = requests_per_minute
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: ApiKey) -> None:
        """Raises TooManyRequests."""
        most = key.requests_per_minute or self._by_default
        if most is None:
            return
        name = key.parent_id or key.id  # all sessions of a key draw on its own
        now = time.monotonic()
        left, since = self._left.get(name, (float(most), now))
        left = min(most, left + (now - since) * most / 60)
        if left < 1:
            wait = (1 - left) * 60 / most
            raise TooManyRequests(
                f"This key may ask {most} times a minute; ask again in {max(1, round(wait))} s.", wait
            )
        if len(self._left) >= _MOST_KNOWN and name not in self._left:
            self._left.clear()
        self._left[name] = (left - 1, now)
