"""What the clients of a campaign know: the least that the server must remember."""

from dataclasses import dataclass, field
from typing import Any, Literal

Body = dict[str, Any]
Known = Literal["unknown", "refused", "answered", "asked", "accepted"]
"""Of something said: nothing, that it was turned away, that it was answered in full, that it waits for
somebody's word, or that its run was promised to go on by itself."""


class Broken(AssertionError):
    """A promise was not kept."""


@dataclass
class Said:
    text: str
    known: Known = "unknown"
    run_id: str | None = None
    frames: bytes = field(default=b"", repr=False)
    """What was read of its stream, if that is kept for reading again."""
    has_callback: bool = False
    was_planned: bool = False
    """Said by a schedule, which gives its messages ids of their own."""


@dataclass
class Lane:
    """One history: an agent's own, or a conversation."""

    agent: str
    conversation: str | None = None
    is_gated: bool = False
    said: dict[str, Said] = field(default_factory=dict[str, Said])
    inherited: set[str] = field(default_factory=set[str])
    """Texts that a fork may hold because its source did."""
    runs: dict[str, Said] = field(default_factory=dict[str, Said])
    """Runs in the background that were promised, by their ids."""
    plans: dict[str, list[Said]] = field(default_factory=dict[str, list[Said]])
    """What was promised to be said later, by the ids of schedules and batches."""
    gave_answers: bool = False
    """To requests; one given twice makes the agent go on twice."""
    answered_requests: set[str] = field(default_factory=set[str])
    was_cancelled: bool = False
    """Somebody tried to, so that runs may have ended so."""
    was_rewound: bool = False
    fate: Literal["alive", "doomed", "gone"] = "alive"
    """Doomed: somebody tried to delete it, and does not know whether it came to that."""

    @property
    def id(self) -> str:
        return self.conversation or self.agent

    @property
    def path(self) -> str:
        """Where it is spoken to, and read with `query`."""
        if self.conversation is not None:
            return f"/conversations/{self.conversation}/messages"
        return f"/agents/{self.agent}/messages"

    @property
    def query(self) -> dict[str, str]:
        return {} if self.conversation is not None else {"conversation_id": "default"}


@dataclass
class House:
    """The agents that are alive together, and all their histories."""

    lanes: list[Lane] = field(default_factory=list[Lane])
    number: int = 0
    """Of the last thing said."""
    lost_numbers: set[str] = field(default_factory=set[str])
    """Numbers of things said in histories that were deleted: their effects stay."""

    def next_number(self) -> int:
        self.number += 1
        return self.number
