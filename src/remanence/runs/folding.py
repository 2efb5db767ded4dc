"""Memory that has changed, compiled into the system message where nothing is lost by it."""

import asyncio
from typing import TYPE_CHECKING

from remanence.core.agent import AgentState
from remanence.core.budget import ContextLimits
from remanence.core.context import is_compiled
from remanence.core.memory_notes import MAX_NOTE_CHARS, render_note
from remanence.core.prompt import split_system
from remanence.kit.clock import utc_now
from remanence.kit.tasks import unbroken
from remanence.runs.plan import CompactionRecord, StaleWindow

if TYPE_CHECKING:
    from remanence.runs.turn import Turn


async def fold_memory(turn: "Turn") -> None:
    """Before a step: brings the system message up to date where its provider reads it anew anyway.

    That is so when the agent has not spoken yet, or not for long; and a note on a large change would cost more.
    """
    state = turn.state
    is_long = bool(state.changes) and len(render_note(state.changes)) > MAX_NOTE_CHARS
    is_anew = is_long or _has_other_tools(state) or _is_cold(state, turn.doors.limits)
    if is_anew and not is_compiled(state):
        await fold(turn)


def _has_other_tools(state: AgentState) -> bool:
    """With the first folder come the tools for files, and with the last they go: they stand before all else."""
    if not state.file_changes or not state.window:
        return False
    section = split_system(state.window[0].message.text).directories
    return (section is None) == bool(state.shelf.folders)


def _is_cold(state: AgentState, limits: ContextLimits) -> bool:
    if not any(each.message.step_id for each in reversed(state.window)):
        return True
    idle = utc_now() - state.window[-1].message.created_at
    return limits.cache_s is not None and idle.total_seconds() > limits.cache_s


async def fold(turn: "Turn") -> None:
    folded = turn.doors.compact(turn.run, turn.state, CompactionRecord(turn.state.window))
    try:
        turn.state, was_cancelled = await unbroken(folded)
    except StaleWindow:
        turn.state = await turn.doors.reload(turn.run, turn.state)
        was_cancelled = False
    if was_cancelled:
        raise asyncio.CancelledError
