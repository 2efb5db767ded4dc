"""What an agent has of its files: which are open, what part of each it sees, and which make room for others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from remanence.core.frozen import Frozen
from remanence.kit.ids import FileId, FolderId

_CUT = " […]"
"""Ends a line that is longer than the whole view may be."""


class AgentFile(Frozen):
    """A file in a folder of an agent."""

    id: str
    """Of the attachment, not of the file."""
    file_id: FileId
    folder_id: FolderId
    name: str
    """With the folder's: `garden/gate.txt`."""
    is_open: bool = False
    view: str | None = None
    """What the agent sees while it is open."""
    start_line: int | None = None
    end_line: int | None = None
    """Both None where the view is the whole file."""
    last_accessed_at: datetime | None = None


class FileSet(Frozen):
    """An agent opened or closed a file: this is how it stands now."""

    kind: Literal["file_set"] = "file_set"
    file: AgentFile
    tool: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    text: str
    start_line: int | None
    end_line: int | None


def split_lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def render_view(text: str, limit_chars: int, *, first: int = 1, count: int | None = None) -> View:
    """`count` lines from line `first` on (the rest if it is None), as many as `limit_chars` have room for."""
    lines = split_lines(text)
    total = len(lines)
    if not total:
        return View("[The file is empty.]"[:limit_chars], None, None)
    first = min(max(first, 1), total)
    wanted = total if count is None else min(total, first + max(count, 1) - 1)
    room = limit_chars - len(_header(first, wanted, total, is_cut=True))
    shown: list[str] = []
    for number in range(first, wanted + 1):
        line = f"{number}: {lines[number - 1]}"
        if len(line) >= room:
            if not shown and room > len(_CUT):
                shown.append(line[: room - len(_CUT) - 1] + _CUT)
            break
        shown.append(line)
        room -= len(line) + 1
    last = max(first, first + len(shown) - 1)
    is_cut = last < wanted or not shown or shown[-1].endswith(_CUT)
    is_whole = (first, last) == (1, total) and not is_cut
    body = "\n".join([_header(first, last, total, is_cut=is_cut), *shown])[:limit_chars]
    return View(body, None if is_whole else first, None if is_whole else last)


def _header(first: int, last: int, total: int, *, is_cut: bool) -> str:
    if is_cut:
        return f"[Lines {first} to {last} of {total}; more does not fit into one view.]"
    if (first, last) == (1, total):
        return f"[All {total} lines.]" if total > 1 else "[The only line.]"
    return f"[Lines {first} to {last} of {total}.]"


def opened(file: AgentFile, view: View, at: datetime | None) -> AgentFile:
    return file.model_copy(
        update={
            "is_open": True,
            "view": view.text,
            "start_line": view.start_line,
            "end_line": view.end_line,
            "last_accessed_at": at,
        }
    )


def closed(file: AgentFile) -> AgentFile:
    return file.model_copy(update={"is_open": False, "view": None, "start_line": None, "end_line": None})


def make_room(files: Sequence[AgentFile], limit: int, *, keep: Iterable[str] = ()) -> list[AgentFile]:
    """The open files that have to be closed, those not used for longest first; `keep` has ids of files that stay."""
    kept = set(keep)
    standing = [file for file in files if file.is_open]
    candidates = sorted((file for file in standing if file.file_id not in kept), key=_last_use)
    return candidates[: max(0, len(standing) - limit)]


def replaced(files: Sequence[AgentFile], changed: Iterable[AgentFile]) -> tuple[AgentFile, ...]:
    """The files with these in place of what they were."""
    by_id = {file.file_id: file for file in changed}
    return tuple(by_id.get(file.file_id, file) for file in files)


def apply_file_edit(files: tuple[AgentFile, ...], edit: object) -> tuple[AgentFile, ...]:
    """The files after one edit; those of memory leave them as they are."""
    return replaced(files, [edit.file]) if isinstance(edit, FileSet) else files


def one_after_the_other(at: datetime, count: int) -> list[datetime]:
    """Moments for files that are opened together: the first is the last to make room for others."""
    return [at - timedelta(microseconds=place) for place in range(count)]


def _last_use(file: AgentFile) -> tuple[float, str]:
    return (file.last_accessed_at.timestamp() if file.last_accessed_at else 0.0, file.name)
