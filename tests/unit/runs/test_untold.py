"""A stream that broke off is told to its end: each word once, however far it had come."""

from itertools import groupby
from typing import cast

import pytest
from tests.support.wire import read_frames

from remanence.core.event import Event, StepSaved, Streamed
from remanence.core.llm import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from remanence.core.message import Message, ReasoningPart, ToolCall, ToolReturn, text_parts
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, id_before, new_message_id, new_run_id, new_step_id
from remanence.kit.json import JsonObject
from remanence.messages.frames import Translator
from remanence.messages.schemas import View
from remanence.runs.untold import untold_frames

RUN = new_run_id()
STEP = new_step_id()
SAID = new_message_id()
DELTAS: list[Delta] = [
    ReasoningDelta("I "),
    ReasoningDelta("see."),
    TextDelta("One "),
    TextDelta("two."),
    ToolCallDelta(0, id="call-1", name="memory_insert"),
    ToolCallDelta(0, arguments='{"label": '),
    ToolCallDelta(0, arguments='"human"}'),
    ToolCallDelta(1, id="call-2", name="memory_insert"),
    ToolCallDelta(1, arguments="{}"),
]


def stored(*, is_request: bool) -> list[Message]:
    gate = "approval" if is_request else None
    calls = (
        ToolCall(id="call-1", name="memory_insert", arguments='{"label": "human"}', gate=gate),
        ToolCall(id="call-2", name="memory_insert", arguments="{}", gate=gate),
    )
    said = Message(
        id=id_before(SAID) if is_request else SAID,
        agent_id=AgentId("agent-1"),
        role="approval" if is_request else "assistant",
        content=(ReasoningPart(is_native=True, reasoning="I see."), *text_parts("One two.")),
        tool_calls=calls,
        created_at=utc_now(),
        run_id=RUN,
        step_id=STEP,
    )
    returned = said.model_copy(
        update={
            "id": new_message_id(),
            "role": "tool",
            "content": (),
            "tool_calls": (),
            "tool_returns": tuple(
                ToolReturn(tool_call_id=call.id, name=call.name, status="success", content="Done")
                for call in calls
            ),
        }
    )
    return [said] if is_request else [said, returned]


def told(stream: bytes) -> list[JsonObject]:
    """The parts of messages, with their pieces put together and their numbers left out."""
    parts: list[JsonObject] = []
    for _, group in groupby(read_frames(stream), key=lambda frame: frame["otid"]):
        pieces = [frame.fields for frame in group]
        kind = pieces[0]["message_type"]
        part: JsonObject = {"otid": pieces[0]["otid"], "kind": kind}
        calls: dict[str, JsonObject] = {}
        for piece in pieces:
            for key in ("content", "reasoning"):
                if key in piece:
                    part[key] = part.get(key, "") + piece[key]
            if "tool_calls" in piece:
                given = piece["tool_calls"]
                for call in cast("list[JsonObject]", given if isinstance(given, list) else [given]):
                    known = calls.setdefault(call["tool_call_id"], {"name": None, "arguments": ""})
                    known["name"] = known["name"] or call.get("name")
                    known["arguments"] += call.get("arguments") or ""
        parts.append(part | calls)
    return parts


@pytest.mark.parametrize("is_request", [False, True], ids=["calls", "a request"])
@pytest.mark.parametrize("count", range(len(DELTAS) + 2))
def test_what_is_missing_is_told_and_nothing_twice(count: int, is_request: bool) -> None:
    gates = frozenset({"memory_insert"}) if is_request else frozenset[str]()
    messages = stored(is_request=is_request)
    events: list[Event] = [Streamed(STEP, SAID, utc_now(), [delta], gates) for delta in DELTAS]
    events.append(StepSaved(STEP, tuple(messages)))
    translator = Translator(RUN, View(), mode="tokens")
    before = b"".join(frame.numbered(1) for event in events[:count] for frame in translator.frames(event))
    rest = untold_frames(Translator(RUN, View(), mode="tokens").bodies(messages), before.decode())
    whole = before + b"".join(frame.numbered(1) for frame in rest)
    fresh = Translator(RUN, View(), mode="tokens")
    everything = b"".join(frame.numbered(1) for event in events for frame in fresh.frames(event))
    assert told(whole) == told(everything)
    if count == len(events):
        assert rest == []
