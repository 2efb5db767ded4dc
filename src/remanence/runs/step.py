"""A step under way."""

import time
from collections.abc import Sequence
from datetime import datetime

from remanence.core.llm import Delta, ModelRequest, Usage
from remanence.core.reply import Reply, ReplyBuilder
from remanence.core.rules import StepPlan
from remanence.kit.ids import MessageId, StepId, new_message_id
from remanence.runs.acting import Acted, ReadCall
from remanence.runs.diary import Diary


class Step:
    """From the question to the model to its last tool."""

    def __init__(
        self, id: StepId, at: datetime, plan: StepPlan, request: ModelRequest, gates: frozenset[str]
    ) -> None:
        self.id = id
        self.message_id: MessageId = new_message_id()
        self.at = at
        self.plan = plan
        self.request = request
        self.gates = gates
        """The tools whose calls somebody else must answer."""
        self.builder = ReplyBuilder(max_calls=None if request.parallel_tool_calls else 1)
        self.started_ns = time.perf_counter_ns()
        self.first_token_ns: int | None = None
        self.llm_ns: int | None = None
        self.reply: Reply | None = None
        """Known once the model has finished."""
        self.calls: tuple[ReadCall, ...] = ()
        self.acted: Acted | None = None
        self.diary: Diary | None = None
        self.spent = Usage()
        """On summaries that made room for it."""
        self.context_tokens = 0
        """What its call took of the window."""

    @property
    def waited_ns(self) -> int | None:
        """For the first token."""
        return None if self.first_token_ns is None else self.first_token_ns - self.started_ns

    def note(self, deltas: Sequence[Delta]) -> list[Delta]:
        """What counts of these."""
        if self.first_token_ns is None:
            self.first_token_ns = time.perf_counter_ns()
        return self.builder.add(deltas)
