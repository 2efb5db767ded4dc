"""What readers of answers have in common: a stream of events or one whole body in, deltas out.

Runs once per token, so it looks only at what is there and builds only what is needed.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from remanence.core.llm import Delta, ToolCallDelta
from remanence.errors import BadReply, ProviderRefused
from remanence.kit.json import JsonObject
from remanence.llm.aws_events import FrameSplitter
from remanence.llm.failures import CutConnection, read_error_body
from remanence.llm.sse import EventSplitter

_WRONG_SHAPE = (AttributeError, LookupError, TypeError, ValueError)


class EventReader:
    """One answer. The body's first byte tells a stream from a whole reply: servers may ignore `stream`.

    A format says what it makes of an event (`read_event`), of a whole body (`read_whole`), whether
    it has heard the end (`has_ended`), and what its last delta is (`finish`, which sets `is_done`).
    """

    __slots__ = ("_events", "_is_whole", "_seen", "is_done", "provider", "request_id")

    def __init__(
        self, provider: str, headers: Mapping[str, str], events: EventSplitter | FrameSplitter | None = None
    ) -> None:
        self.is_done = False
        self.provider = provider
        self.request_id = headers.get("x-request-id") or headers.get("request-id")
        self._events = events or EventSplitter()
        self._seen = b""
        """The beginning of the body, until its kind is known; all of it if it is whole."""
        self._is_whole: bool | None = None

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        raise NotImplementedError

    def read_whole(self, body: JsonObject, deltas: list[Delta]) -> None:
        raise NotImplementedError

    def has_ended(self) -> bool:
        raise NotImplementedError

    def finish(self, deltas: list[Delta]) -> None:
        raise NotImplementedError

    def feed(self, chunk: bytes) -> list[Delta]:
        if self._is_whole is not False:
            self._seen += chunk
            start = self._seen.lstrip()
            if not start:
                return []
            if start[0] in b"{[<":  # JSON, or the HTML of something in between
                self._is_whole = True
                return []
            self._is_whole = False
            chunk, self._seen = self._seen, b""
        deltas: list[Delta] = []
        for data in self._events.feed(chunk):
            self._take(data, deltas)
        return deltas

    def end(self) -> list[Delta]:
        deltas: list[Delta] = []
        if self._is_whole:
            self._take_whole(deltas)
        else:
            for data in self._events.end():
                self._take(data, deltas)
        if not self.is_done:
            if not self.has_ended():
                raise self.cut()
            self.finish(deltas)
        return deltas

    def _take(self, data: bytes, deltas: list[Delta]) -> None:
        if self.is_done:
            return
        try:
            event: Any = orjson.loads(data)
        except orjson.JSONDecodeError:
            if data.strip() == b"[DONE]":
                self.finish(deltas)
                return
            raise self.not_understood(data) from None
        try:
            self.read_event(event, deltas)
        except _WRONG_SHAPE:  # JSON, but not as the format has it
            raise self.not_understood(data) from None

    def _take_whole(self, deltas: list[Delta]) -> None:
        try:
            body: Any = orjson.loads(self._seen)
        except orjson.JSONDecodeError:
            if self._seen.lstrip().startswith(b"<"):
                raise self.not_understood(self._seen) from None
            raise self.cut() from None
        try:
            self.read_whole(body, deltas)
        except _WRONG_SHAPE:
            raise self.not_understood(self._seen) from None
        if not self.has_ended() and not deltas:
            raise self.not_understood(self._seen)
        if not self.is_done:
            self.finish(deltas)

    def cut(self) -> CutConnection:
        return CutConnection(f"{self.provider} ended its answer in the middle", provider=self.provider)

    def refused(self, why: str) -> ProviderRefused:
        """For a refusal without a word of an answer."""
        return ProviderRefused(f"{self.provider} declined to answer: {why}", provider=self.provider)

    def not_understood(self, data: bytes) -> BadReply:
        said = read_error_body(data[:2_000])[0]
        return BadReply(
            f"The answer of {self.provider} is not understood: {said[:300]}", provider=self.provider
        )


class CallingReader(EventReader):
    """For formats that number the parts of an answer, a call being one of them, and send its arguments in pieces."""

    __slots__ = ("_calls", "_empty", "has_spoken")

    def __init__(
        self, provider: str, headers: Mapping[str, str], events: EventSplitter | FrameSplitter | None = None
    ) -> None:
        super().__init__(provider, headers, events)
        self._calls: dict[int, int] = {}
        """From the number of a part to that of the call in it."""
        self._empty: set[int] = set()
        """Calls that have no arguments yet."""
        self.has_spoken = False

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def open_call(self, part: int, id: str, name: str, deltas: list[Delta]) -> None:
        self.has_spoken = True
        call = self._calls[part] = len(self._calls)
        self._empty.add(call)
        deltas.append(ToolCallDelta(call, id, name))

    def is_known(self, part: int) -> bool:
        return part in self._calls

    def is_open(self, part: int) -> bool:
        """Whether it is a call that has no arguments yet."""
        return self._calls.get(part) in self._empty

    def add_arguments(self, part: int, text: str, deltas: list[Delta]) -> None:
        if text:
            call = self._calls[part]
            self._empty.discard(call)
            deltas.append(ToolCallDelta(call, arguments=text))

    def close_calls(self, deltas: list[Delta]) -> None:
        deltas += [ToolCallDelta(index, arguments="{}") for index in sorted(self._empty)]
