"""The one place where blocks are written: each write leaves a revision, from which it can be taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from textwrap import shorten
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.revision import TRACKED, Action, Author, Revision, go_back, way_back
from remanence.db.revisions import note_writes, read_revision
from remanence.db.tables import BlockRow, BlockTagRow, MessageRow, RevisionRow, RunRow
from remanence.errors import AlreadyExists, Gone, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId
from remanence.kit.json import JsonObject
from remanence.memory.repository.rows import BLOCK, insert_tags, to_block, unknown
from remanence.memory.schemas import RevisionFilter

_REASON_CHARS = 160
_UPDATE = update(BlockRow.__table__).where(BlockRow.id == bindparam("this"))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, slots=True)
class Cause:
    """What a write came from."""

    step_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Past:
    """A block as it was, and who has lost it since."""

    block: Block
    is_deleted: bool
    lost_by: tuple[AgentId, ...]


def write_block(
    connection: Connection,
    before: Block,
    after: Block,
    author: Author,
    *,
    action: Action = "edit",
    restored: int | None = None,
    marks: Mapping[str, Any] | None = None,
    is_deleted: bool | None = None,
) -> Block:
    """Stores a block that the caller has locked, with the way back; a new label reaches its holders.

    `marks` go into the way back beside what changed. Without a change nothing is written. Raises
    AlreadyExists if a holder has another block of the new label.
    """
    number = before.revision + 1
    change: JsonObject = way_back(before, after, number=number) | dict(marks or {})
    if not change:
        return before
    user_id = author.id if author.kind == "user" else None
    after = after.model_copy(
        update={"revision": number, "last_updated_by_id": user_id or after.last_updated_by_id}
    )
    values: dict[str, Any] = {
        ("metadata_" if name == "metadata" else name): getattr(after, name)
        for name in ("value", *TRACKED)
        if name in change and name != "tags"
    }
    values |= {"revision": number, "last_updated_by_id": after.last_updated_by_id}
    if is_deleted is not None:
        values["is_deleted"] = is_deleted
    try:
        connection.execute(_UPDATE, values | {"this": before.id})
    except IntegrityError:
        raise AlreadyExists(
            f"An agent that holds {before.id} holds another block labelled {after.label!r} too. "
            "Choose another label, or detach one of the two first."
        ) from None
    if "tags" in change:
        connection.execute(delete(BlockTagRow).where(BlockTagRow.block_id == before.id))
        insert_tags(connection, [after])
    write = (after.id, number, len(after.value))
    note_writes(connection, [write], author, action, restored=restored, change=change)
    return after


def note_creation(connection: Connection, blocks: Sequence[Block], author: Author) -> None:
    """Says who made blocks. What a user makes needs no row: the block itself tells who and when."""
    writes = [(block.id, block.revision, len(block.value)) for block in blocks]
    note_writes(connection, writes, author, "create")


def lock_block(connection: Connection, actor: Actor, block_id: str) -> tuple[Block, bool]:
    """The block, a deleted one too, and whether it is deleted; nobody else writes it before the commit.

    Raises NotFound.
    """
    mine = (BlockRow.id == block_id, BlockRow.organization_id == actor.organization_id)
    connection.execute(select(BlockRow.id).where(*mine).with_for_update())
    return find_any_block(connection, actor, block_id)


def find_any_block(connection: Connection, actor: Actor, block_id: str) -> tuple[Block, bool]:
    """The block, a deleted one too, and whether it is deleted. Raises NotFound."""
    row = connection.execute(
        select(BlockRow.is_deleted, *BLOCK).where(
            BlockRow.id == block_id, BlockRow.organization_id == actor.organization_id
        )
    ).first()
    if row is None:
        raise unknown(block_id)
    return to_block(row), row.is_deleted


def list_revisions(
    connection: Connection, block: Block, *, before: int | None = None, limit: int | None = None
) -> list[Revision]:
    """Newest first, the ones before a number."""
    conditions: list[ColumnElement[bool]] = [RevisionRow.subject_id == block.id]
    if before is not None:
        conditions.append(RevisionRow.number < before)
    statement = select(RevisionRow.__table__).where(*conditions).order_by(RevisionRow.number.desc())
    found = [read_revision(row) for row in connection.execute(statement.limit(limit))]
    if limit is None or len(found) < limit:
        oldest = found[-1].number if found else before or block.revision + 1
        found += _creation(connection, block, below=oldest)
    return found


def _creation(connection: Connection, block: Block, *, below: int) -> list[Revision]:
    """The first revision of a block that a user made, which has no row; unless what came after is pruned."""
    if below != 2 or block.created_at is None:
        return []
    try:
        first = past_block(connection, block, False, 1).block
    except Gone:
        return []
    author = Author(kind="user", id=block.created_by_id)
    return [
        Revision(
            subject_id=block.id,
            number=1,
            action="create",
            author=author,
            created_at=block.created_at,
            chars=len(first.value),
            change={},
        )
    ]


def get_revision(connection: Connection, block: Block, number: int) -> Revision:
    """Raises NotFound."""
    found = list_revisions(connection, block, before=number + 1, limit=1)
    if not found or found[0].number != number:
        raise NotFound(f"Block {block.id} has no revision {number}, or it is kept no longer.")
    return found[0]


def find_revisions(
    connection: Connection, actor: Actor, where: RevisionFilter, *, limit: int | None = None
) -> list[Revision]:
    """What was written in the course of these runs, newest first. Raises NotFound for an unknown message."""
    runs: list[ColumnElement[bool]] = [RunRow.organization_id == actor.organization_id]
    conditions: list[ColumnElement[bool]] = []
    if where.run_id is not None:
        runs.append(RunRow.id == where.run_id)
    if where.agent_id is not None:
        runs.append(RunRow.agent_id == where.agent_id)
    if where.message_id is not None:
        run_id, moment = _message_run(connection, actor, where.message_id)
        runs.append(RunRow.id == run_id)
        conditions.append(RevisionRow.created_at >= moment)
    conditions.append(RevisionRow.run_id.in_(select(RunRow.id).where(*runs)))
    statement = (
        select(RevisionRow.__table__)
        .where(*conditions)
        .order_by(RevisionRow.created_at.desc(), RevisionRow.subject_id, RevisionRow.number.desc())
        .limit(limit)
    )
    return [read_revision(row) for row in connection.execute(statement)]


def _message_run(connection: Connection, actor: Actor, message_id: str) -> tuple[str | None, datetime]:
    row = connection.execute(
        select(MessageRow.run_id, MessageRow.created_at).where(
            MessageRow.id == message_id, MessageRow.organization_id == actor.organization_id
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no message {message_id}.")
    return row.run_id, row.created_at


def load_causes(connection: Connection, revisions: Sequence[Revision]) -> dict[str, Cause]:
    """By the id of the message that called the tool: its step, and what the agent thought."""
    ids = {each.author.message_id for each in revisions if each.author.message_id is not None}
    if not ids:
        return {}
    rows = connection.execute(
        select(MessageRow.id, MessageRow.step_id, MessageRow.content).where(MessageRow.id.in_(ids))
    )
    return {row.id: Cause(row.step_id, _first_words(row.content or ())) for row in rows}


def _first_words(content: Sequence[JsonObject]) -> str | None:
    for part in content:
        text = part.get("reasoning") or part.get("text")
        if isinstance(text, str) and text.strip():
            return shorten(text, _REASON_CHARS, placeholder=" …")
    return None


def past_block(connection: Connection, block: Block, is_deleted: bool, number: int) -> Past:
    """The block as it was after a revision. Raises NotFound, and Gone for one that is kept no longer."""
    if not 0 <= number <= block.revision:
        raise NotFound(f"Block {block.id} has no revision {number}; its newest is {block.revision}.")
    rows = connection.execute(
        select(RevisionRow.number, RevisionRow.change)
        .where(RevisionRow.subject_id == block.id, RevisionRow.number > number)
        .order_by(RevisionRow.number.desc())
    ).all()
    if [row.number for row in rows] != list(range(block.revision, number, -1)):
        raise Gone(f"Revision {number} of block {block.id} is kept no longer.")
    lost: dict[AgentId, None] = {}
    is_lost = False
    for row in rows:
        try:
            block = go_back(block, row.change)
            is_lost = is_lost and not isinstance(row.change.get("value"), str)
        except ValueError:  # somebody wrote to the table itself; the next whole value puts it right
            is_lost = True
        is_deleted = row.change.get("is_deleted", is_deleted)
        lost |= dict.fromkeys(row.change.get("held_by", ()))
    if is_lost:
        raise Gone(f"Revision {number} of block {block.id} cannot be read: the block was changed past it.")
    return Past(block, is_deleted, tuple(lost))


def prune_revisions(connection: Connection, *, count: int | None, days: int | None) -> None:
    """Lets go of the revisions beyond the newest so many of their block, or older than so many days."""
    if count is not None:
        newest = select(BlockRow.revision).where(BlockRow.id == RevisionRow.subject_id).scalar_subquery()
        long = select(BlockRow.id).where(BlockRow.revision > count)
        connection.execute(
            delete(RevisionRow).where(RevisionRow.subject_id.in_(long), RevisionRow.number <= newest - count)
        )
    if days is not None:
        oldest = utc_now() - timedelta(days=days)
        connection.execute(delete(RevisionRow).where(RevisionRow.created_at < oldest))


def drop_revisions(connection: Connection, subject_id: str) -> None:
    connection.execute(delete(RevisionRow).where(RevisionRow.subject_id == subject_id))
