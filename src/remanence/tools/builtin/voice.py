"""The tools of voice agents and of their helpers, their pure half."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from remanence.core.passage import PassageAdded
from remanence.core.transcript import read_numbered
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_passage_id
from remanence.kit.json import JsonObject
from remanence.tools.builtin.memory import run_memory_tool
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.context import ToolContext

USER_BLOCK = "human"
_MOST_MINUTES = 60 * 24 * 365 * 100


def store_memories(chunks: Sequence[JsonObject], told: str) -> ToolOutcome:
    """Raises ToolFailure for lines that are not there; then nothing is kept."""
    lines = read_numbered(told)
    kept = [_keep(chunk, lines) for chunk in chunks]
    noun = "chunk" if len(kept) == 1 else "chunks"
    return ToolOutcome(f"Kept {len(kept)} {noun}.", tuple(kept))


def _keep(chunk: JsonObject, lines: dict[int, str]) -> PassageAdded:
    first, last, context = int(chunk["start_index"]), int(chunk["end_index"]), str(chunk["context"]).strip()
    if not 1 <= first <= last <= len(lines):
        raise ToolFailure(
            f"There are no lines {first} to {last}: the conversation has the lines 1 to {len(lines)}, and a "
            "chunk begins before it ends. Nothing was kept; call again with all chunks."
        )
    said = "\n".join(lines[number] for number in range(first, last + 1))
    return PassageAdded(
        id=new_passage_id(),
        text=f"{context}\n\n{said}" if context else said,
        created_at=utc_now(),
        tool="store_memories",
    )


def rethink_user_memory(new_memory: str, context: ToolContext) -> ToolOutcome:
    return run_memory_tool(
        "memory_rethink",
        {"label": USER_BLOCK, "new_memory": new_memory},
        context.blocks,
        context.agent.organization_id,
        seen=context.seen,
    )


def parse_minutes(args: JsonObject, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The first and the last moment asked for. Raises ToolFailure."""
    start, end = (_ago(args.get(name), now) for name in ("start_minutes_ago", "end_minutes_ago"))
    if start is not None and end is not None and start > end:
        raise ToolFailure("start_minutes_ago must be more than end_minutes_ago; swap them.")
    return start, end


def _ago(minutes: object, now: datetime) -> datetime | None:
    if not isinstance(minutes, int | float):
        return None
    return now - timedelta(minutes=max(0, min(minutes, _MOST_MINUTES)))
