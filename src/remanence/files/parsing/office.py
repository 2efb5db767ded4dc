"""Documents of Office programs: zip archives of XML. What is in them is written out as Markdown."""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remanence.files.parsing.faults import Budget, Unreadable
from remanence.files.parsing.markup import Attributes, read_xml

MAX_PARTS = 20_000
MAX_PART_BYTES = 200 << 20
"""Of one part, unpacked. All of them together are bounded by the memory and the time of the process."""
_NUMBER = re.compile(r"(\d+)\.xml$")
_STYLE = re.compile(r"(?i)heading\s*([1-6])$")


class Package:
    """A zip archive whose parts are read one by one, up to a size."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise Unreadable("It is no document of an Office program, or a damaged one.") from None
        self.names = self._zip.namelist()
        if len(self.names) > MAX_PARTS:
            raise Unreadable(f"It has more than {MAX_PARTS:,} parts, which is the most that is read.")

    def read(self, name: str) -> bytes:
        """Raises Unreadable."""
        if name not in self.names:
            raise Unreadable(f"It is no such document: there is no {name} in it.")
        try:
            with self._zip.open(name) as part:
                data = part.read(MAX_PART_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
            raise Unreadable(f"It is damaged: {name} cannot be unpacked.") from None
        except RuntimeError:
            raise Unreadable("It is locked with a password; upload it without one.") from None
        if len(data) > MAX_PART_BYTES:
            raise Unreadable(
                f"It unpacks to more than {MAX_PART_BYTES >> 20} MB, which is the most that is read."
            )
        return data

    def numbered(self, start: str) -> list[str]:
        """Parts such as `ppt/slides/slide12.xml`, by their numbers."""
        found = [
            (int(number[1]), name)
            for name in self.names
            if name.startswith(start) and (number := _NUMBER.search(name)) and "/" not in name[len(start) :]
        ]
        return [name for _, name in sorted(found)]


class _Writer:
    """Gathers paragraphs, and tables row by row."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.lines: list[str] = []
        self._words: list[str] = []
        self._cells: list[str] | None = None
        self.start = ""

    def add(self, text: str) -> None:
        self._budget.spend(len(text))
        self._words.append(text)

    def end_paragraph(self) -> None:
        text = "".join(self._words).strip()
        self._words.clear()
        if self._cells is not None:
            if text and self._cells:
                self._cells[-1] = f"{self._cells[-1]} {text}".strip()
        elif text:
            self.lines += [f"{self.start}{text}", ""]
        self.start = ""

    def begin_row(self) -> None:
        self._cells = []

    def begin_cell(self) -> None:
        if self._cells is not None:
            self._cells.append("")

    def end_row(self) -> None:
        cells, self._cells = self._cells or [], None
        if any(cells):
            self.lines.append(f"| {' | '.join(cells)} |")

    def end_table(self) -> None:
        self.lines.append("")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What the elements of a kind of document are called."""

    said: tuple[str, ...]
    """Those whose text counts."""
    paragraphs: tuple[str, ...]
    row: str
    cell: str
    table: str
    gaps: Mapping[str, str]
    mark: Callable[[str, Attributes], str | None] = lambda _name, _attributes: None
    """What a heading begins with, told by an element in it or by its own."""


def _write(data: bytes, dialect: _Dialect, budget: Budget) -> list[str]:
    writer = _Writer(budget)
    depth_of_text = 0
    at_start: dict[str, Callable[[], None]] = {dialect.row: writer.begin_row, dialect.cell: writer.begin_cell}
    at_end: dict[str, Callable[[], None]] = {dialect.row: writer.end_row, dialect.table: writer.end_table}
    at_end |= dict.fromkeys(dialect.paragraphs, writer.end_paragraph)

    def start(name: str, attributes: Attributes) -> None:
        nonlocal depth_of_text
        depth_of_text += name in dialect.said
        if name in dialect.gaps:
            writer.add(dialect.gaps[name])
        elif name in at_start:
            at_start[name]()
        writer.start = dialect.mark(name, attributes) or writer.start

    def end(name: str) -> None:
        nonlocal depth_of_text
        depth_of_text -= name in dialect.said
        if name in at_end:
            at_end[name]()

    read_xml(data, start, end, lambda words: writer.add(words) if depth_of_text else None)
    return writer.lines


def _mark_docx(name: str, attributes: Attributes) -> str | None:
    if name != "pStyle":
        return None
    style = attributes.get("val", "")
    found = _STYLE.match(style)
    return f"{'#' * int(found[1])} " if found else "# " if style.lower() == "title" else None


def _mark_odt(name: str, attributes: Attributes) -> str | None:
    return f"{'#' * int(attributes['outline-level'])} " if name == "h" and _is_level(attributes) else None


def _is_level(attributes: Attributes) -> bool:
    return attributes.get("outline-level", "") in ("1", "2", "3", "4", "5", "6")


_DOCX = _Dialect(("t",), ("p",), "tr", "tc", "tbl", {"tab": "\t", "br": "\n", "cr": "\n"}, _mark_docx)
_PPTX = _Dialect(("t",), ("p",), "tr", "tc", "tbl", {"br": "\n"})
_ODT = _Dialect(
    ("p", "h"),
    ("p", "h"),
    "table-row",
    "table-cell",
    "table",
    {"tab": "\t", "line-break": "\n", "s": " "},
    _mark_odt,
)


def read_docx(data: bytes, budget: Budget) -> str:
    package = Package(data)
    lines = _write(package.read("word/document.xml"), _DOCX, budget)
    for name in ("word/footnotes.xml", "word/endnotes.xml"):
        if name in package.names:
            lines += _write(package.read(name), _DOCX, budget)
    return "\n".join(lines)


def read_pptx(data: bytes, budget: Budget) -> str:
    package = Package(data)
    slides = package.numbered("ppt/slides/slide")
    if not slides:
        raise Unreadable("It is no such document: there are no slides in it.")
    notes = {
        name.rpartition("notesSlide")[2]: name for name in package.numbered("ppt/notesSlides/notesSlide")
    }
    lines: list[str] = []
    for place, name in enumerate(slides, start=1):
        lines += [f"# Slide {place}", "", *_write(package.read(name), _PPTX, budget)]
        note = notes.get(name.rpartition("slide")[2])
        if note is not None and (said := _write(package.read(note), _PPTX, budget)):
            lines += ["Notes:", "", *said]
    return "\n".join(lines)


def read_odt(data: bytes, budget: Budget) -> str:
    return "\n".join(_write(Package(data).read("content.xml"), _ODT, budget))
