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
        end = last_break(rest)
        parts.append(rest[:end].strip())
        rest = rest[end:].strip()
    if rest or not parts:
        parts.append(rest[: 2 * PART_CHARS])
    return parts


def last_break(text: str, start: int = 0, length: int = PART_CHARS) -> int:
    """The last good place within this length, in its second half if there is one."""
    for pattern in _BREAKS:
        places = [found.end() for found in pattern.finditer(text, start + length // 2, start + length)]
        if places and places[-1] > start:
            return places[-1]
    return start + length
