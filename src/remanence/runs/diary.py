"""Keeps the journal of one step: says what is about to happen outside, before it does."""

from collections.abc import Sequence
from dataclasses import replace

from remanence.core.journal import UNKNOWN, Journal
from remanence.core.message import ToolReturn
from remanence.core.tool import Tool
from remanence.runs.plan import LoopDoors, RunPlan
from remanence.tools.executor import ToolResult


class Diary:
    def __init__(self, run: RunPlan, doors: LoopDoors, journal: Journal, *, is_written: bool = False) -> None:
        self._run = run
        self._doors = doors
        self._journal = journal
        self.is_written = is_written
        """There is an entry, to be struck out when the step is saved."""

    async def note_start(
        self, calls: Sequence[tuple[str, Tool]], done: Sequence[tuple[str, str, ToolResult]]
    ) -> None:
        """Returns once it is on disk that these calls are made. Raises LeaseLost, and then they must not be.

        `done`: the calls (id and name) whose results are known by now.
        """
        outside = [call_id for call_id, tool in calls if tool.has_outside_effects]
        if not outside:
            return
        started = (*self._journal.started, *outside)
        returns = tuple(
            _to_return(call_id, name, result) for call_id, name, result in done if call_id in started
        )
        self._journal = replace(self._journal, started=started, returns=returns)
        await self._doors.journal(self._run, self._journal)
        self.is_written = True


def results_of(journal: Journal) -> dict[str, ToolResult]:
    """What is known, after a crash, of the calls that had been made."""
    known = {each.tool_call_id: result_from(each) for each in journal.returns}
    return known | {call_id: ToolResult(UNKNOWN, succeeded=False) for call_id in journal.unknown()}


def result_from(given: ToolReturn) -> ToolResult:
    """A return whose content is plain, not packed."""
    content = given.content
    return ToolResult(
        content if isinstance(content, str) else "",
        given.status == "success",
        stdout=given.stdout,
        stderr=given.stderr,
        parts=None if isinstance(content, str) else content,
    )


def _to_return(call_id: str, name: str, result: ToolResult) -> ToolReturn:
    return ToolReturn(
        tool_call_id=call_id,
        name=name,
        status="success" if result.succeeded else "error",
        content=result.parts or result.text,
        stdout=result.stdout,
        stderr=result.stderr,
    )
