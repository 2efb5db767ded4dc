"""Find a passage in a text exactly, and say something useful when it is not there."""

import re
from difflib import SequenceMatcher

_LINE_PREFIX = re.compile(r"^[ \t]*\d+→", re.MULTILINE)
_MIN_LIKENESS = 0.5
_MAX_COMPARED = 2_000
"""Lines looked at for a likeness; a text with more is compared as far as this."""


def has_line_prefix(text: str) -> bool:
    """Whether a line begins with a number and an arrow, which only the view of a block has."""
    return _LINE_PREFIX.search(text) is not None


def find_lines(value: str, passage: str) -> list[int]:
    """The numbers of the lines on which the passage begins, once for each place."""
    found: list[int] = []
    at = value.find(passage)
    while passage and at >= 0:
        found.append(value.count("\n", 0, at) + 1)
        at = value.find(passage, at + len(passage))
    return found


def nearest_line(wanted: str, value: str) -> tuple[int, str] | None:
    """The number and text of the line most like the wanted one, if any is like it at all."""
    best, best_likeness = None, _MIN_LIKENESS
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(_bare(wanted))
    for number, line in enumerate(value.split("\n")[:_MAX_COMPARED], 1):
        matcher.set_seq1(_bare(line))
        if matcher.real_quick_ratio() > best_likeness and matcher.quick_ratio() > best_likeness:
            likeness = matcher.ratio()
            if likeness > best_likeness:
                best, best_likeness = (number, line), likeness
    return best


def explain_missing(passage: str, value: str) -> str:
    """Why an exact search may have failed, as a sentence or two for whoever wrote the passage."""
    if not value.strip():
        return "There is no text to look in."
    if "\\n" in passage and passage.replace("\\n", "\n") in value:
        return "It would be there with real line breaks in place of \\n."
    first = next((line for line in passage.split("\n") if line.strip()), "")
    near = nearest_line(first, value)
    if near is None:
        return "Nothing there is like it."
    number, line = near
    if _bare(line) == _bare(first) and line != first:
        return f"Line {number} differs from it in blanks or in capital letters alone: {quote(line)}."
    return f"The nearest line is {number}: {quote(line)}."


def quote(text: str) -> str:
    shown = text if len(text) <= 200 else text[:199] + "…"
    return f'"{shown}"'


def _bare(text: str) -> str:
    return " ".join(text.split()).casefold()
