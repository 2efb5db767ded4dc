"""What leaves the window when it is full, and what stays.

A plan names places in the window. It never parts a call from its returns, never takes the message that
is being answered, always takes something, and leaves less than there was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from remanence.core.agent import CompactionMode
from remanence.core.message import Message, pending_request
from remanence.core.packing import is_notice

Trigger = Literal["post_step_context_check", "context_window_exceeded", "requested"]

ENVELOPE_TOKENS = 160
"""What stands around a summary in its message: the note, the time, the figures."""
_LEAST_SUMMARY_TOKENS = 40
_SUMMARY_SHARE = 0.1
"""Of the window, at most, for a summary."""
_REPLACED_BY_AT_MOST = 0.6
"""Of what leaves, for what comes in its place."""
_STEP = 0.1


@dataclass(frozen=True, slots=True)
class CompactionStats:
    trigger: Trigger
    context_tokens_before: int
    context_tokens_after: int
    context_window: int
    messages_count_before: int
    messages_count_after: int

    def fields(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    kept: tuple[int, ...]
    """Places in the window, in order; the summary goes behind the system message."""
    evicted: tuple[int, ...]
    summary_tokens: int
    """What the words of the summary may take; 0 if there is no room for one."""


@dataclass(frozen=True, slots=True)
class Fullness:
    """The window to be relieved, in tokens."""

    sizes: Sequence[int]
    """Of each message in it."""
    other: int
    """Of what is sent beside it: tools, and what is said to the agent just now."""
    window: int
    full: int
    """More than this must not stay."""


def plan_compaction(
    messages: Sequence[Message],
    fullness: Fullness,
    *,
    mode: CompactionMode,
    share: float,
    is_answering: bool,
    is_asked_for: bool = False,
) -> CompactionPlan | None:
    """None if there is nothing that could go.

    `is_answering`: the agent has not finished its turn, so the last user message in the window stays, and
    the latest exchange as long as there is room. `is_asked_for`: somebody wants a summary, so it gets one
    even if that saves little.
    """
    draft = _Draft(messages, fullness, is_answering=is_answering, is_asked_for=is_asked_for)
    if not draft.exchanges:
        return None
    chosen: tuple[int, ...] | None = None
    if mode in ("sliding_window", "self_compact_sliding_window"):
        target = int(fullness.window * (1 - share))
        chosen = next((kept for kept in draft.tails(share) if draft.relieves(kept, target)), None)
    if chosen is None:
        chosen = next((kept for kept in draft.remnants(mode) if draft.relieves(kept, fullness.full)), None)
    if chosen is None:
        chosen = draft.least()
    evicted = draft.evicted_by(chosen)
    if draft.gains_nothing(evicted):
        return None
    return CompactionPlan(chosen, evicted, draft.summary_tokens(chosen))


class _Draft:
    def __init__(
        self, messages: Sequence[Message], fullness: Fullness, *, is_answering: bool, is_asked_for: bool
    ) -> None:
        self._messages = messages
        self._fullness = fullness
        self._is_answering = is_answering
        self._is_asked_for = is_asked_for
        self._head = 1 if messages and messages[0].role == "system" else 0
        self.exchanges = _exchanges(messages, self._head)
        self._question = _last_question(messages, self._head)
        is_open = pending_request(messages) is not None
        self._open = self.exchanges[-1] if is_open and self.exchanges else range(0)
        """A request that waits for an answer."""

    def tails(self, share: float) -> Iterator[tuple[int, ...]]:
        """What stays if more and more of the oldest goes, in steps, beginning with a word of the agent."""
        count = len(self._messages) - self._head
        starts = [
            exchange.start
            for exchange in self.exchanges[1:]
            if self._messages[exchange.start].role in ("assistant", "approval")
        ]
        fraction = share + _STEP
        while fraction < 1:
            start = next((each for each in starts if each - self._head >= fraction * count), None)
            if start is None:
                return
            yield self._with(self._asked(), range(start, len(self._messages)))
            fraction += _STEP

    def remnants(self, mode: CompactionMode) -> Iterator[tuple[int, ...]]:
        """What stays if nearly all goes, most first."""
        is_thorough = mode in ("all", "self_compact_all")
        if self._is_answering:
            yield self._with(self._asked(), self.exchanges[-1])
        if self._is_answering or not is_thorough:
            yield self._with(self._asked())

    def least(self) -> tuple[int, ...]:
        return self._with(self._asked() if self._is_answering else ())

    def relieves(self, kept: tuple[int, ...], most_tokens: int) -> bool:
        """Whether little enough stays, and enough goes to be worth a summary."""
        evicted = self.evicted_by(kept)
        around = ENVELOPE_TOKENS + _LEAST_SUMMARY_TOKENS
        if self.gains_nothing(evicted) or self._tokens(kept) + around > most_tokens:
            return False
        return self._is_asked_for or self._size(evicted) > around

    def evicted_by(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        stays = set(kept)
        return tuple(place for place in range(len(self._messages)) if place not in stays)

    def summary_tokens(self, kept: tuple[int, ...]) -> int:
        saved = self._size(self.evicted_by(kept))
        most = max(int(self._fullness.window * _SUMMARY_SHARE), _LEAST_SUMMARY_TOKENS)
        room = self._fullness.full - self._tokens(kept) - ENVELOPE_TOKENS
        if room < _LEAST_SUMMARY_TOKENS:  # a short one is worth a little more than should be taken
            room = min(self._fullness.window - self._tokens(kept) - ENVELOPE_TOKENS, _LEAST_SUMMARY_TOKENS)
        gain = max(int(saved * _REPLACED_BY_AT_MOST) - ENVELOPE_TOKENS, _LEAST_SUMMARY_TOKENS)
        tokens = min(most, room, gain, saved - 1 - ENVELOPE_TOKENS)
        if self._is_asked_for:
            return max(tokens, 2 * _LEAST_SUMMARY_TOKENS)
        return tokens if tokens >= _LEAST_SUMMARY_TOKENS else 0

    def gains_nothing(self, evicted: tuple[int, ...]) -> bool:
        """Whether only a summary would be written anew that is not too large for the window."""
        if any(self._messages[place].role != "summary" for place in evicted):
            return False
        return self._size(evicted) <= self._fullness.window * _SUMMARY_SHARE + 2 * ENVELOPE_TOKENS

    def _tokens(self, kept: tuple[int, ...]) -> int:
        return self._fullness.other + self._size(kept)

    def _size(self, places: tuple[int, ...]) -> int:
        return sum(self._fullness.sizes[place] for place in places)

    def _asked(self) -> tuple[int, ...]:
        return () if self._question is None else (self._question,)

    def _with(self, *parts: Sequence[int]) -> tuple[int, ...]:
        places = {*range(self._head), *self._open, *(place for part in parts for place in part)}
        return tuple(sorted(places))


def _exchanges(messages: Sequence[Message], first: int) -> list[range]:
    """What cannot be parted: a message, and the returns and answers behind it."""
    starts = [
        place
        for place in range(first, len(messages))
        if place == first or not _belongs_to_the_one_before(messages[place])
    ]
    return [range(start, end) for start, end in pairwise([*starts, len(messages)])]


def _belongs_to_the_one_before(message: Message) -> bool:
    return message.role == "tool" or (message.role == "approval" and not message.tool_calls)


def _last_question(messages: Sequence[Message], first: int) -> int | None:
    """The last that a person said."""
    for place in range(len(messages) - 1, first - 1, -1):
        message = messages[place]
        if message.role == "user" and not is_notice(message.text):
            return place
    return None
