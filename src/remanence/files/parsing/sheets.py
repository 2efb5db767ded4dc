"""Workbooks: each sheet as a heading and its rows, with dates as dates."""

import re
from datetime import datetime, timedelta

from remanence.files.parsing.faults import Budget, Unreadable
from remanence.files.parsing.markup import Attributes, read_xml
from remanence.files.parsing.office import Package

_MOST_EMPTY = 64
"""Cells in a row that are passed over before one that says something."""
_CELL = re.compile(r"([A-Z]{1,3})\d")
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 - a workbook knows no zone


def read_xlsx(data: bytes, budget: Budget) -> str:
    package = Package(data)
    shared = _read_shared(package, budget)
    date_styles = _read_date_styles(package)
    names = _read_names(package)
    sheets = package.numbered("xl/worksheets/sheet")
    if not sheets:
        raise Unreadable("It is no such document: there are no sheets in it.")
    lines: list[str] = []
    for place, part in enumerate(sheets):
        lines += [f"# {names[place] if place < len(names) else f'Sheet {place + 1}'}", ""]
        lines += _Sheet(shared, date_styles, budget).read(package.read(part))
        lines.append("")
    return "\n".join(lines)


class _Sheet:
    def __init__(self, shared: list[str], date_styles: set[int], budget: Budget) -> None:
        self._shared = shared
        self._date_styles = date_styles
        self._budget = budget
        self._lines: list[str] = []
        self._cells: list[str] = []
        self._column = 0
        self._type = self._style = ""
        self._words: list[str] | None = None

    def read(self, data: bytes) -> list[str]:
        read_xml(data, self._start, self._end, self._text)
        return self._lines

    def _start(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            self._cells = []
        elif name == "c":
            self._type, self._style = attributes.get("t", "n"), attributes.get("s", "")
            found = _CELL.match(attributes.get("r", ""))
            self._column = _number_of(found[1]) if found else len(self._cells)
        elif name in ("v", "t"):
            self._words = []

    def _text(self, words: str) -> None:
        if self._words is not None:
            self._words.append(words)

    def _end(self, name: str) -> None:
        if name in ("v", "t") and self._words is not None:
            value = self._shown("".join(self._words))
            self._words = None
            missing = min(self._column - len(self._cells), _MOST_EMPTY)
            self._cells += [""] * missing
            self._budget.spend(len(value) + 3 * max(missing, 1))
            self._cells.append(value)
        elif name == "row" and any(self._cells):
            self._lines.append(f"| {' | '.join(self._cells)} |")

    def _shown(self, value: str) -> str:
        if self._type == "s":
            return self._shared[int(value)] if value.isdecimal() and int(value) < len(self._shared) else ""
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        if self._type == "n" and self._style.isdecimal() and int(self._style) in self._date_styles:
            return _as_date(value)
        return " ".join(value.split())


def _as_date(value: str) -> str:
    try:
        moment = _EPOCH + timedelta(days=float(value))
    except (ValueError, OverflowError):
        return value
    return moment.date().isoformat() if float(value).is_integer() else moment.isoformat(" ", "seconds")


def _number_of(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _read_shared(package: Package, budget: Budget) -> list[str]:
    """The texts that cells name by number."""
    if "xl/sharedStrings.xml" not in package.names:
        return []
    found: list[str] = []
    words: list[str] = []
    in_text = False

    def start(name: str, _: Attributes) -> None:
        nonlocal in_text
        in_text = in_text or name == "t"

    def end(name: str) -> None:
        nonlocal in_text
        in_text = in_text and name != "t"
        if name == "si":
            found.append(" ".join("".join(words).split()))
            words.clear()

    def text(piece: str) -> None:
        if in_text:
            budget.spend(len(piece))
            words.append(piece)

    read_xml(package.read("xl/sharedStrings.xml"), start, end, text)
    return found


def _read_date_styles(package: Package) -> set[int]:
    """The numbers of those styles that show a number as a date."""
    if "xl/styles.xml" not in package.names:
        return set()
    formats: set[int] = set(_DATE_FORMATS)
    styles: list[int] = []
    in_cell_styles = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal in_cell_styles
        number = attributes.get("numFmtId", "")
        if name == "numFmt" and number.isdecimal():
            if _DATE_LETTERS.search(_QUOTED.sub("", attributes.get("formatCode", ""))):
                formats.add(int(number))
        elif name == "cellXfs":
            in_cell_styles = True
        elif name == "xf" and in_cell_styles:
            styles.append(int(number) if number.isdecimal() else 0)

    def end(name: str) -> None:
        nonlocal in_cell_styles
        in_cell_styles = in_cell_styles and name != "cellXfs"

    read_xml(package.read("xl/styles.xml"), start, end, lambda _: None)
    return {place for place, number in enumerate(styles) if number in formats}


def _read_names(package: Package) -> list[str]:
    names: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if name == "sheet":
            names.append(attributes.get("name", ""))

    read_xml(package.read("xl/workbook.xml"), start, lambda _: None, lambda _: None)
    return names
