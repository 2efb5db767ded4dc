"""Changes of a text: the smallest ones, to be kept; and two at once, to be joined where they do not touch.

Lines are the unit of joining: a line is a fact, and two who change one fact disagree.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff

_MAX_LINES = 1500
"""Beyond it a change counts as one: to look for the smallest can take the square of this."""

Splice = tuple[int, int, str]
"""Instead of the characters from here to there, this text."""


class Touching(Exception):
    """Two changes of one text that are about the same lines."""


def splices_between(old: str, new: str) -> list[Splice]:
    """What turns the old text into the new one, in the order of their places."""
    before, after = _whole_lines(old), _whole_lines(new)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    return [
        _trimmed(old, offsets[start], offsets[end], "".join(after[new_start:new_end]))
        for start, end, new_start, new_end in _hunks(before, after)
    ]


def apply_splices(text: str, splices: Sequence[Splice]) -> str:
    """Raises ValueError if they were made for another text."""
    parts: list[str] = []
    done = 0
    for start, end, instead in splices:
        if not done <= start <= end <= len(text):
            raise ValueError("these changes belong to another text")
        parts += (text[done:start], instead)
        done = end
    return "".join((*parts, text[done:]))


def merge_texts(base: str, theirs: str, ours: str) -> str:
    """Both changes of the base. Two texts added at one place are both kept, theirs first. Raises Touching."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines, their_lines, our_lines = _lines(base), _lines(theirs), _lines(ours)
    changes = [(hunk, their_lines) for hunk in _hunks(lines, their_lines)]
    changes += [(hunk, our_lines) for hunk in _hunks(lines, our_lines)]
    changes.sort(key=lambda change: change[0][:2])  # stable, so theirs comes first at one place
    merged: list[str] = []
    done = 0
    last: tuple[int, int, list[str]] | None = None
    for (start, end, new_start, new_end), source in changes:
        added = source[new_start:new_end]
        if last == (start, end, added):
            continue  # both did the same
        if start < done or (last is not None and last[:2] == (start, end) and start < end):
            raise Touching
        merged += lines[done:start] + added
        done = end
        last = (start, end, added)
    return "\n".join(merged + lines[done:])


def render_diff(old: str, new: str) -> str:
    """The change as people read it: lines that went with a minus, lines that came with a plus."""
    found = unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=2)
    return "\n".join(list(found)[2:])


_Hunk = tuple[int, int, int, int]
"""Lines from here to there of the old text became lines from here to there of the new one."""


def _hunks(before: list[str], after: list[str]) -> list[_Hunk]:
    same = _common(before, after)
    end = _common(before[same:][::-1], after[same:][::-1])
    middle, new_middle = before[same : len(before) - end], after[same : len(after) - end]
    if not middle and not new_middle:
        return []
    if len(middle) + len(new_middle) > _MAX_LINES:
        return [(same, same + len(middle), same, same + len(new_middle))]
    matcher = SequenceMatcher(None, middle, new_middle, autojunk=False)
    return [
        (same + start, same + end, same + new_start, same + new_end)
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters, both begin with."""
    count = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        count += 1
    return count


def _trimmed(old: str, start: int, end: int, text: str) -> Splice:
    gone = old[start:end]
    head = _common(gone, text)
    gone, text = gone[head:], text[head:]
    tail = _common(gone[::-1], text[::-1])
    return (start + head, end - tail, text[: len(text) - tail])


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _whole_lines(text: str) -> list[str]:
    """Lines with their ends, so that they add up to the text."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:]
