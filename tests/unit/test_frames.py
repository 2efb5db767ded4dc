"""From a run's events to frames, one reader at a time; and pings while nothing happens."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.flows import flow
from tests.support.wire import Frame, read_frames

from remanence.core.event import Event, RunFinished, RunUsage, StepSaved, Streamed
from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta
from remanence.core.message import Message, ToolCall, ToolReturn, text_parts
from remanence.core.run import Run
from remanence.errors import (
    AppError,
    ContextOverflow,
    EmptyReply,
    NotFound,
    ProviderAuth,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, MessageId, RunId, StepId
from remanence.messages.frames import Collected, StreamMode, Translator, error_type_of, frame_of, ping_frame
from remanence.messages.schemas import View
from remanence.runs.service import Sent
from remanence.runs.streaming import stream_frames
from remanence.runs.supervisor import Channel

RUN = RunId("run-11111111-1111-4111-8111-111111111111")
STEP = StepId("step-11111111-1111-4111-8111-111111111111")
SAID = MessageId("message-8d04c72e-d2ad-4c27-b54d-bc38d985cb68")
RETURNED = MessageId("message-1541a46a-1be0-4126-bd00-af9dca09e0ab")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
NATIVE = View(reply="native")
HEARTBEAT = View(reply="heartbeat")


def streamed(*deltas: Delta) -> Streamed:
    return Streamed(STEP, SAID, MOMENT, deltas)


def message(id: MessageId, role: str, **fields: Any) -> Message:
    return Message.model_validate(
        {
            "id": id,
            "agent_id": AgentId("agent-1"),
            "role": role,
            "created_at": MOMENT,
            "run_id": RUN,
            "step_id": STEP,
            **fields,
        }
    )


CALL = ToolCall(id="call_a", name="search", arguments='{"query": "figs"}')
SAVED = StepSaved(
    STEP,
    (
        message(SAID, "assistant", content=text_parts("Let me look."), tool_calls=(CALL,)),
        message(
            RETURNED,
            "tool",
            tool_returns=(
                ToolReturn(tool_call_id="call_a", name="search", status="success", content="none"),
            ),
        ),
        message(MessageId("message-3"), "user", content=text_parts("a notice to the model")),
    ),
)
OVER = RunFinished("end_turn", RunUsage(step_count=1))


def frames(
    *events: Event, view: View = NATIVE, mode: StreamMode = "tokens", wanted: Sequence[str] | None = None
) -> list[Frame]:
    translator = Translator(RUN, view, mode=mode, wanted_types=wanted)
    raw = b"".join(frame.numbered(None) for event in events for frame in translator.frames(event))
    return read_frames(raw) if raw else []


def test_whole_messages_when_a_step_is_saved_without_notices_to_the_model() -> None:
    assert flow(frames(streamed(TextDelta("Let me look.")), SAVED, OVER, mode="steps")) == [
        "assistant message-1/0 step-1 run-1: Let me look.",
        'tool_call message-1/1 step-1 run-1: call_a search {"query": "figs"}',
        "tool_return message-2/0 step-1 run-1: search: call_a success none",
        "stop_reason end_turn",
        "usage of 1 steps",
        "[DONE]",
    ]


def test_pieces_while_the_model_speaks_and_only_the_rest_when_it_is_saved() -> None:
    spoken = streamed(TextDelta("Let "), TextDelta("me look."))
    called = streamed(
        ToolCallDelta(0, "call_a", "search"),
        ToolCallDelta(0, arguments='{"query": "figs"}'),
        Finished("stop"),
    )
    assert flow(frames(spoken, called, SAVED)) == [
        "assistant message-1/0 step-1 run-1: Let |me look.",
        'tool_call message-1/1 step-1 run-1: call_a search |{"query": "figs"}',
        "tool_return message-2/0 step-1 run-1: search: call_a success none",
    ]


def test_a_step_that_was_not_streamed_is_told_whole_in_token_mode_too() -> None:
    assert [frame.kind for frame in frames(SAVED)] == [
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
    ]


def test_reasoning_that_is_hidden_and_pieces_without_text_are_no_frames() -> None:
    assert frames(streamed(ReasoningDelta("blob", is_redacted=True), TextDelta(""), Finished("stop"))) == []


def test_types_that_nobody_asked_for_leave_no_gap_in_the_numbering_of_parts() -> None:
    spoken = streamed(ReasoningDelta("Hm."), TextDelta("Yes."), ToolCallDelta(0, "call_a", "search"))
    shown = frames(spoken, wanted=["tool_call_message"])
    assert [(frame.kind, frame["otid"]) for frame in shown] == [
        ("tool_call_message", "8d04c72e-d2ad-4c27-b54d-bc38d985cb02")
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_thought_and_speech_come_out_however_the_arguments_are_cut(size: int) -> None:
    arguments = (
        '{"thinking": "A \\"greeting\\".", "message": "Hello\\n\\ud83d\\udc4b", "request_heartbeat": false}'
    )
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    deltas = [ToolCallDelta(0, "call_a", "send_message"), *(ToolCallDelta(0, arguments=p) for p in pieces)]
    shown = frames(streamed(*deltas), view=HEARTBEAT)
    thought = "".join(frame["reasoning"] for frame in shown if frame.kind == "reasoning_message")
    speech = "".join(frame["content"] for frame in shown if frame.kind == "assistant_message")
    assert (thought, speech) == ('A "greeting".', "Hello\n👋")
    assert {frame["otid"][-2:] for frame in shown} == {"00", "01"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_call_of_a_heartbeat_agent_is_told_without_its_thought(size: int) -> None:
    arguments = '{"thinking": "Hm.", "label": "human", "tags": ["a", {"b": "}"}], "request_heartbeat": true}'
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    deltas = [ToolCallDelta(0, "call_a", "note"), *(ToolCallDelta(0, arguments=p) for p in pieces)]
    shown = frames(streamed(*deltas), view=HEARTBEAT)
    calls = [frame["tool_call"] for frame in shown if frame.kind == "tool_call_message"]
    assert calls[0] == {"name": "note", "tool_call_id": "call_a"}
    assert "".join(each["arguments"] for each in calls[1:]) == (
        '{"label": "human", "tags": ["a", {"b": "}"}], "request_heartbeat": true}'
    )


def test_a_frame_shows_its_number_where_it_has_a_place_for_one() -> None:
    ping = ping_frame(RUN)
    assert b'"seq_id":null' in ping.numbered(None)
    assert b'"seq_id":7,' in ping.numbered(7)
    usage = frame_of({"message_type": "stop_reason", "stop_reason": "end_turn"})
    assert usage.numbered(7) == usage.numbered(None)


def test_text_that_looks_like_a_number_to_fill_in_is_left_alone() -> None:
    body = {"id": '"seq_id":null', "seq_id": None, "content": '"seq_id":null'}
    text = frame_of(body).numbered(5)
    assert read_frames(text)[0].data == {**body, "seq_id": 5}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("x"), "llm_error"),
        (ProviderRefused("x"), "llm_error"),
        (RateLimited("x"), "llm_rate_limit"),
        (ProviderAuth("x"), "llm_authentication"),
        (ProviderTimeout("x"), "llm_timeout"),
        (EmptyReply("x"), "llm_empty_response"),
        (ContextOverflow("x"), "context_window_overflow_in_system_prompt"),
        (NotFound("x"), "internal_error"),
        (AppError("x"), "internal_error"),
    ],
)
def test_each_error_has_the_type_that_streams_know(error: AppError, kind: str) -> None:
    assert error_type_of(error) == kind


def test_a_failed_run_ends_with_its_reason_its_error_and_done() -> None:
    over = RunFinished("llm_api_error", RunUsage(), RateLimited("slow down"))
    assert flow(frames(over)) == [
        "stop_reason llm_api_error",
        "error run-1: llm_rate_limit RATE_LIMIT_EXCEEDED",
        "[DONE]",
    ]


def test_a_blocking_answer_is_gathered_from_the_same_events() -> None:
    collected = Collected(NATIVE, ["tool_return_message"])
    for event in (streamed(TextDelta("Let me look.")), SAVED, OVER):
        collected.add(event)
    body = collected.body()
    assert [each["message_type"] for each in body["messages"]] == ["tool_return_message"]
    assert body["stop_reason"]["stop_reason"] == "end_turn"


def start_run(channel: Channel, task: "asyncio.Task[None]") -> Sent:
    run = Run(id=RUN, organization_id=DEFAULT_ORG_ID, agent_id=AgentId("agent-1"), created_at=MOMENT)
    return Sent(run, NATIVE, channel, task)


async def forever() -> None:
    await asyncio.Event().wait()


async def test_silence_is_filled_with_pings_until_something_happens() -> None:
    channel, task = Channel(), asyncio.create_task(forever())
    stream = stream_frames(
        start_run(channel, task), mode="tokens", wanted_types=None, has_pings=True, ping_s=0.01
    )
    seen = [read_frames(await anext(stream))[0].kind for _ in range(4)]
    assert seen == ["ping"] * 4
    channel.put(streamed(TextDelta("Yes.")))
    while (last := read_frames(await anext(stream))[0].kind) == "ping":
        pass
    assert last == "assistant_message"
    channel.put(OVER)
    rest = [chunk async for chunk in stream]
    assert [frame.kind for frame in read_frames(b"".join(rest))] == [
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]
    assert not task.cancelling()
    task.cancel()


async def test_without_pings_silence_stays_silence() -> None:
    channel, task = Channel(), asyncio.create_task(forever())
    stream = stream_frames(
        start_run(channel, task), mode="steps", wanted_types=None, has_pings=False, ping_s=0.001
    )
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    channel.put(OVER)
    assert read_frames(await waiting)[0].kind == "stop_reason"
    task.cancel()


async def test_a_reader_who_leaves_takes_the_run_along() -> None:
    channel, task = Channel(), asyncio.create_task(forever())
    stream = stream_frames(start_run(channel, task), mode="steps", wanted_types=None, has_pings=True)
    await anext(stream)
    await stream.aclose()
    with pytest.raises(asyncio.CancelledError):
        await task
