"""What a step has begun outside: written down before it starts, so that no crash makes it happen twice."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from pydantic import TypeAdapter

from remanence.core.approval import Answer
from remanence.core.message import ToolReturn
from remanence.core.reply import Reply
from remanence.kit.ids import MessageId, StepId

UNKNOWN = (
    "The server stopped while this call was under way, so nobody knows whether it had its effect. "
    "Find out before you call it again."
)
NOT_RUN = "The server stopped before this call was run."


@dataclass(frozen=True, slots=True)
class Draft:
    """A step whose model has answered and that is not saved yet."""

    step_id: StepId
    message_id: MessageId
    at: datetime
    reply: Reply


@dataclass(frozen=True, slots=True)
class Journal:
    """Where the calls of a run stand. It lives from the first call outside to the step's commit."""

    draft: Draft | None = None
    """None where an answer is taken: the calls are in the history already."""
    answer: Answer | None = None
    started: tuple[str, ...] = ()
    """The ids of the calls that may have had their effect."""
    returns: tuple[ToolReturn, ...] = ()
    """Of those, the results that are known. Their contents are plain, not packed."""

    def unknown(self) -> Iterable[str]:
        known = {each.tool_call_id for each in self.returns}
        return (call_id for call_id in self.started if call_id not in known)


@cache
def _format() -> TypeAdapter[Journal]:
    return TypeAdapter(Journal)


def write_journal(journal: Journal) -> str:
    return _format().dump_json(journal).decode()


def read_journal(text: str) -> Journal:
    return _format().validate_json(text)
