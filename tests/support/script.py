"""What a scripted model is told to answer: lines, how they are paced, and gates that hold them.

Knows no provider's format (`model_wire.py`) and no sockets (`scripted_model.py`).
"""

import asyncio
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from remanence.kit import json

_WORD = re.compile(r"\S+\s*|\s+")
_ARGUMENT_PIECE_CHARS = 12


class Signal:
    """An event that any thread may set and any thread or loop may wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            self._event.set()
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait(self, timeout_s: float = 10) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._event.is_set():
                return
            self._waiters.append((asyncio.get_running_loop(), event))
        async with asyncio.timeout(timeout_s):
            await event.wait()

    def wait_sync(self, timeout_s: float = 10) -> None:
        if not self._event.wait(timeout_s):
            raise TimeoutError("The signal was not given in time")


class Waitable(Protocol):
    """Something that lets a reply pass: a `Gate`, or a plain `asyncio.Event` on the model's own loop."""

    async def wait(self) -> Any: ...


class Gate:
    """Holds a reply until `open()`. `reached` tells the test that the reply has got here."""

    def __init__(self) -> None:
        self.reached = Signal()
        self._opened = Signal()

    def open(self) -> None:
        self._opened.set()

    async def wait(self) -> None:
        self.reached.set()
        await self._opened.wait(timeout_s=60)


@dataclass(frozen=True)
class Thought:
    text: str
    signature: str | None = None
    is_redacted: bool = False
    """`text` is then a blob that only the provider can read."""


@dataclass(frozen=True)
class Speech:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str
    """JSON text; may be broken on purpose."""
    id: str | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Counts:
    """Token counts reported with a reply; what is None is made up from the lengths."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    """To the prompt cache."""


@dataclass(frozen=True)
class Line:
    """One answer of the model. Lines add up: `thinks("hm") + calls("a") + calls("b")` is one reply."""

    pieces: tuple[Thought | Speech | Call, ...] = ()
    counts: Counts = Counts()
    finish_reason: str | None = None
    status: int = 200
    raw: tuple[bytes, ...] | None = None
    """Sent as it is, one write per item, instead of `pieces`."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    hold: Waitable | None = None
    pauses: Mapping[int, Waitable] = field(default_factory=lambda: MappingProxyType({}))
    delay_s: float = 0
    token_delay_s: float = 0
    cut_after: int | None = None
    ignores_stream: bool = False

    def __add__(self, other: "Line") -> "Line":
        return replace(self, pieces=self.pieces + other.pieces)

    def held(self, gate: Waitable) -> "Line":
        """Nothing is sent, not even the status, before the gate opens."""
        return replace(self, hold=gate)

    def paused(self, gate: Waitable, *, after: int = 1) -> "Line":
        """Stops after so many tokens until the gate opens."""
        return replace(self, pauses=MappingProxyType({**self.pauses, after: gate}))

    def slow(self, *, first_s: float = 0, token_s: float = 0) -> "Line":
        return replace(self, delay_s=first_s, token_delay_s=token_s)

    def cut(self, *, after: int = 0) -> "Line":
        """The connection breaks after so many tokens; 0 is after the headers."""
        return replace(self, cut_after=after)

    def counting(
        self,
        prompt: int | None = None,
        completion: int | None = None,
        cached: int | None = None,
        reasoning: int | None = None,
        written: int | None = None,
    ) -> "Line":
        return replace(self, counts=Counts(prompt, completion, cached, reasoning, written))

    def finishing(self, reason: str) -> "Line":
        return replace(self, finish_reason=reason)

    def whole(self) -> "Line":
        """Answers with one JSON body even when a stream was asked for."""
        return replace(self, ignores_stream=True)

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Call))

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Speech))

    @property
    def thinking(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Thought))


def says(text: str) -> Line:
    """A text answer, streamed word by word."""
    return Line(pieces=(Speech(text),))


def thinks(text: str, *, signature: str | None = None) -> Line:
    """Native reasoning, as reasoning models show it."""
    return Line(pieces=(Thought(text, signature),))


def redacts(blob: str) -> Line:
    """Reasoning that the provider keeps to itself."""
    return Line(pieces=(Thought(blob, is_redacted=True),))


def calls(tool_name: str, /, **arguments: object) -> Line:
    """A tool call; `thinking` and `request_heartbeat` are arguments like any other."""
    return Line(pieces=(Call(tool_name, json.readable(arguments)),))


def calls_raw(
    tool_name: str, arguments: str, *, call_id: str | None = None, signature: str | None = None
) -> Line:
    """A tool call with the very text of its arguments, broken if need be, and its id."""
    return Line(pieces=(Call(tool_name, arguments, call_id, signature),))


def fails(status: int, body: object = None, **headers: str) -> Line:
    """An HTTP error. A `body` of str or bytes is sent as it is, anything else as JSON; `retry_after="1"` is a header."""
    if body is None:
        body = {"error": {"message": f"scripted failure {status}", "type": "scripted", "code": None}}
    content = (
        body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.encode(body)
    )
    names = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Line(status=status, raw=(content,), headers=MappingProxyType(names))


def sends(*chunks: bytes | str, content_type: str = "text/event-stream") -> Line:
    """Status 200 and these very bytes, one write each."""
    return Line(
        raw=tuple(chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks),
        headers=MappingProxyType({"Content-Type": content_type}),
    )


def hangs_up() -> Line:
    """The connection breaks before any answer."""
    return Line(cut_after=-1)


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def argument_pieces(text: str) -> list[str]:
    return [text[at : at + _ARGUMENT_PIECE_CHARS] for at in range(0, len(text), _ARGUMENT_PIECE_CHARS)]
