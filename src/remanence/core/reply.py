"""Folds the pieces of a model's answer into one reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.llm import (
    Delta,
    Finished,
    FinishReason,
    LLMConfig,
    ReasoningDelta,
    TextDelta,
    TokenData,
    ToolCallDelta,
    Usage,
)
from remanence.core.message import (
    OmittedReasoningPart,
    Part,
    ReasoningPart,
    ReasoningSummary,
    RedactedReasoningPart,
    SummarizedReasoningPart,
    TextPart,
    ToolCall,
)


@dataclass(frozen=True, slots=True)
class Reply:
    content: tuple[Part, ...]
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage
    request_id: str | None = None
    tokens: TokenData | None = None
    answered_by: LLMConfig | None = None

    @property
    def is_empty(self) -> bool:
        return not self.content and not self.calls


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str]
    signature: str | None = None


@dataclass(slots=True)
class _Segment:
    """A run of deltas of one kind; a new kind starts a new part, and so does what follows a signature."""

    kind: type[TextDelta] | type[ReasoningDelta]
    is_redacted: bool
    texts: list[str]
    signature: str | None = None
    item_id: str | None = None

    @property
    def is_closed(self) -> bool:
        return self.is_redacted or self.signature is not None or self.item_id is not None


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
                self._take_text(delta)
            case ReasoningDelta():
                delta.text = _storable(delta.text)
                segment = self._segment(ReasoningDelta, is_redacted=delta.is_redacted)
                segment.texts.append(delta.text)
                segment.signature = delta.signature or segment.signature
                segment.item_id = delta.item_id
            case ToolCallDelta():
                return self._take_call(delta)
            case Finished():
                self._finished = delta
        return delta

    def _take_text(self, delta: TextDelta) -> None:
        last = self._segments[-1] if self._segments else None
        if not delta.text and (last is None or last.kind is not TextDelta or last.is_closed):
            return  # a signature without words to sign
        segment = self._segment(TextDelta, is_redacted=False)
        segment.texts.append(delta.text)
        segment.signature = delta.signature

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
        call.signature = delta.signature or call.signature
        if delta.arguments:
            call.arguments.append(delta.arguments)
        return delta

    def build(self) -> Reply:
        calls = tuple(
            ToolCall(
                id=call.id or f"call_{index}",
                name=call.name,
                arguments="".join(call.arguments) or "{}",
                signature=call.signature,
            )
            for index, call in sorted(self._calls.items())
        )
        content = tuple(part for segment in self._segments if (part := _part(segment)) is not None)
        finished = self._finished
        return Reply(
            content,
            calls,
            finished.reason,
            finished.usage,
            finished.request_id,
            finished.tokens,
            finished.answered_by,
        )

    def _segment(self, kind: type[TextDelta] | type[ReasoningDelta], *, is_redacted: bool) -> _Segment:
        last = self._segments[-1] if self._segments else None
        if last is None or last.kind is not kind or last.is_closed or is_redacted:
            last = _Segment(kind, is_redacted, [])
            self._segments.append(last)
        return last


def _part(segment: _Segment) -> Part | None:
    text = "".join(segment.texts)
    if segment.is_redacted:
        return RedactedReasoningPart(data=text)
    if segment.kind is TextDelta:
        return TextPart(text=text, signature=segment.signature) if text else None
    if segment.item_id is not None:
        summary = (ReasoningSummary(index=0, text=text),) if text else ()
        return SummarizedReasoningPart(
            id=segment.item_id, summary=summary, encrypted_content=segment.signature
        )
    if text:
        return ReasoningPart(is_native=True, reasoning=text, signature=segment.signature)
    return OmittedReasoningPart(signature=segment.signature) if segment.signature is not None else None


def _storable(text: str) -> str:
    """No database holds a NUL in text, and no reader misses it."""
    return text.replace("\x00", "") if "\x00" in text else text
