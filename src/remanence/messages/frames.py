"""The one translator from a run's events to stream frames, and to the body of a blocking answer.

A frame is kept in two halves around its sequence number: a foreground stream writes `null` there,
a background run its count. In token mode the head of a frame is made once per part of a message,
since only the text differs from token to token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, assert_never
from uuid import uuid4

from remanence.core.argument_stream import ArgumentStream
from remanence.core.event import (
    CompactionStarted,
    Event,
    RunFinished,
    RunUsage,
    StepSaved,
    Streamed,
    TurnTokens,
)
from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta
from remanence.core.message import Message
from remanence.errors import AppError, ContextOverflow, EmptyReply, ProviderError, RateLimited
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.ids import MessageId, RunId, derive_otid, id_before
from remanence.messages.schemas import (
    Body,
    View,
    compaction_body,
    is_answer,
    keep_types,
    typed_messages,
    wire_date,
)

_SEQ = b'"seq_id":null'
_THINKING = "thinking"

StreamMode = Literal["steps", "tokens"]


@dataclass(slots=True)
class Frame:
    before: bytes
    after: bytes | None = None
    """None for a frame that shows no sequence number."""

    def numbered(self, seq_id: int | None) -> bytes:
        if self.after is None:
            return self.before
        return self.before + (b"null" if seq_id is None else b"%d" % seq_id) + self.after


DONE = Frame(b"data: [DONE]\n\n")


def frame_of(body: Body, *, event: str | None = None) -> Frame:
    text = json.encode(body)
    prefix = b"data: " if event is None else b"event: " + event.encode() + b"\ndata: "
    cut = text.find(_SEQ)
    if cut < 0:
        return Frame(prefix + text + b"\n\n")
    cut += len(_SEQ) - 4
    return Frame(prefix + text[:cut], text[cut + 4 :] + b"\n\n")


def ping_frame(run_id: RunId) -> Frame:
    return frame_of(
        {
            "id": f"ping-{uuid4()}",
            "date": wire_date(utc_now()),
            "name": None,
            "message_type": "ping",
            "otid": None,
            "sender_id": None,
            "step_id": None,
            "is_err": None,
            "seq_id": None,
            "run_id": run_id,
        }
    )


def usage_body(usage: RunUsage) -> Body:
    return {
        "message_type": "usage_statistics",
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "step_count": usage.step_count,
        "run_ids": list(usage.run_ids) if usage.run_ids else None,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "context_tokens": usage.context_tokens,
    }


def error_type_of(error: AppError) -> str:
    match error:
        case ContextOverflow():
            return "context_window_overflow_in_system_prompt"
        case EmptyReply() | RateLimited():
            return error.error_type
        case ProviderError() if error.error_type in ("llm_timeout", "llm_authentication"):
            return error.error_type
        case ProviderError():
            return "llm_error"
        case _:
            return "internal_error"


def finish_frames(run_id: RunId, event: RunFinished) -> list[Frame]:
    """How every stream ends."""
    stopped = frame_of({"message_type": "stop_reason", "stop_reason": event.stop_reason})
    if event.error is None:
        return [stopped, frame_of(usage_body(event.usage)), DONE]
    body = {
        "message_type": "error_message",
        "run_id": run_id,
        "error_type": error_type_of(event.error),
        "message": event.error.message,
        "detail": f"{event.error.code}: {event.error.message}",
        "seq_id": None,
    }
    return [stopped, frame_of(body, event="error"), DONE]


_ENDINGS = (
    b'data: {"message_type":"stop_reason"',
    b'data: {"message_type":"usage_statistics"',
    b"event: error\n",
    DONE.before.rstrip(),
)


def is_ending(frame: bytes) -> bool:
    """Whether this is one of the frames that every stream ends with."""
    return frame.startswith(_ENDINGS)


def is_told(message: Message) -> bool:
    """Whether whoever started a run is told of it: not of what was said to the agent, nor of notices to it."""
    return message.role not in ("user", "system") and not is_answer(message)


@dataclass(slots=True)
class _Segment:
    """The part of a message now being streamed."""

    kind: str
    index: int
    frame_head: bytes
    frame_middle: bytes


@dataclass(slots=True)
class _CallView:
    """A tool call being streamed: what of its arguments is shown, and as what."""

    id: str
    name: str = ""
    is_named: bool = False
    """Whether a frame has told its name; the arguments come after that."""
    is_speech: bool = False
    is_gated: bool = False
    arguments: ArgumentStream | None = None


@dataclass(slots=True)
class _Progress:
    """How far the streaming of one message has come."""

    message_id: MessageId
    step_id: str
    at: datetime
    segment: _Segment | None = None
    next_index: int = 0
    calls: dict[int, _CallView] = field(default_factory=dict[int, _CallView])
    call_segments: dict[str, _Segment] = field(default_factory=dict[str, _Segment])
    gates: frozenset[str] = frozenset()


class Translator:
    """Turns events into frames for one reader's wishes."""

    def __init__(
        self, run_id: RunId, view: View, *, mode: StreamMode, wanted_types: Sequence[str] | None = None
    ) -> None:
        self._run_id = run_id
        self._view = view
        self._mode = mode
        self._wanted = wanted_types
        self._progress: _Progress | None = None

    def frames(self, event: Event) -> list[Frame]:
        match event:
            case Streamed():
                return self._streamed(event) if self._mode == "tokens" else []
            case StepSaved():
                return self._saved(event)
            case CompactionStarted():
                return self._compacting(event)
            case RunFinished():
                return finish_frames(self._run_id, event)
            case _:
                assert_never(event)

    def _compacting(self, event: CompactionStarted) -> list[Frame]:
        bodies = [compaction_body(event)] if self._view.shows_compaction else []
        return [frame_of(body) for body in keep_types(bodies, self._wanted)]

    def _saved(self, event: StepSaved) -> list[Frame]:
        progress = self._progress
        streamed = (
            {progress.message_id, id_before(progress.message_id)} if progress is not None else set[str]()
        )
        self._progress = None
        return [frame_of(body) for body in self.bodies(event.messages) if body["id"] not in streamed]

    def bodies(self, messages: Sequence[Message]) -> list[Body]:
        """What this reader gets to see of these, whole."""
        bodies = [
            body for message in messages if is_told(message) for body in typed_messages(message, self._view)
        ]
        return keep_types(bodies, self._wanted)

    def _streamed(self, event: Streamed) -> list[Frame]:
        progress = self._progress
        if progress is None or progress.message_id != event.message_id:
            progress = self._progress = _Progress(event.message_id, event.step_id, event.at)
        frames: list[Frame] = []
        progress.gates = event.gates
        for delta in event.deltas:
            self._add(progress, delta, frames)
        return frames

    def _add(self, progress: _Progress, delta: Delta, frames: list[Frame]) -> None:
        match delta:
            case TextDelta(text=text):
                # A heartbeat agent speaks through its tool, so bare text is thinking.
                self._text(progress, "assistant" if self._view.reply == "native" else "thought", text, frames)
            case ReasoningDelta(text=text, is_redacted=False):
                self._text(progress, "reasoning", text, frames)
            case ToolCallDelta():
                self._call(progress, delta, frames)
            case ReasoningDelta() | Finished():
                pass
            case _:
                assert_never(delta)

    def _text(self, progress: _Progress, kind: str, text: str, frames: list[Frame]) -> None:
        if not text:
            return
        segment = progress.segment
        if segment is None or segment.kind != kind:
            segment = self._open(progress, kind)
        if not segment.frame_head:  # a kind this reader did not ask for
            return
        tail = b"}\n\n" if kind == "assistant" else b',"signature":null}\n\n'
        frames.append(Frame(segment.frame_head, segment.frame_middle + json.encode(text) + tail))

    def _call(self, progress: _Progress, delta: ToolCallDelta, frames: list[Frame]) -> None:
        call = progress.calls.get(delta.index)
        if call is None:
            call = progress.calls[delta.index] = _CallView(delta.id or f"call_{delta.index}")
        if delta.name and not call.name:
            call.name = delta.name
            call.is_speech = self._view.shows_speech and call.name == self._view.speaking_tool
            call.is_gated = call.name in progress.gates
            if self._view.reply == "heartbeat":
                watched = {_THINKING, self._view.speaking_argument} if call.is_speech else {_THINKING}
                call.arguments = ArgumentStream(watched)
            else:
                self._name_call(progress, call, frames)
        if not delta.arguments:
            return
        if call.arguments is None:
            self._continue_call(progress, call, delta.arguments, frames)
            return
        for piece in call.arguments.feed(delta.arguments):
            if piece.key == _THINKING:
                self._text(progress, "thought", piece.text, frames)
            elif piece.key is not None:
                self._text(progress, "assistant", piece.text, frames)
            elif not call.is_speech:
                if not call.is_named:
                    if piece.text == "{":  # what follows may be a thought: name the call after it
                        continue
                    self._name_call(progress, call, frames)
                    piece.text = piece.text if piece.text.startswith("{") else "{" + piece.text
                self._continue_call(progress, call, piece.text, frames)

    def _name_call(self, progress: _Progress, call: _CallView, frames: list[Frame]) -> None:
        call.is_named = True
        fields: dict[str, Any] = {"name": call.name, "tool_call_id": call.id}
        if call.is_gated:
            fields = {"name": call.name, "arguments": None, "tool_call_id": call.id}
        self._call_frame(progress, call, fields, frames)

    def _continue_call(self, progress: _Progress, call: _CallView, text: str, frames: list[Frame]) -> None:
        fields: dict[str, Any] = {"arguments": text, "tool_call_id": call.id}
        self._call_frame(progress, call, {"name": None} | fields if call.is_gated else fields, frames)

    def _call_frame(
        self, progress: _Progress, call: _CallView, fields: dict[str, Any], frames: list[Frame]
    ) -> None:
        kind = "request" if call.is_gated else "call"
        # All calls are one part of the message, also when a thought comes between them.
        segment = progress.call_segments.get(kind)
        if segment is None:
            segment = progress.call_segments[kind] = self._open(progress, kind)
        progress.segment = segment
        if not segment.frame_head:
            return
        text = json.encode(fields)
        frames.append(
            Frame(segment.frame_head, segment.frame_middle + text + b',"tool_calls":' + text + b"}\n\n")
        )

    def _open(self, progress: _Progress, kind: str) -> _Segment:
        message_type, field_name, source = _KINDS[kind]
        index = progress.next_index
        progress.next_index += kind != "request"  # it has an id of its own, and no part of the others'
        if self._wanted is not None and message_type not in self._wanted:
            segment = _Segment(kind, index, b"", b"")
        else:
            is_request = kind == "request"
            id = id_before(progress.message_id) if is_request else progress.message_id
            body: Body = {
                "id": id,
                "date": wire_date(progress.at),
                "name": self._view.sender_name,
                "message_type": message_type,
                "otid": id if is_request else derive_otid(id, index),
                "sender_id": self._view.sender_id,
                "step_id": progress.step_id,
                "is_err": None,
                "seq_id": None,
                "run_id": self._run_id,
            }
            if source is not None:
                body["source"] = source
            whole = frame_of(body)
            assert whole.after is not None
            middle = whole.after[:-3] + b',"' + field_name + b'":'
            segment = _Segment(kind, index, whole.before, middle)
        progress.segment = segment
        return segment


