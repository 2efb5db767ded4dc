"""Patches that a model writes: hunks of a unified diff, bare or in a `*** Begin Patch` envelope.

A hunk is found by its unchanged and removed lines, exactly and in one place only. Line numbers in
its header merely settle which of several equal places is meant, since models count badly.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from remanence.core.matching import explain_missing, has_line_prefix, quote

_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete)(?: (?:Block|File|Memory))?: *(.+?) *\Z")
_MOVE = re.compile(r"\*\*\* (?:Move|Rename) to: *(.+?) *\Z", re.IGNORECASE)
_HUNK = re.compile(r"@@(?: *-(\d+)(?:,(\d+))? +\+\d+(?:,\d+)? *@@)? *(.*?) *(?:@@)?\Z")


class PatchError(ValueError):
    """The patch cannot be read or does not fit; the message tells its writer how to mend it."""


@dataclass(frozen=True, slots=True)
class Hunk:
    before: tuple[str, ...]
    """The lines to find: unchanged and removed ones."""
    after: tuple[str, ...]
    """The lines to put in their place: unchanged and added ones."""
    line: int | None = None
    """Where the header says that the hunk begins in the old text, counted from 1."""
    is_between: bool = False
    """The header says that no old line is touched: `after` goes behind `line`."""
    anchor: str = ""
    """A line that stands somewhere above."""
    is_at_end: bool = False


@dataclass(frozen=True, slots=True)
class AddBlock:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class UpdateBlock:
    label: str
    hunks: tuple[Hunk, ...]
    new_label: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteBlock:
    label: str


PatchStep = AddBlock | UpdateBlock | DeleteBlock


def parse_patch(text: str, *, label: str) -> tuple[PatchStep, ...]:
    """The steps of a patch; hunks without an envelope update the block with this label. Raises PatchError."""
    body = text.strip("\r\n")
    fenced = _FENCE.match(body.strip())
    lines = [line.rstrip("\r") for line in (fenced[1] if fenced else body).split("\n")]
    while lines and not lines[0].strip():
        lines.pop(0)
    if has_line_prefix("\n".join(line[1:] if line[:1] in "+- " else line for line in lines)):
        raise PatchError("Leave out the line numbers and arrows: they are shown for orientation only.")
    if not lines:
        raise PatchError("The patch is empty.")
    if lines[0].strip() == "*** Begin Patch" or _SECTION.match(lines[0]):
        return tuple(_parse_envelope(lines))
    return (UpdateBlock(label, _parse_hunks(_without_file_header(lines))),)


def apply_hunks(value: str, hunks: Sequence[Hunk]) -> str:
    """The text with every hunk applied; all of them refer to the text as it was. Raises PatchError."""
    lines = value.split("\n") if value else []
    places = [(_locate(hunk, lines, number), hunk) for number, hunk in enumerate(hunks, 1)]
    places.sort(key=lambda place: place[0])
    patched: list[str] = []
    at = 0
    for start, hunk in places:
        if start < at:
            raise PatchError("Two hunks change the same lines: write them as one.")
        patched += lines[at:start]
        patched += hunk.after
        at = start + len(hunk.before)
    return "\n".join(patched + lines[at:])


def _parse_envelope(lines: Sequence[str]) -> Iterator[PatchStep]:
    heading: re.Match[str] | None = None
    body: list[str] = []
    is_empty = True
    for line in [*lines, "*** End Patch"]:
        if line.strip() == "*** Begin Patch":
            continue
        section = _SECTION.match(line)
        is_end = line.strip() == "*** End Patch"
        if not section and not is_end:
            body.append(line)
            continue
        if heading:
            is_empty = False
            yield _parse_section(heading[1], heading[2], body)
        elif any(each.strip() for each in body):
            raise PatchError(
                'Begin each part with "*** Update Block: label", or Add or Delete instead of Update.'
            )
        heading, body = section, []
        if is_end:
            break
    if is_empty:
        raise PatchError("The patch is empty.")


def _parse_section(verb: str, label: str, body: Sequence[str]) -> PatchStep:
    lines = list(body)
    while lines and not lines[-1].strip():
        lines.pop()
    if verb == "Delete":
        return DeleteBlock(label)
    if verb == "Add":
        if wrong := next((line for line in lines if not line.startswith("+")), None):
            raise PatchError(f"Each line of a new block begins with +. This one does not: {quote(wrong)}.")
        return AddBlock(label, "\n".join(line[1:] for line in lines))
    move = _MOVE.match(lines[0]) if lines else None
    hunks = _parse_hunks(lines[1:] if move else lines, may_be_none=move is not None)
    return UpdateBlock(label, hunks, move[1] if move else None)


@dataclass(slots=True)
class _Draft:
    header: re.Match[str] | None = None
    lines: list[str] = field(default_factory=list[str])
    is_at_end: bool = False

    def finish(self) -> Hunk:
        lines = list(self.lines)
        # Blank lines at the edges mostly separate hunks; as context they would say next to nothing.
        while lines and not lines[0].strip():
            lines.pop(0)
        while lines and not lines[-1].strip():
            lines.pop()
        number, count, anchor = self.header.groups() if self.header else (None, None, "")
        return Hunk(
            before=tuple(_body(line) for line in lines if line[:1] != "+"),
            after=tuple(_body(line) for line in lines if line[:1] != "-"),
            line=int(number) if number else None,
            is_between=count == "0",
            anchor=anchor.strip(),
            is_at_end=self.is_at_end,
        )


def _parse_hunks(lines: Sequence[str], *, may_be_none: bool = False) -> tuple[Hunk, ...]:
    drafts = [_Draft()]
    for line in lines:
        if line.startswith("@@"):
            drafts.append(_Draft(_HUNK.match(line)))
        elif line.strip() == "*** End of File":
            drafts[-1].is_at_end = True
        elif not line.startswith("\\ "):  # "\ No newline at end of file"
            drafts[-1].lines.append(line)
    hunks = tuple(draft.finish() for draft in drafts if any(line.strip() for line in draft.lines))
    if not may_be_none and all(hunk.before == hunk.after for hunk in hunks):
        raise PatchError("The patch changes nothing: begin removed lines with - and added lines with +.")
    return hunks


def _body(line: str) -> str:
    """A line without its mark. One that has none is context whose blank was forgotten."""
    return line[1:] if line[:1] in ("+", "-", " ") else line


def _without_file_header(lines: Sequence[str]) -> Sequence[str]:
    has_header = len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ ")
    return lines[2:] if has_header else lines


def _locate(hunk: Hunk, lines: Sequence[str], number: int) -> int:
    """The index at which the hunk's old lines begin."""
    size = len(hunk.before)
    if not size:
        return _locate_insertion(hunk, lines, number)
    places = [at for at in range(len(lines) - size + 1) if tuple(lines[at : at + size]) == hunk.before]
    if not places:
        raise PatchError(f"Hunk {number} does not fit. {_explain(hunk, lines)}")
    if hunk.is_at_end:
        places = [at for at in places if not any(line.strip() for line in lines[at + size :])] or places
    if len(places) > 1 and hunk.anchor:
        places = _below(hunk.anchor, lines, places)
    if len(places) > 1 and hunk.line is not None and hunk.line - 1 in places:
        return hunk.line - 1
    if len(places) > 1:
        shown = ", ".join(str(at + 1) for at in places)
        raise PatchError(
            f"Hunk {number} fits in {len(places)} places (lines {shown}): add more unchanged lines to it."
        )
    return places[0]


