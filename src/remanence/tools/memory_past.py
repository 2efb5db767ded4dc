"""The tools with which an agent looks at how its memory came to be, and takes a write back."""

from datetime import datetime
from textwrap import shorten

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.block import Block, ValueSet
from remanence.core.moments import time_ago
from remanence.core.revision import Revision, go_back, merge_blocks
from remanence.core.text_merge import Touching
from remanence.db.database import Database
from remanence.errors import AppError
from remanence.kit import json
from remanence.kit.clock import local_text
from remanence.kit.json import JsonObject
from remanence.memory import repository
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.context import ToolContext

_DEFAULT_LIMIT = 5
_MAX_LIMIT = 20
_VALUE_CHARS = 400
"""Of the text before a write, which tells more than a diff and costs less to read."""


class MemoryPast:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def history(self, args: JsonObject, context: ToolContext, now: datetime) -> str:
        """Raises ToolFailure."""
        block = _named(context, args)
        limit = max(1, min(int(args.get("limit") or _DEFAULT_LIMIT), _MAX_LIMIT))
        written = await self._db.read(_written, context.actor, block.id, limit)
        return json.readable(
            [
                {
                    "revision": revision.number,
                    "when": local_text(revision.created_at, context.agent.timezone),
                    "time_ago": time_ago(now - revision.created_at),
                    "by": "you" if revision.author.id == context.agent.id else revision.author.kind,
                    "did": revision.action,
                    "before": None if before is None else shorten(before, _VALUE_CHARS, placeholder=" …"),
                }
                for revision, before in written
            ]
        )

    async def undo(self, args: JsonObject, context: ToolContext) -> ToolOutcome:
        """Takes one write back and keeps those after it, as an edit like any other. Raises ToolFailure."""
        block = _named(context, args)
        if block.read_only:
            raise ToolFailure(f"The block {block.label} is read-only.")
        number = int(args["revision"]) if args.get("revision") is not None else None
        try:
            written, before = await self._db.read(_around, context.actor, block, number)
            merged = merge_blocks(written, theirs=block, ours=before)
        except Touching:
            raise ToolFailure("Later writes changed the same place. Edit the block itself instead.") from None
        except AppError as error:
            raise ToolFailure(error.message) from None
        if merged.value == block.value:
            raise ToolFailure("That write did not change the text of the block, so there is nothing to undo.")
        return ToolOutcome(merged.value, (ValueSet(block_id=block.id, value=merged.value),))


def _named(context: ToolContext, args: JsonObject) -> Block:
    label = str(args["label"])
    found = next((block for block in context.blocks if block.label == label), None)
    if found is None:
        known = ", ".join(block.label for block in context.blocks) or "none"
        raise ToolFailure(f"You have no block {label}. Your blocks: {known}.")
    return found


def _written(
    connection: Connection, actor: Actor, block_id: str, limit: int
) -> list[tuple[Revision, str | None]]:
    """The newest writes, each with the text before it."""
    block, _ = repository.find_any_block(connection, actor, block_id)
    found: list[tuple[Revision, str | None]] = []
    for revision in repository.list_revisions(connection, block, limit=limit):
        earlier = go_back(block, revision.change) if revision.action != "create" else None
        found.append((revision, earlier.value if earlier else None))
        block = earlier or block
    return found


def _around(connection: Connection, actor: Actor, seen: Block, number: int | None) -> tuple[Block, Block]:
    """The block after a write, the newest if none is named, and before it.

    Raises NotFound and Gone, and ToolFailure where the newest is not the one that the agent knows.
    """
    block, is_deleted = repository.find_any_block(connection, actor, seen.id)
    if number is None and (block.revision != seen.revision or block.value != seen.value):
        raise ToolFailure("The block was changed just now. Look at its history and name the revision.")
    revision = repository.get_revision(connection, block, block.revision if number is None else number)
    if revision.action == "create":
        raise ToolFailure("That is how the block was made; there is nothing before it.")
    written = repository.past_block(connection, block, is_deleted, revision.number).block
    return written, go_back(written, revision.change)
