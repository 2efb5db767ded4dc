"""What an agent has yet to be told of its memory, because others changed it.

The system message stays as it was compiled, so that the provider's cache holds. The agent's own edits are in
the returns of its tools; a change by anybody else follows the history as a short note.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from remanence.core.block import Block, BlockAdded, MemoryChange, MemoryEdit, block_edits
from remanence.core.packing import AUTOMATED
from remanence.core.prompt import compiled_labels, shows_block

MAX_NOTE_CHARS = 4_000
"""A longer note costs as much as a system message that is read anew."""
_SHORT_CHARS = 300
"""A value of this length is told whole."""
_INTRO = (
    f"{AUTOMATED} Your memory was changed by somebody else. What your system message and earlier messages say "
    "of the following is out of date."
)

Told = Mapping[str, tuple[int, str]]
"""By the id of a block: its revision and its label, as the model last saw them. Files are among them, too."""


@dataclass(frozen=True, slots=True)
class Untold:
    """A block that is not as the model knows it."""

    label: str
    now: Block | None
    """None: it is gone."""
    revision: int | None = None
    """The one that the model knows; None if that has to be found out."""
    is_new: bool = False
    """The model knows of no such block."""


def told_of(blocks: Sequence[Block]) -> dict[str, tuple[int, str]]:
    return {block.id: (block.revision, block.label) for block in blocks}


def told_before(blocks: Sequence[Block], changes: Sequence[MemoryChange]) -> Told:
    """What the model knows of blocks as long as nobody has told it of these changes."""
    told = told_of(blocks)
    for change in changes:
        if change.now is not None:
            told.pop(change.now.id, None)
        if change.before is not None:
            told |= told_of([change.before])
    return told


def told_after(told: Told, blocks: Sequence[Block], edits: Sequence[MemoryEdit]) -> Told:
    """The same after edits of its own, which left these blocks."""
    own = {edit.block.id if isinstance(edit, BlockAdded) else edit.block_id for edit in block_edits(edits)}
    kept = {id: known for id, known in told.items() if id not in own}
    return kept | told_of([block for block in blocks if block.id in own])


def find_untold(blocks: Sequence[Block], told: Told | None, head: str) -> list[Untold]:
    """`told` is None where nothing has been told since the system message (`head`) was compiled."""
    if told is None:
        held = {block.label for block in blocks}
        gone = [Untold(label, None) for label in compiled_labels(head) if label not in held]
        return [
            *(Untold(block.label, block) for block in blocks if not shows_block(head, block)),
            *gone,
        ]
    ids = {block.id for block in blocks}
    new = [Untold(block.label, block, is_new=True) for block in blocks if block.id not in told]
    known = [(block, told[block.id][0]) for block in blocks if block.id in told]
    changed = [Untold(block.label, block, seen) for block, seen in known if seen != block.revision]
    gone = [label for id, (_, label) in told.items() if id.startswith("block-") and id not in ids]
    return [*changed, *new, *(Untold(label, None) for label in gone)]


def render_note(changes: Sequence[MemoryChange]) -> str:
    return "\n\n".join([_INTRO, *map(_render, changes)])


def _render(change: MemoryChange) -> str:
    now, before = change.now, change.before
    if now is None:
        return f"{change.label}: you have this block no longer."
    if before is None:
        return f"{now.label} now says:\n{now.value}"
    lines = [f"{now.label}, until now {before.label}:"] if now.label != before.label else [f"{now.label}:"]
    if now.description != before.description:
        lines.append(f"- description: {now.description or ''}")
    if now.read_only != before.read_only:
        lines.append(f"- read_only={'true' if now.read_only else 'false'}")
    if now.limit != before.limit:
        lines.append(f"- chars_limit={now.limit}")
    if now.value != before.value:
        lines.append(_value(before.value, now.value))
    return "\n".join(lines)


def _value(before: str, now: str) -> str:
    difference = "\n".join(list(unified_diff(before.split("\n"), now.split("\n"), lineterm="", n=1))[2:])
    if len(now) <= _SHORT_CHARS or len(difference) > len(now) // 2:
        return f"It now says:\n{now}"
    return f"Lines that begin with - are gone, those with + are new:\n{difference}"
