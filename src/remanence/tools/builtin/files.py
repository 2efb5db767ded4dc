"""The tools for files, their pure half: what the model asks for, and how it is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, cast

from remanence.core.directories import render_item
from remanence.core.file import IN_WORK
from remanence.core.open_files import (
    AgentFile,
    FileSet,
    closed,
    make_room,
    one_after_the_other,
    opened,
    render_view,
    replaced,
)
from remanence.core.profile import FileLimits
from remanence.kit.json import JsonObject
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome

_RETURN_CHARS = 50_000
"""Of all files that one call opens, unless a single one may show more."""
_NEAR = 5
GONE = "gone"
"""The status of a file that somebody deleted a moment ago."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A file that is to be opened, and the part of it that is to be seen."""

    file: AgentFile
    first: int = 1
    count: int | None = None


def parse_wishes(args: JsonObject, files: Sequence[AgentFile]) -> list[Wish]:
    """Raises ToolFailure; one bad name spoils all, so that the model knows what is open."""
    given: list[Any] = args.get("file_requests") or []
    if not given:
        raise ToolFailure("Say in file_requests which files to open.")
    wishes: dict[str, Wish] = {}
    for each in given:
        asked = cast("JsonObject", each if isinstance(each, dict) else {"file_name": each})
        file = find_named(str(asked.get("file_name") or ""), files)
        skipped, count = asked.get("offset"), asked.get("length")
        wishes[file.file_id] = Wish(
            file,
            max(0, int(skipped)) + 1 if isinstance(skipped, int | float) else 1,
            max(1, int(count)) if isinstance(count, int | float) else None,
        )
    return list(wishes.values())


def find_named(name: str, files: Sequence[AgentFile]) -> AgentFile:
    """By its full name, or by its last part where only one file has that. Raises ToolFailure."""
    if not files:
        raise ToolFailure("There are no files in your folders.")
    wanted = name.strip().strip("/").casefold()
    exact = [file for file in files if file.name == name] or [
        file for file in files if file.name.casefold() == wanted
    ]
    ends = exact or [file for file in files if file.name.casefold().rpartition("/")[2] == wanted]
    if len(ends) == 1:
        return ends[0]
    names = {file.name.casefold(): file.name for file in files}
    short = {file.name.casefold().rpartition("/")[2]: file.name for file in files}
    near = [names[each] for each in get_close_matches(wanted, names, _NEAR, 0.5)]
    last = wanted.rpartition("/")[2]
    near += [short[each] for each in get_close_matches(last, short, _NEAR, 0.5)]
    near = [file.name for file in ends] or list(dict.fromkeys(near))[:_NEAR]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Your files begin with {files[0].name}."
    raise ToolFailure(f"There is no file {name!r}. {hint}")


def select_files(include: str, files: Sequence[AgentFile]) -> list[AgentFile]:
    """Those whose name, or its last part, fits a pattern such as `*.md`. Raises ToolFailure if none does."""
    if not files:
        raise ToolFailure("There are no files in your folders.")
    wanted = (include or "*").casefold()
    found = [
        file
        for file in files
        if fnmatchcase(file.name.casefold(), wanted)
        or fnmatchcase(file.name.casefold().rpartition("/")[2], wanted)
    ]
    if not found:
        raise ToolFailure(f"No file of yours has a name like {include!r}; give a pattern such as *.md.")
    return found


def why_unread(file: AgentFile, status: str) -> str:
    if status in IN_WORK:
        return f"{file.name} is still being read by the server; try again in a moment."
    return f"{file.name} was deleted." if status == GONE else f"The text of {file.name} could not be read."


def open_wishes(
    wishes: Sequence[Wish],
    contents: Mapping[str, tuple[str, str | None]],
    files: tuple[AgentFile, ...],
    limits: FileLimits,
    *,
    closes_others: bool,
    at: datetime,
) -> ToolOutcome:
    """Raises ToolFailure, and then nothing is opened or closed."""
    if len(wishes) > limits.max_files_open:
        raise ToolFailure(
            f"You may have {limits.max_files_open} files open at once; ask for no more than that."
        )
    each_chars = min(
        limits.per_file_view_window_char_limit,
        max(limits.per_file_view_window_char_limit, _RETURN_CHARS) // len(wishes),
    )
    now_open: list[AgentFile] = []
    for wish, moment in zip(wishes, one_after_the_other(at, len(wishes)), strict=True):
        status, text = contents.get(wish.file.file_id, (GONE, None))
        if text is None:
            raise ToolFailure(f"Nothing was opened. {why_unread(wish.file, status)}")
        view = render_view(text, each_chars, first=wish.first, count=wish.count)
        now_open.append(opened(wish.file, view, moment))
    asked = {file.file_id for file in now_open}
    standing = replaced(files, now_open)
    others = [file for file in standing if file.is_open and file.file_id not in asked]
    leaving = others if closes_others else make_room(standing, limits.max_files_open, keep=asked)
    parts = [render_item(file) for file in now_open]
    if leaving:
        why = "" if closes_others else ", to make room"
        parts.append(f"Closed{why}: {', '.join(file.name for file in leaving)}.")
    edits = [FileSet(file=file) for file in (*now_open, *map(closed, leaving))]
    return ToolOutcome("\n".join(parts), tuple(edits))
