"""What a write to memory leaves behind: who made it, why, and how to go back.

A revision keeps the way back from the block after it to the block before it. The newest text is in the
block itself, so a write costs what it changed, and the oldest revisions can be dropped at any time.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.frozen import Frozen
from remanence.core.text_merge import Touching, apply_splices, merge_texts, splices_between
from remanence.kit import json
from remanence.kit.ids import MessageId, RunId
from remanence.kit.json import JsonObject

WHOLE_EVERY = 50
"""So often a revision keeps the whole text, so that no way back is longer than this."""

TRACKED = (
    "label",
    "description",
    "limit",
    "read_only",
    "metadata",
    "tags",
    "hidden",
    "is_template",
    "template_name",
    "template_id",
    "base_template_id",
    "deployment_id",
    "entity_id",
    "project_id",
    "preserve_on_migration",
)
"""What may change of a block beside its value."""

AuthorKind = Literal["agent", "sleeptime", "capture", "user", "tool", "import"]
Action = Literal["create", "edit", "drop", "delete", "restore", "undo"]


class Author(Frozen):
    """Who wrote, and in the course of what."""

    kind: AuthorKind
    id: str | None = None
    run_id: RunId | None = None
    message_id: MessageId | None = None
    """The message with the tool call that wrote."""
    tool: str | None = None


class Revision(Frozen):
    subject_id: str
    number: int
    action: Action
    author: Author
    created_at: datetime
    restored: int | None = None
    """The revision that was gone back to, or undone."""
    chars: int
    """The length of the value after it."""
    change: JsonObject
    """The way back: `value` as splices or whole, other fields as they were, `held_by` for who lost it."""

    @property
    def chars_added(self) -> int:
        """By how much the value grew."""
        match self.change.get("value"):
            case str(whole):
                return self.chars - len(whole)
            case list(splices):  # pyright: ignore[reportUnknownVariableType]
                return sum(end - start - len(text) for start, end, text in splices)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            case _:
                return 0

    @property
    def is_of_block(self) -> bool:
        return self.subject_id.startswith("block-")

    @property
    def fields(self) -> list[str]:
        return (
            [name for name in self.change if name == "value" or name in TRACKED] if self.is_of_block else []
        )


def user_author(actor: Actor) -> Author:
    return Author(kind="user", id=actor.user_id)


def way_back(before: Block, after: Block, *, number: int) -> JsonObject:
    """What turns the block after a write into the block before it; empty if nothing changed."""
    change: JsonObject = {}
    if after.value != before.value:
        splices = splices_between(after.value, before.value)
        is_whole = number % WHOLE_EVERY == 0 or len(json.encode(splices)) > len(before.value.encode()) + 2
        change["value"] = before.value if is_whole else splices
    for name in TRACKED:
        old = getattr(before, name)
        if old != getattr(after, name):
            change[name] = list(old) if name == "tags" else old
    return change


def go_back(block: Block, change: Mapping[str, Any]) -> Block:
    """The block before the write that this is the way back from."""
    fields = {name: change[name] for name in TRACKED if name in change}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    value = change.get("value")
    if isinstance(value, str):
        fields["value"] = value
    elif value is not None:
        fields["value"] = apply_splices(block.value, value)
    return block.model_copy(update=fields)


def merge_blocks(base: Block, theirs: Block, ours: Block) -> Block:
    """A block with what two writers changed of it since they both read the base. Raises Touching."""
    fields: dict[str, Any] = {"value": merge_texts(base.value, theirs.value, ours.value)}
    for name in TRACKED:
        old, mine, yours = getattr(base, name), getattr(ours, name), getattr(theirs, name)
        if mine in (old, yours):
            continue
        if yours != old:
            raise Touching
        fields[name] = mine
    return theirs.model_copy(update=fields)
