"""Finds lines by a regular expression, in time that grows with the text alone: patterns are a stranger's.

RE2 never goes back over what it has read, so no pattern can keep it busy (`docs/adr/0010-open-files.md`).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import Any

from remanence.core.open_files import split_lines
from remanence.tools.builtin.outcome import ToolFailure

PAGE = 20
"""Matching lines in one answer."""
_MAX_PATTERN_CHARS = 1_000
_MAX_LINE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines of one file that match, by their numbers from 1."""

    name: str
    lines: Sequence[str]
    numbers: Sequence[int]


class LinePattern:
    """Ignores case unless the pattern has a capital letter of its own."""

    def __init__(self, pattern: str) -> None:
        """Raises ToolFailure for what is no pattern."""
        if not pattern or len(pattern) > _MAX_PATTERN_CHARS:
            raise ToolFailure(f"Give a pattern of 1 to {_MAX_PATTERN_CHARS} characters.")
        re2: Any = import_module("re2")  # a compiled library, and few agents have files
        options = re2.Options()
        options.never_nl = True
        options.log_errors = False
        options.case_sensitive = _has_capital(pattern)
        try:
            self._compiled: Any = re2.compile(f"(?m:{pattern})", options)
        except re2.error as error:
            told: bytes | str = error.args[0]
            reason = told.decode() if isinstance(told, bytes) else told
            raise ToolFailure(
                f"The pattern cannot be used: {reason}. Groups, classes and repetitions work; looking ahead, "
                "looking behind and references to groups do not. To find such a character itself, put \\ before it."
            ) from None

    def find(self, name: str, text: str) -> Matches:
        lines = split_lines(text)
        data = "\n".join(lines).encode()
        starts = [0, *accumulate(len(line.encode()) + 1 for line in lines)]
        return Matches(name, lines, list(self._numbers(data, starts)))

    def _numbers(self, data: bytes, starts: Sequence[int]) -> Iterator[int]:
        at = 0
        while at < len(data):
            found = self._compiled.search(data, at)
            if found is None:
                return
            number = bisect_right(starts, found.start(), hi=len(starts) - 1)
            yield number
            at = starts[number]


def _has_capital(pattern: str) -> bool:
    """`\\S` and its like are no letters."""
    escaped = False
    for letter in pattern:
        if letter.isupper() and not escaped:
            return True
        escaped = letter == "\\" and not escaped
    return False


def render_matches(found: Sequence[Matches], *, context: int, offset: int, notes: Sequence[str] = ()) -> str:
    """One page of matching lines, each with its neighbours; a match has `>` before its number."""
    total = sum(len(each.numbers) for each in found)
    if not total:
        return "\n".join(["No line matches. Try fewer or other words, or semantic_search_files.", *notes])
    if offset >= total:
        raise ToolFailure(f"There are {total} matching lines; give an offset below that.")
    last = min(offset + PAGE, total)
    noun = "line matches" if total == 1 else "lines match"
    shown = f"{total} {noun}, in {sum(bool(each.numbers) for each in found)} of {len(found)} files."
    if (offset, last) != (0, total):
        shown += f" These are {offset + 1} to {last}."
    if last < total:
        shown += f" For more, give offset={last}."
    parts = [" ".join([shown, *notes])]
    skipped = 0
    for each in found:
        page = each.numbers[max(0, offset - skipped) : max(0, last - skipped)]
        skipped += len(each.numbers)
        if page:
            parts.append(f"{each.name}\n{_render_lines(each.lines, page, context)}")
    return "\n\n".join(parts)


def _render_lines(lines: Sequence[str], numbers: Sequence[int], context: int) -> str:
    wanted = sorted(
        {
            near
            for number in numbers
            for near in range(max(1, number - context), min(len(lines), number + context) + 1)
        }
    )
    matching = set(numbers)
    rendered: list[str] = []
    for place, number in enumerate(wanted):
        if place and wanted[place - 1] != number - 1:
            rendered.append("  …")
        line = lines[number - 1]
        line = line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]} […]"
        rendered.append(f"{'>' if number in matching else ' '} {number}: {line}")
    return "\n".join(rendered)
