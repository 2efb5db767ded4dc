"""Memory blocks and the edits that tools make to them.

A memory tool never writes: it returns edits, and the checkpoint saves them with the step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from remanence.core.frozen import Frozen
from remanence.core.open_files import FileSet
from remanence.core.passage import PassageAdded
from remanence.kit.ids import BlockId, ConversationId, OrgId, UserId
from remanence.kit.json import JsonObject

DEFAULT_LIMIT_CHARS = 100_000


class Block(Frozen):
    id: BlockId
    organization_id: OrgId
    label: str
    value: str = ""
    limit: int = DEFAULT_LIMIT_CHARS
    description: str | None = None
    read_only: bool = False
    metadata: JsonObject = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    hidden: bool | None = None
    is_template: bool = False
    template_name: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    project_id: str | None = None
    preserve_on_migration: bool = False
    conversation_id: ConversationId | None = None
    """The one conversation that this is a copy for."""
    copied_from: BlockId | None = None
    """The agent's block that it stands in for there, even when it is deleted."""
    revision: int = 1
    """Counts its writes (`core/revision.py`); 0 for one that is older than this count."""
    created_at: datetime | None = None
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None


class _Edit(Frozen):
    """Every edit knows the call that made it, once it is made."""

    tool: str | None = None
    call_id: str | None = None


class ValueSet(_Edit):
    """The block has a new value."""

    kind: Literal["value_set"] = "value_set"
    block_id: BlockId
    value: str


class BlockAdded(_Edit):
    """A block the agent made for itself and holds from now on."""

    kind: Literal["block_added"] = "block_added"
    block: Block


class BlockDropped(_Edit):
    """The agent lets go of a block; the row stays for whoever else holds it."""

    kind: Literal["block_dropped"] = "block_dropped"
    block_id: BlockId


class LabelSet(_Edit):
    kind: Literal["label_set"] = "label_set"
    block_id: BlockId
    label: str


class DescriptionSet(_Edit):
    kind: Literal["description_set"] = "description_set"
    block_id: BlockId
    description: str


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What somebody else did to a block."""

    label: str
    now: Block | None
    """None: it is gone."""
    before: Block | None
    """None: new to the agent, or nobody knows any more what it was."""


BlockEdit = ValueSet | BlockAdded | BlockDropped | LabelSet | DescriptionSet
MemoryEdit = BlockEdit | PassageAdded | FileSet


def block_edits(edits: Sequence[MemoryEdit]) -> list[BlockEdit]:
    return [edit for edit in edits if not isinstance(edit, PassageAdded | FileSet)]


def apply_edit(blocks: tuple[Block, ...], edit: MemoryEdit) -> tuple[Block, ...]:
    """The agent's blocks after one edit."""
    match edit:
        case PassageAdded() | FileSet():
            return blocks
        case BlockAdded(block=added):
            return (*blocks, added)
        case BlockDropped(block_id=block_id):
            return tuple(block for block in blocks if block.id != block_id)
        case ValueSet(block_id=block_id, value=value):
            changes: JsonObject = {"value": value}
        case LabelSet(block_id=block_id, label=label):
            changes = {"label": label}
        case DescriptionSet(block_id=block_id, description=description):
            changes = {"description": description}
    return tuple(_changed(block, changes) if block.id == block_id else block for block in blocks)


def _changed(block: Block, changes: JsonObject) -> Block:
    """Counted as it will be when it is saved: what changes nothing is no write."""
    if all(getattr(block, name) == value for name, value in changes.items()):
        return block
    return block.model_copy(update=changes | {"revision": block.revision + 1})
