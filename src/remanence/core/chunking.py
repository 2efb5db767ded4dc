"""Cuts a text into chunks to be found by: where a section, a function, a paragraph or a sentence ends.

Chunks know their lines. Those that had to be cut in the middle of something overlap a little, so that what
stands across a cut is found too. No input or output, and time that grows with the text alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from remanence.core.parts import last_break

Style = Literal["prose", "headed", "code", "records"]
"""Plain text; text with headings marked by `#`; a program; a record on each line."""

_ANYWHERE, _LINE, _PARAGRAPH, _BLOCK, _SECTION = range(5)
"""How good a place for a cut is."""
_LEAST_SHARE = 3
"""A chunk holds at least a third of what it may, unless a section ends."""
_OVERLAP_SHARE = 8
_HEADING = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_DEFINITION = re.compile(
    r"(?:@\w|(?:export|default|public|private|protected|internal|static|final|abstract|async|pub|unsafe|inline|"
    r"virtual|override|def|class|fn|func|function|fun|sub|proc|impl|struct|enum|union|trait|interface|record|object|"
    r"protocol|extension|module|namespace|package|type|typedef|template|macro_rules!|create|alter|begin)\b)",
    re.IGNORECASE,
)
_LONGEST_HEADING = 300


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    start_line: int
    """From 1."""
    end_line: int
    heading: str | None = None
    """The titles of the sections that its beginning is in, or the first line of the definition."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A line, or a piece of a long one."""

    line: int
    text: str
    cut: int
    """How well a cut before it would do."""
    heading: str | None


def split_chunks(
    text: str, style: Style, *, size_chars: int, sections: Mapping[int, str] | None = None
) -> list[Chunk]:
    """`sections`: lines where something new begins, such as a page, by what it is called."""
    units = list(_units(text, style, size_chars - size_chars // _OVERLAP_SHARE, sections or {}))
    chunks: list[Chunk] = []
    begin = 0
    while begin < len(units):
        end = _find_end(units, begin, size_chars)
        chunk = _join(units[begin:end])
        if chunk is not None:
            chunks.append(chunk)
        begin = _next_begin(units, begin, end, size_chars // _OVERLAP_SHARE)
    return chunks


def _find_end(units: Sequence[_Unit], begin: int, size: int) -> int:
    """The first unit that is not in the chunk any more."""
    best, best_cut, held = begin + 1, -1, 0
    for place in range(begin, len(units)):
        unit = units[place]
        if place > begin:
            if unit.cut == _SECTION and held * _LEAST_SHARE >= size:
                return place
            if held + len(unit.text) > size:
                return place if unit.cut >= best_cut else best
            if held * _LEAST_SHARE >= size and unit.cut >= best_cut:
                best, best_cut = place, unit.cut
        held += len(unit.text)
    return len(units)


def _next_begin(units: Sequence[_Unit], begin: int, end: int, overlap: int) -> int:
    if end >= len(units) or units[end].cut >= _PARAGRAPH:
        return end
    place, held = end, 0
    while place - 1 > begin and held + len(units[place - 1].text) <= overlap:
        place -= 1
        held += len(units[place].text)
    return place


def _join(units: Sequence[_Unit]) -> Chunk | None:
    """Without the blank lines around it; None if nothing is left."""
    said = [place for place, unit in enumerate(units) if unit.text.strip()]
    if not said:
        return None
    kept = units[said[0] : said[-1] + 1]
    text = "".join(unit.text for unit in kept).rstrip()
    return Chunk(text, kept[0].line, kept[-1].line, kept[0].heading)


def _units(text: str, style: Style, longest: int, sections: Mapping[int, str]) -> Iterator[_Unit]:
    section: str | None = None
    for number, (line, cut, heading) in enumerate(_marked(text, style), start=1):
        if number in sections:
            section, cut = sections[number], _BLOCK
        pieces = [line] if len(line) <= longest else _pieces(line, longest)
        for place, piece in enumerate(pieces):
            yield _Unit(number, piece, cut if place == 0 else _ANYWHERE, heading or section)


def _pieces(line: str, longest: int) -> Iterator[str]:
    start = 0
    while len(line) - start > longest:
        end = last_break(line, start, longest)
        yield line[start:end]
        start = end
    yield line[start:]


def _marked(text: str, style: Style) -> Iterable[tuple[str, int, str | None]]:
    """Each line with how well a cut before it would do, and what it stands under."""
    lines = text.splitlines(keepends=True)
    match style:
        case "headed":
            return _mark_headed(lines)
        case "code":
            return _mark_code(lines)
        case "records":
            return ((line, _PARAGRAPH, None) for line in lines)
        case "prose":
            return _mark_prose(lines)


def _mark_prose(lines: Sequence[str]) -> Iterator[tuple[str, int, str | None]]:
    after_blank = True
    for line in lines:
        yield line, _PARAGRAPH if after_blank else _LINE, None
        after_blank = not line.strip()


def _mark_headed(lines: Sequence[str]) -> Iterator[tuple[str, int, str | None]]:
    titles: list[tuple[int, str]] = []
    after_blank, fence = True, ""
    for line in lines:
        heading = _HEADING.match(line) if not fence and len(line) <= _LONGEST_HEADING else None
        if heading:
            level = len(heading[1])
            titles = [each for each in titles if each[0] < level]
            titles.append((level, heading[2]))
        path = " > ".join(title for _, title in titles) or None
        yield line, _SECTION if heading else _PARAGRAPH if after_blank and not fence else _LINE, path
        mark = _FENCE.match(line)
        if mark and (not fence or fence == mark[1]):
            fence = "" if fence else mark[1]
        after_blank = not line.strip()


def _mark_code(lines: Sequence[str]) -> Iterator[tuple[str, int, str | None]]:
    definition: str | None = None
    after_blank, belongs = True, False
    for line in lines:
        bare = line.strip()
        is_outermost = line[:1] == bare[:1] != ""
        is_definition = _DEFINITION.match(bare) is not None
        if is_outermost and is_definition and not bare.startswith("@"):
            definition = bare[:200]
        elif is_outermost and after_blank and bare[0].isalpha():
            definition = None
        if is_outermost and (after_blank or (is_definition and not belongs)):
            cut = _BLOCK
        elif after_blank or (is_definition and not belongs):
            cut = _PARAGRAPH
        else:
            cut = _LINE
        yield line, cut, definition
        # Comments and decorators stand with what they are about.
        belongs = bare.startswith(("@", "#", "//", "/*", "*", "--", '"""'))
        after_blank = not bare
