"""What a stream has yet to tell of messages that were saved: its process died in the midst of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from remanence.kit import json
from remanence.messages.frames import Frame, frame_of
from remanence.messages.schemas import Body

_TEXTS = {"assistant_message": "content", "reasoning_message": "reasoning"}
_CALLS = ("tool_call_message", "approval_request_message")


@dataclass(slots=True)
class _Told:
    """What was told of one part of a message."""

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    """By call."""


def untold_frames(bodies: Iterable[Body], frames: str) -> list[Frame]:
    """The parts that were never told, and the rest of those that were begun."""
    told = _read(frames)
    return [frame_of(rest) for body in bodies for rest in _rest(body, told.get(body["otid"]))]


def _read(frames: str) -> dict[str, _Told]:
    told: dict[str, _Told] = {}
    for frame in frames.split("\n\n"):
        _, _, data = frame.rpartition("data: ")
        if not data.startswith("{"):
            continue
        body: Body = json.decode(data)
        part = told.setdefault(body.get("otid") or "", _Told())
        kind = body["message_type"]
        if kind in _TEXTS:
            part.text += body[_TEXTS[kind]]
        elif kind in _CALLS:
            for call in _calls(body):
                earlier = part.arguments.get(call["tool_call_id"], "")
                part.arguments[call["tool_call_id"]] = earlier + (call.get("arguments") or "")
    return told


def _calls(body: Body) -> list[Body]:
    """A list where the message was told whole; a piece of it is about one call."""
    given: Any = body["tool_calls"]
    return cast("list[Body]", given) if isinstance(given, list) else [given]


def _rest(body: Body, told: _Told | None) -> Iterator[Body]:
    kind = body["message_type"]
    if told is None:
        yield body
    elif kind in _TEXTS:
        rest = _after(body[_TEXTS[kind]], told.text)
        if rest:
            yield body | {_TEXTS[kind]: rest}
    elif kind in _CALLS:
        names_all = {"name": None} if kind == "approval_request_message" else {}
        for call in _calls(body):
            id = call["tool_call_id"]
            if id not in told.arguments:
                yield _piece(body, {"name": call["name"], "tool_call_id": id})
            rest = _after(call["arguments"], told.arguments.get(id, ""))
            if rest:
                yield _piece(body, names_all | {"arguments": rest, "tool_call_id": id})


def _piece(body: Body, call: Body) -> Body:
    return body | {"tool_call": call, "tool_calls": call}


def _after(whole: str, beginning: str) -> str:
    """Nothing where it was told in other words: an agent that speaks through tools has its calls rewritten."""
    return whole.removeprefix(beginning) if whole.startswith(beginning) else ""