def _locate_insertion(hunk: Hunk, lines: Sequence[str], number: int) -> int:
    """Added lines without any context go where the header says, else to the end."""
    if hunk.anchor:
        anchors = [at for at, line in enumerate(lines) if line.strip() == hunk.anchor]
        if len(anchors) == 1:
            return anchors[0] + 1
        raise PatchError(
            f"Hunk {number}: {quote(hunk.anchor)} is on {len(anchors)} lines. Add unchanged lines instead."
        )
    if hunk.line is None or hunk.is_at_end or not lines:
        return len(lines)
    if hunk.is_between and hunk.line <= len(lines):
        return hunk.line
    raise PatchError(f"Hunk {number} only adds lines: put the unchanged line before or after them into it.")


def _below(anchor: str, lines: Sequence[str], places: Sequence[int]) -> list[int]:
    """The first of these places after the anchor, if the anchor is one line."""
    anchors = [at for at, line in enumerate(lines) if line.strip() == anchor]
    below = [at for at in places if len(anchors) == 1 and at > anchors[0]]
    return below[:1] or list(places)


def _explain(hunk: Hunk, lines: Sequence[str]) -> str:
    missing = next((line for line in hunk.before if line not in lines), None)
    if missing is None:
        return "Its unchanged and removed lines are there, but not one after the other in this order."
    return f"There is no line {quote(missing)}. {explain_missing(missing, chr(10).join(lines))}"
