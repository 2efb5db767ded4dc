"""The tools for files, from their arguments to the text that the model reads."""

import asyncio
import time
from collections.abc import Sequence

from remanence.core.profile import limits_of
from remanence.db.database import Database
from remanence.files import repository
from remanence.files.service import FileService, FoundPassage
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.tools.builtin.conversation import parse_limit
from remanence.tools.builtin.files import GONE, open_wishes, parse_wishes, select_files, why_unread
from remanence.tools.builtin.grep import LinePattern, Matches, render_matches
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.context import ToolContext

_DEFAULT_PASSAGES = 5
_MAX_CONTEXT_LINES = 10
_PATIENCE_S = 10.0
"""For one grep; what was not looked at by then is named."""
_MAX_CHARS = 16_000
"""Of all passages: a search must not push out of view what it was made for."""


class FileTools:
    def __init__(self, db: Database, files: FileService) -> None:
        self._db = db
        self._files = files

    async def run(self, name: str, args: JsonObject, context: ToolContext) -> ToolOutcome:
        """What is opened or closed is saved with the step. Raises ToolFailure."""
        match name:
            case "open_files":
                return await self._open(args, context)
            case "grep_files":
                return ToolOutcome(await self._grep(args, context))
            case "semantic_search_files":
                return ToolOutcome(await self._search(args, context))
            case _:
                raise ToolFailure(f"{name} cannot be run on this server.")

    async def _open(self, args: JsonObject, context: ToolContext) -> ToolOutcome:
        wishes = parse_wishes(args, context.files)
        ids = [wish.file.file_id for wish in wishes]
        contents = await self._db.read(repository.read_contents, context.actor, ids)
        return open_wishes(
            wishes,
            contents,
            context.files,
            limits_of(context.agent),
            closes_others=bool(args.get("close_all_others")),
            at=utc_now(),
        )

    async def _grep(self, args: JsonObject, context: ToolContext) -> str:
        pattern = LinePattern(str(args["pattern"]))
        files = select_files(str(args.get("include") or ""), context.files)
        until = time.monotonic() + _PATIENCE_S
        found: list[Matches] = []
        notes: list[str] = []
        for place, file in enumerate(files):
            if time.monotonic() > until:
                notes.append(f"{len(files) - place} files were not looked at; name fewer with include.")
                break
            contents = await self._db.read(repository.read_contents, context.actor, [file.file_id])
            status, text = contents.get(file.file_id, (GONE, None))
            if text is None:
                notes.append(why_unread(file, status))
            else:
                found.append(await asyncio.to_thread(pattern.find, file.name, text))
        lines = args.get("context_lines")
        context_lines = 1 if lines is None else max(0, min(int(lines), _MAX_CONTEXT_LINES))
        offset = max(0, int(args.get("offset") or 0))
        return render_matches(found, context=context_lines, offset=offset, notes=notes[:_DEFAULT_PASSAGES])

    async def _search(self, args: JsonObject, context: ToolContext) -> str:
        query = str(args.get("query") or "").strip()
        if not query:
            raise ToolFailure("Say in query what you want to know.")
        if not context.files:
            raise ToolFailure("There are no files in your folders.")
        folders = list(dict.fromkeys(file.folder_id for file in context.files))
        limit = parse_limit(args.get("limit"), _DEFAULT_PASSAGES)
        names: dict[str, str] = {file.file_id: file.name for file in context.files}
        hits = await self._files.find_in_files(context.actor, folders, query, limit)
        return render_found(hits, names)


def render_found(hits: Sequence[FoundPassage], names: dict[str, str]) -> str:
    if not hits:
        return "Nothing found. Ask in other words, or look for exact ones with grep_files."
    parts: list[str] = []
    room = _MAX_CHARS
    for hit in hits:
        passage = hit.passage
        text = passage.text if len(passage.text) <= room // min(len(hits), 3) else hit.snippet
        if parts and len(text) > room:
            break
        room -= len(text)
        lines = passage.metadata or {}
        where = f", lines {lines['start_line']} to {lines['end_line']}" if "start_line" in lines else ""
        name = names.get(passage.file_id or "", passage.file_name or "")
        parts.append(f"{name}{where}\n{text}")
    noun = "passage" if len(parts) == 1 else "passages"
    left = len(hits) - len(parts)
    rest = f" {left} more would be too long to show; ask for something narrower." if left else ""
    return "\n\n".join([f"Found {len(parts)} {noun}, the best first.{rest}", *parts])
