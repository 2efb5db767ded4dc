"""What a built-in tool leaves behind: a text for the model, and edits for the checkpoint."""

from dataclasses import dataclass

from remanence.core.block import MemoryEdit


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    text: str
    edits: tuple[MemoryEdit, ...] = ()
    unmerged: tuple[MemoryEdit, ...] = ()
    """The edits as they were meant, where they had to be joined with somebody else's."""


class ToolFailure(Exception):
    """The call did nothing. The text tells the model why, and how to do it right."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
