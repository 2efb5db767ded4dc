"""Folds the pieces of a model's answer into one reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.llm import (
    Delta,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from remanence.core.message import Part, ReasoningPart, RedactedReasoningPart, TextPart, ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    content: tuple[Part, ...]
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage
    request_id: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.content and not self.calls


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str]


@dataclass(slots=True)
class _Segment:
    """A run of deltas of one kind; a new kind starts a new part."""

    kind: type[TextDelta] | type[ReasoningDelta]
    is_redacted: bool
    texts: list[str]
    signature: str | None = None


class ReplyBuilder:
    def __init__(self, *, max_calls: int | None = None) -> None:
        """With `max_calls` the first ones count; the model may ask for the others again."""
        self._max_calls = max_calls
        self._segments: list[_Segment] = []
        self._calls: dict[int, _Call] = {}
        self._finished = Finished("stop")

    def add(self, deltas: Sequence[Delta]) -> list[Delta]:
        """Takes the pieces in; those of them that count, as they were taken."""
        return [taken for delta in deltas if (taken := self._take(delta)) is not None]

    def _take(self, delta: Delta) -> Delta | None:
        match delta:
            case TextDelta():
                delta.text = _storable(delta.text)
                self._segment(TextDelta, is_redacted=False).texts.append(delta.text)
            case ReasoningDelta():
                delta.text = _storable(delta.text)
                segment = self._segment(ReasoningDelta, is_redacted=delta.is_redacted)
                segment.texts.append(delta.text)
                segment.signature = delta.signature or segment.signature
            case ToolCallDelta():
                return self._take_call(delta)
            case Finished():
                self._finished = delta
        return delta

    def _take_call(self, delta: ToolCallDelta) -> ToolCallDelta | None:
        call = self._calls.get(delta.index)
        if call is None:
            if self._max_calls is not None and len(self._calls) >= self._max_calls:
                return None
            if any(delta.id == other.id for other in self._calls.values()):
                delta.id = f"{delta.id}_{delta.index}"  # returns are told apart by it
            call = self._calls[delta.index] = _Call("", "", [])
        delta.arguments = _storable(delta.arguments)
        call.id = delta.id or call.id
        call.name = delta.name or call.name
        if delta.arguments:
            call.arguments.append(delta.arguments)
        return delta

    def build(self) -> Reply:
        calls = tuple(
            ToolCall(id=call.id or f"call_{index}", name=call.name, arguments="".join(call.arguments) or "{}")
            for index, call in sorted(self._calls.items())
        )
        content = tuple(part for segment in self._segments if (part := _part(segment)) is not None)
        finished = self._finished
        return Reply(content, calls, finished.reason, finished.usage, finished.request_id)

    def _segment(self, kind: type[TextDelta] | type[ReasoningDelta], *, is_redacted: bool) -> _Segment:
        last = self._segments[-1] if self._segments else None
        if last is None or last.kind is not kind or last.is_redacted != is_redacted:
            last = _Segment(kind, is_redacted, [])
            self._segments.append(last)
        return last


def _part(segment: _Segment) -> Part | None:
    text = "".join(segment.texts)
    if segment.is_redacted:
        return RedactedReasoningPart(data=text)
    if segment.kind is ReasoningDelta:
        if not text and segment.signature is None:
            return None
        return ReasoningPart(is_native=True, reasoning=text, signature=segment.signature)
    return TextPart(text=text) if text else None


def _storable(text: str) -> str:
    """No database holds a NUL in text, and no reader misses it."""
    return text.replace("\x00", "") if "\x00" in text else text
