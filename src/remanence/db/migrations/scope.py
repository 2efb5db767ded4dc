"""Which objects of a database the tables speak for; the search index keeps its own."""

from typing import Any

_SEARCH_PREFIX = "search_"


def belongs_to_us(_item: Any, name: str | None, kind: str, _reflected: bool, _other: Any) -> bool:
    return not (kind == "table" and name is not None and name.startswith(_SEARCH_PREFIX))
