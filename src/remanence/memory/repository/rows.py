"""Between a block and its rows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, cast, func, insert, literal, select

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.db.tables import BlockRow, BlockTagRow
from remanence.errors import NotFound

_PLAIN_FIELDS = (
    "label",
    "value",
    "limit",
    "description",
    "read_only",
    "hidden",
    "is_template",
    "template_name",
    "template_id",
    "base_template_id",
    "deployment_id",
    "entity_id",
    "project_id",
    "preserve_on_migration",
    "conversation_id",
    "copied_from",
    "revision",
    "created_by_id",
    "last_updated_by_id",
)
"""Fields that are called the same in the core type and in the table."""

_BETWEEN_TAGS = "\x1f"
"""A control character, which no tag contains."""

_TAGS = (
    # All tags as one text, so that a list of blocks is one statement. Each goes with its position,
    # because SQLite cannot order what it aggregates before 3.44.
    select(
        func.aggregate_strings(
            cast(BlockTagRow.position, String) + literal(":") + BlockTagRow.tag, _BETWEEN_TAGS
        )
    )
    .where(BlockTagRow.block_id == BlockRow.id)
    .correlate(BlockRow)
    .scalar_subquery()
    .label("tags")
)

BLOCK: tuple[Any, ...] = (
    BlockRow.id,
    BlockRow.organization_id,
    BlockRow.metadata_,
    BlockRow.created_at,
    *(getattr(BlockRow, name) for name in _PLAIN_FIELDS),
    _TAGS,
)
"""The columns that `to_block` wants, the last of a row."""

_NAMES = ("id", "organization_id", "metadata", "created_at", *_PLAIN_FIELDS, "tags")


def to_block(row: Any) -> Block:
    """A row that ends with the columns of `BLOCK`."""
    # By place: SQLAlchemy takes longer to find a column by its name than the database to read it.
    fields = dict(zip(_NAMES, row[-len(_NAMES) :], strict=True))
    if fields["tags"]:
        numbered = [part.partition(":") for part in fields["tags"].split(_BETWEEN_TAGS)]
        fields["tags"] = tuple(tag for _, _, tag in sorted(numbered, key=lambda part: int(part[0])))
    else:
        fields["tags"] = ()
    return Block(**fields)


def to_values(block: Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "organization_id": block.organization_id,
        "metadata_": block.metadata,
        "created_at": block.created_at,
        **{name: getattr(block, name) for name in _PLAIN_FIELDS},
    }


def insert_tags(connection: Connection, blocks: Sequence[Block]) -> None:
    rows = [
        {"block_id": block.id, "tag": tag, "position": position}
        for block in blocks
        for position, tag in enumerate(dict.fromkeys(block.tags))
    ]
    if rows:
        connection.execute(insert(BlockTagRow), rows)


def live(actor: Actor) -> tuple[ColumnElement[bool], ...]:
    """The blocks that exist for this actor."""
    return (BlockRow.organization_id == actor.organization_id, BlockRow.is_deleted.is_(False))


def unknown(block_id: str) -> NotFound:
    return NotFound(f"There is no block {block_id}.")
