"""An agent's folders and files as its model sees them: a section of the system message, and notes on what changed.

The section is compiled with the system message and then stays as it is, like memory (`core/memory_notes.py`).
What the agent opens is in the return of its tool; what others open, close, bring or take away is a note.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape

from remanence.core.file import Folder
from remanence.core.open_files import AgentFile
from remanence.core.packing import AUTOMATED

SECTION = "directories"
_PREFIXES = ("file-", "source-")
"""Of the ids among all that a model was told of."""
_MAX_LISTED = 100
"""Closed files of one folder that are named; tools find the others."""
_INTRO = (
    "Folders you may read. A file that is open shows its text, with the number of each line before it; "
    "open_files opens others."
)
_NOTE = (
    f"{AUTOMATED} Your folders or files were changed by somebody else. What your system message and earlier "
    "messages say of the following is out of date."
)
_ENTRY = re.compile(r'^<(?:file status="\w+"|directory) name="([^"\n]*)"', re.MULTILINE)

Item = Folder | AgentFile


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folders of an agent and the files in them."""

    folders: tuple[Folder, ...] = ()
    files: tuple[AgentFile, ...] = ()

    def items(self) -> list[Item]:
        """What the model is told of, in the order in which it is told."""
        found: list[Item] = []
        for folder in self.folders:
            found += [folder, *self.listed(folder)]
        return found

    def listed(self, folder: Folder) -> list[AgentFile]:
        inside = sorted(self._inside(folder), key=lambda file: file.name)
        named = {file.file_id for file in [each for each in inside if not each.is_open][:_MAX_LISTED]}
        return [file for file in inside if file.is_open or file.file_id in named]

    def count_unlisted(self, folder: Folder) -> int:
        return len(self._inside(folder)) - len(self.listed(folder))

    def _inside(self, folder: Folder) -> list[AgentFile]:
        return [file for file in self.files if file.folder_id == folder.id]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What somebody else did to a folder or a file."""

    id: str
    name: str
    now: Item | None
    """None: it is gone."""
    was_known: bool = True


def render_directories(shelf: Shelf, max_open: int) -> str | None:
    if not shelf.folders:
        return None
    standing = sum(file.is_open for file in shelf.files)
    limits = f"<file_limits>\n- current_files_open={standing}\n- max_files_open={max_open}\n</file_limits>"
    folders = [_render_folder(shelf, folder) for folder in shelf.folders]
    return f"<{SECTION}>\n" + "\n".join([_INTRO, limits, *folders]) + f"\n</{SECTION}>"


def shows_shelf(section: str, shelf: Shelf) -> bool:
    """Whether the section of a compiled system message has folders and files as they are now, and no more."""
    items = shelf.items()
    has_all = all(render_item(item) in section for item in items)
    return has_all and len(_ENTRY.findall(section)) == len(items)


def compiled_names(section: str) -> list[str]:
    """The folders and files that it names."""
    return [unescape(name) for name in _ENTRY.findall(section)]


def items_told(items: Iterable[Item]) -> dict[str, tuple[int, str]]:
    """What the model knows once it has been told of these: by id, a print of its form and its name."""
    return {_id(item): (_print(item), item.name) for item in items}


def items_untold(changes: Iterable[FileChange]) -> dict[str, tuple[int, str]]:
    """The same of what it knows in a form that is out of date."""
    return {change.id: (-1, change.name) for change in changes if change.was_known}


def find_file_changes(
    shelf: Shelf, told: Mapping[str, tuple[int, str]] | None, section: str
) -> tuple[FileChange, ...]:
    """`told` is None where nothing has been told since the system message with this section was compiled."""
    items = shelf.items()
    if told is None:
        named = compiled_names(section)
        changed = [
            FileChange(_id(item), item.name, item, item.name in named)
            for item in items
            if render_item(item) not in section
        ]
        held = {item.name for item in items} | {file.name for file in shelf.files}
        return (*changed, *(FileChange(f"file-{name}", name, None) for name in named if name not in held))
    changed = [
        FileChange(_id(item), item.name, item, _id(item) in told)
        for item in items
        if told.get(_id(item), (None, ""))[0] != _print(item)
    ]
    held = {_id(item) for item in items} | {file.file_id for file in shelf.files}
    gone = {id: name for id, (_, name) in told.items() if id.startswith(_PREFIXES) and id not in held}
    return (*changed, *(FileChange(id, name, None) for id, name in gone.items()))


def render_file_note(changes: Sequence[FileChange]) -> str:
    return "\n\n".join([_NOTE, *map(_render_change, changes)])


def _render_change(change: FileChange) -> str:
    match change.now:
        case None:
            return f"{change.name}: you have it no longer."
        case AgentFile(is_open=False) as file:
            return f"{file.name}: {'closed now' if change.was_known else 'new, and closed'}."
        case item:
            return render_item(item) + ("" if isinstance(item, AgentFile) else "\n</directory>")


def _render_folder(shelf: Shelf, folder: Folder) -> str:
    parts = [render_item(folder), *map(render_item, shelf.listed(folder))]
    unlisted = shelf.count_unlisted(folder)
    if unlisted:
        parts.append(f"[{unlisted} more closed files; grep_files and semantic_search_files find them.]")
    return "\n".join([*parts, "</directory>"])


def render_item(item: Item) -> str:
    name = escape(item.name)
    if isinstance(item, Folder):
        said = {"description": item.description, "instructions": item.instructions}
        # Both are always there, so that one form is never the beginning of another.
        parts = [f"<{tag}>\n{text or ''}\n</{tag}>" for tag, text in said.items()]
        return "\n".join([f'<directory name="{name}">', *parts])
    if not item.is_open:
        return f'<file status="closed" name="{name}"/>'
    return f'<file status="open" name="{name}">\n{item.view or ""}\n</file>'


def _id(item: Item) -> str:
    return item.id if isinstance(item, Folder) else item.file_id


def _print(item: Item) -> int:
    return zlib.crc32(render_item(item).encode())