_KINDS: dict[str, tuple[str, bytes, str | None]] = {
    "assistant": ("assistant_message", b"content", None),
    "reasoning": ("reasoning_message", b"reasoning", "reasoner_model"),
    "thought": ("reasoning_message", b"reasoning", "non_reasoner_model"),
    "call": ("tool_call_message", b"tool_call", None),
    "request": ("approval_request_message", b"tool_call", None),
}


@dataclass(slots=True)
class Collected:
    """The blocking answer, gathered from the same events that a stream shows."""

    view: View
    wanted_types: Sequence[str] | None = None
    messages: list[Body] = field(default_factory=list[Body])
    finished: RunFinished | None = None

    def add(self, event: Event) -> None:
        match event:
            case StepSaved(messages=messages):
                shown = [each for each in messages if is_told(each)]
                bodies = [body for each in shown for body in typed_messages(each, self.view)]
                self.messages += keep_types(bodies, self.wanted_types)
            case RunFinished():
                self.finished = event
            case CompactionStarted() if self.view.shows_compaction:
                started = compaction_body(event)
                self.messages += keep_types([started], self.wanted_types)
            case Streamed() | CompactionStarted():
                pass
            case _:
                assert_never(event)

    def body(self) -> Body:
        assert self.finished is not None
        return {
            "messages": self.messages,
            "stop_reason": {"message_type": "stop_reason", "stop_reason": self.finished.stop_reason},
            "usage": usage_body(self.finished.usage),
            "logprobs": logprobs_body(self.finished.turns),
            "turns": [turn_body(turn) for turn in self.finished.turns] or None,
        }


def logprobs_body(turns: Sequence[TurnTokens]) -> Body | None:
    """Those of the last answer."""
    weighed = [turn.tokens.logprobs for turn in turns if turn.tokens is not None and turn.tokens.logprobs]
    if not weighed:
        return None
    return {"content": [{"bytes": None, "top_logprobs": []} | each for each in weighed[-1]], "refusal": None}


def turn_body(turn: TurnTokens) -> Body:
    tokens = turn.tokens
    ids = tokens.ids if tokens is not None else []
    logprobs = tokens.logprobs if tokens is not None else []
    weights = [
        [each.get("logprob"), ids[place] if place < len(ids) else None, each.get("token")]
        for place, each in enumerate(logprobs)
    ]
    return {
        "role": "tool" if turn.tool_name else "assistant",
        "output_ids": ids or None,
        "output_token_logprobs": weights or None,
        "content": turn.content,
        "tool_name": turn.tool_name,
    }
