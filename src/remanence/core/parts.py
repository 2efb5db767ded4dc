"""Cuts a long text into parts, each with a vector of its own: one for all would say nothing in particular."""

import re

PART_CHARS = 1_200
MAX_PARTS = 40

_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?。！？])\s*"), re.compile(r"\s+"))
"""Where a text may be cut, the best places first."""


def split_parts(text: str) -> list[str]:
    """Parts of some hundred words, cut where a paragraph, line, sentence or word ends; never none."""
    parts: list[str] = []
    rest = text.strip()
    while len(rest) > PART_CHARS and len(parts) < MAX_PARTS - 1:
        end = _last_break(rest)
        parts.append(rest[:end].strip())
        rest = rest[end:].strip()
    if rest or not parts:
        parts.append(rest[: 2 * PART_CHARS])
    return parts


def _last_break(text: str) -> int:
    """The last good place within the length of a part, in its second half if there is one."""
    for pattern in _BREAKS:
        places = [found.end() for found in pattern.finditer(text, PART_CHARS // 2, PART_CHARS)]
        if places and places[-1] > 0:
            return places[-1]
    return PART_CHARS
