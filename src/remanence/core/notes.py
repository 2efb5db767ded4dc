"""What a model knows of its agent's memory and files, and the note that tells it the rest."""

from collections.abc import Sequence

from remanence.core.agent import AgentState
from remanence.core.block import Block, MemoryEdit
from remanence.core.directories import items_told, items_untold, render_file_note
from remanence.core.memory_notes import Told, render_note, told_after, told_before, told_of
from remanence.core.open_files import FileSet


def note_of(state: AgentState) -> str | None:
    """What others changed since the model was last told; None if it knows all."""
    memory = render_note(state.changes) if state.changes else None
    files = render_file_note(state.file_changes) if state.file_changes else None
    return "\n\n".join(part for part in (memory, files) if part) or None


def knows_all(state: AgentState) -> Told:
    """What the model knows once it has the note."""
    return told_of(state.blocks) | items_told(state.shelf.items())


def knows_before(state: AgentState) -> Told:
    """What it knows without the note."""
    changed = {change.id for change in state.file_changes}
    files = items_told(state.shelf.items())
    kept = {id: known for id, known in files.items() if id not in changed}
    return {**told_before(state.blocks, state.changes), **kept, **items_untold(state.file_changes)}


def knows_after(told: Told, blocks: Sequence[Block], edits: Sequence[MemoryEdit]) -> Told:
    """The same after edits of its own, which left these blocks."""
    files = items_told(edit.file for edit in edits if isinstance(edit, FileSet))
    return {**told_after(told, blocks, edits), **files}
