"""Streams in short, so that a whole one can be compared: one line for each run of like frames."""

from itertools import groupby
from typing import cast

from tests.support.wire import COMMON, OWN, Frame, Scrubber, told

from remanence.kit import json
from remanence.kit.json import JsonObject

_USAGE = [
    "message_type",
    "completion_tokens",
    "prompt_tokens",
    "total_tokens",
    "step_count",
    "run_ids",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "context_tokens",
]
_IN_PIECES = ("assistant_message", "reasoning_message", "tool_call_message")
_ERROR = ["message_type", "run_id", "error_type", "message", "detail", "seq_id"]


def flow(frames: list[Frame], scrubber: Scrubber | None = None) -> list[str]:
    """Frames of the same part of a message are one line, their pieces set apart by `|`.

    Checks on the way that every frame has exactly the keys of its type, in their order.
    """
    names = scrubber or Scrubber()
    lines: list[str] = []
    for _, group in groupby(enumerate(frames), key=_part_of):
        lines += _lines([frame for _, frame in group], names)
    return lines


def _part_of(numbered: tuple[int, Frame]) -> object:
    """What frames of one part have in common; frames that stand alone have only themselves."""
    number, frame = numbered
    return (frame["otid"], frame.kind) if frame.kind in _IN_PIECES else number


def _lines(frames: list[Frame], names: Scrubber) -> list[str]:
    first = frames[0]
    match first.kind:
        case "[DONE]":
            return ["[DONE]"]
        case "ping":
            assert list(first.fields) == COMMON
            assert {key for key, value in first.fields.items() if value is not None} == {
                "id",
                "date",
                "message_type",
                "run_id",
            }
            return [f"ping {names(first['run_id'])}"]
        case "stop_reason":
            assert list(first.fields) == ["message_type", "stop_reason"]
            return [f"stop_reason {first['stop_reason']}"]
        case "usage_statistics":
            assert list(first.fields) == _USAGE
            return [f"usage of {first['step_count']} steps"]
        case "error_message":
            assert (list(first.fields), first.event) == (_ERROR, "error")
            code = str(first["detail"]).split(":")[0]
            assert first["detail"] == f"{code}: {first['message']}"
            return [f"error {names(first['run_id'])}: {first['error_type']} {code}"]
        case "tool_call_message" if isinstance(first["tool_calls"], dict):
            return [_calls_in_pieces([frame.fields for frame in frames], names)]
        case "assistant_message" | "reasoning_message":
            return [_text_in_pieces([frame.fields for frame in frames], names)]
        case _:
            return told([frame.fields for frame in frames], names)


def _text_in_pieces(bodies: list[JsonObject], names: Scrubber) -> str:
    key = OWN[bodies[0]["message_type"]][-2 if "reasoning" in bodies[0] else -1]
    whole = {**bodies[0], key: "|".join(body[key] for body in bodies)}
    for body in bodies:
        assert list(body) == list(whole)
        assert {**body, key: ""} == {**whole, key: ""}, "only the text differs from piece to piece"
    return told([whole], names)[0]


def _calls_in_pieces(bodies: list[JsonObject], names: Scrubber) -> str:
    said: list[str] = []
    for body in bodies:
        assert list(body) == COMMON + OWN["tool_call_message"]
        call: JsonObject = body["tool_call"]
        assert body["tool_calls"] == call
        assert {**body, "tool_call": 0, "tool_calls": 0} == {**bodies[0], "tool_call": 0, "tool_calls": 0}
        match call:
            case {"name": name, "tool_call_id": id} if len(call) == 2:
                said.append(f"{id} {name} ")
            case {"arguments": text, "tool_call_id": id} if len(call) == 2:
                assert said, "a call is named before its arguments"
                said[-1] += f"|{text}"
            case _:
                raise AssertionError(f"not a piece of a call: {call}")
    short = names(bodies[0])
    return f"tool_call {short['otid']} {short['step_id']} {short['run_id']}: {'; '.join(said)}"


def spoken(frames: list[Frame]) -> JsonObject:
    """What the pieces of each part add up to, by otid: texts, and arguments by the id of their call.

    Without the heartbeat: the decision about it is taken when a call has been written in full.
    """
    texts: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for frame in frames:
        match frame.data:
            case {"message_type": "assistant_message", "otid": otid, "content": text}:
                texts[otid] = texts.get(otid, "") + text
            case {"message_type": "reasoning_message", "otid": otid, "reasoning": text}:
                texts[otid] = texts.get(otid, "") + text
            case {"message_type": "tool_call_message", "tool_calls": given}:
                for call in cast("list[JsonObject]", given if isinstance(given, list) else [given]):
                    id = call["tool_call_id"]
                    arguments[id] = arguments.get(id, "") + call.get("arguments", "")
            case _:
                pass
    return texts | {id: _without_heartbeat(text) for id, text in arguments.items()}


def _without_heartbeat(arguments: str) -> JsonObject:
    return {name: value for name, value in json.decode(arguments).items() if name != "request_heartbeat"}
