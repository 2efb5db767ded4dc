"""What can be told from the name of a Claude model: how it is asked to think, and what it then refuses."""

import re
from functools import lru_cache

_NUMBERS = re.compile(r"(?<![\d.])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


@lru_cache(256)
def version_of(model: str) -> tuple[int, int]:
    """`claude-3-7-sonnet-20250219` is (3, 7), `claude-opus-5` (5, 0); (0, 0) for names without numbers."""
    name = model.rpartition("/")[2].partition("claude")[2]
    found = _NUMBERS.search(name)
    if found is None:
        return (4, 7) if "mythos" in name else (0, 0)
    return int(found[1]), int(found[2] or 0)


def thinks(model: str) -> bool:
    return version_of(model) >= (3, 7)


def thinks_at_will(model: str) -> bool:
    """Decides by itself how much to think; budgets are of the past."""
    return version_of(model) >= (4, 6)


def is_late(model: str) -> bool:
    """Refuses temperature, and shows its thoughts only when asked to."""
    return version_of(model) >= (4, 7)


def takes_schemas(model: str) -> bool:
    """Tool calls and answers can be held to a schema."""
    return version_of(model) >= (4, 5)
