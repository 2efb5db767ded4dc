"""Folds the pieces of a model's answer into one reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._calls: dict[int, _Call] = {}
        self._finished = Finished("stop")

    def add(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            match delta:
                case TextDelta(text=text):
                    self._segment(TextDelta, is_redacted=False).texts.append(text)
                case ReasoningDelta():
                    segment = self._segment(ReasoningDelta, is_redacted=delta.is_redacted)
                    segment.texts.append(delta.text)
                    segment.signature = delta.signature or segment.signature
                case ToolCallDelta():
                    call = self._calls.get(delta.index)
                    if call is None:
                        call = self._calls[delta.index] = _Call("", "", [])
                    call.id = delta.id or call.id
                    call.name = delta.name or call.name
                    if delta.arguments:
                        call.arguments.append(delta.arguments)
                case Finished():
                    self._finished = delta

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


def keep_first_call(reply: Reply) -> Reply:
    """Without parallel calls only the first counts; the model may ask for the others again."""
    return replace(reply, calls=reply.calls[:1]) if len(reply.calls) > 1 else reply
