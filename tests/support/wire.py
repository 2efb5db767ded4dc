"""Reading what the server sends: stream frames, and bodies with their ids made readable."""

import re
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from remanence.kit import json
from remanence.kit.json import JsonObject

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = re.compile(rf"([a-z_]+)-({_UUID})")
_BARE = re.compile(_UUID)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
_INDEX_BITS = 0x7F


@dataclass(frozen=True)
class Frame:
    data: JsonObject | str
    """The JSON object of the frame, or its text if it is none (`[DONE]`)."""
    event: str | None = None

    @property
    def kind(self) -> str:
        return self.data if isinstance(self.data, str) else str(self.data["message_type"])

    @property
    def fields(self) -> JsonObject:
        assert not isinstance(self.data, str), f"{self.data} has no fields"
        return self.data

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


def read_frames(content: bytes) -> list[Frame]:
    """The frames of an event stream, which must be well formed to the last byte."""
    assert content.endswith(b"\n\n"), f"the stream ends in the middle of a frame: {content[-80:]!r}"
    return [_frame(block) for block in content.decode().removesuffix("\n\n").split("\n\n")]


def _frame(block: str) -> Frame:
    event: str | None = None
    data: str | None = None
    for line in block.split("\n"):
        name, _, value = line.partition(": ")
        assert name in ("event", "data"), f"unexpected line in a frame: {line!r}"
        if name == "event":
            event = value
        else:
            assert data is None, "a frame has one line of data"
            data = value
    assert data is not None, f"a frame without data: {block!r}"
    return Frame(json.decode(data) if data.startswith("{") else data, event)


class Scrubber:
    """Gives ids short names in their order of appearance, so that a body can be compared whole.

    A derived otid becomes the name of its message and an index: `message-1/0`.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self(item) for key, item in cast("JsonObject", value).items()}
            case list():
                return [self(item) for item in cast("list[Any]", value)]
            case str():
                return self._text(value)
            case _:
                return value

    def _text(self, text: str) -> str:
        if _DATE.fullmatch(text):
            return "<date>" if text.endswith("+00:00") else "<moment>"
        if found := _ID.fullmatch(text):
            return self._name(text, found[1])
        if _BARE.fullmatch(text):
            return self._otid(text)
        return text

    def _otid(self, text: str) -> str:
        value = UUID(text).int
        for known, name in self._names.items():
            if known.startswith("message-") and UUID(known[-36:]).int | _INDEX_BITS == value | _INDEX_BITS:
                return f"{name}/{value & _INDEX_BITS}"
        return self._name(text, "otid")

    def _name(self, text: str, prefix: str) -> str:
        if text not in self._names:
            self._counts[prefix] = self._counts.get(prefix, 0) + 1
            self._names[text] = f"{prefix}-{self._counts[prefix]}"
        return self._names[text]


def scrub(value: Any) -> Any:
    return Scrubber()(value)


COMMON = ["id", "date", "name", "message_type", "otid", "sender_id", "step_id", "is_err", "seq_id", "run_id"]
_RETURN = ["tool_return", "status", "tool_call_id", "stdout", "stderr"]
OWN = {
    "system_message": ["content"],
    "user_message": ["content"],
    "assistant_message": ["content"],
    "reasoning_message": ["source", "reasoning", "signature"],
    "hidden_reasoning_message": ["state", "hidden_reasoning"],
    "tool_call_message": ["tool_call", "tool_calls"],
    "tool_return_message": [*_RETURN, "tool_returns"],
    "summary_message": ["summary", "compaction_stats"],
    "event_message": ["event_type", "event_data"],
}


def told(messages: list[JsonObject], scrubber: Scrubber | None = None) -> list[str]:
    """Typed messages in short: type, otid (which names the message), step, run, and what was said.

    Checks on the way that each has exactly the keys of its type, in their order, and that what is there
    twice says the same.
    """
    names = scrubber or Scrubber()
    return [_told(message, names) for message in messages]


def _told(message: JsonObject, names: Scrubber) -> str:
    kind = message["message_type"]
    assert list(message) == COMMON + OWN[kind], f"{kind} has the keys {list(message)}"
    assert message["is_err"] is None
    assert message["seq_id"] is None
    short = names(message)
    place = [short["id"], short["otid"], short["step_id"], short["run_id"]]
    if str(short["otid"]).startswith(f"{short['id']}/"):
        place.pop(0)  # the otid names the message already
    where = " ".join(str(each) for each in place)
    return f"{kind.removesuffix('_message')} {where}: {_said(message)}".replace("\n", "⏎")


def _said(message: JsonObject) -> str:
    match message["message_type"]:
        case "tool_call_message":
            calls: list[JsonObject] = message["tool_calls"]
            assert message["tool_call"] == calls[0]
            assert all(list(call) == ["name", "arguments", "tool_call_id"] for call in calls)
            return "; ".join(f"{call['tool_call_id']} {call['name']} {call['arguments']}" for call in calls)
        case "tool_return_message":
            returns: list[JsonObject] = message["tool_returns"]
            assert all(list(each) == ["type", *_RETURN] for each in returns)
            assert {"type": "tool"} | {key: message[key] for key in _RETURN} == returns[0]
            outcomes = (f"{each['tool_call_id']} {each['status']} {each['tool_return']}" for each in returns)
            return f"{message['name']}: {'; '.join(outcomes)}"
        case "reasoning_message":
            assert message["signature"] is None
            return f"[{message['source']}] {message['reasoning']}"
        case "summary_message":
            return str(message["summary"])
        case "event_message":
            return f"{message['event_type']} {message['event_data']['trigger']}"
        case kind:
            return str(message[OWN[kind][-1]])
