"""Answers as streams, step by step and token by token, frame by frame."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.flows import flow, spoken
from tests.support.script import Line, calls, calls_raw, says, thinks
from tests.support.talks import SDK_MARK, Talk, kinds, messages_path
from tests.support.wire import Frame, Scrubber, read_frames, told

LEEKS = calls("memory_insert", label="human", new_string="I grow leeks.")
SPEECH = calls("send_message", thinking="I will answer them.", message="One two three")
APPEND = calls(
    "core_memory_append",
    thinking="I keep that.",
    label="human",
    content="I grow kale.",
    request_heartbeat=True,
)


@pytest.mark.promise("streams.steps")
def test_steps_of_a_plain_answer(talk: Talk) -> None:
    agent = talk.agent()
    assert flow(talk.stream(agent, "Say 'pong'", says("pong"))) == snapshot(
        [
            "ping run-1",
            "assistant message-1/0 step-1 run-1: pong",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.steps")
def test_steps_of_a_tool_call_and_the_answer(talk: Talk) -> None:
    agent = talk.agent()
    assert flow(talk.stream(agent, "Leeks!", LEEKS, says("Done, it is noted."))) == snapshot(
        [
            "ping run-1",
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "I grow leeks."}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎I grow leeks.",
            "assistant message-3/0 step-2 run-1: Done, it is noted.",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.steps")
def test_steps_of_an_agent_that_speaks_through_a_tool(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    assert flow(talk.stream(agent, "Kale!", APPEND, SPEECH)) == snapshot(
        [
            "ping run-1",
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I keep that.",
            'tool_call message-1/1 step-1 run-1: call_1_0 core_memory_append {"label": "human", "content": "I grow kale.", "request_heartbeat": true}',
            "tool_return message-2/0 step-1 run-1: core_memory_append: call_1_0 success Name: Eve⏎I grow kale.",
            "reasoning message-3/0 step-2 run-1: [non_reasoner_model] I will answer them.",
            "assistant message-3/1 step-2 run-1: One two three",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_a_plain_answer(talk: Talk) -> None:
    agent = talk.agent()
    assert flow(talk.stream(agent, "Count", says("one two three"), stream_tokens=True)) == snapshot(
        [
            "ping run-1",
            "assistant message-1/0 step-1 run-1: one |two |three",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_a_tool_call_and_the_answer(talk: Talk) -> None:
    agent = talk.agent()
    frames = talk.stream(agent, "Leeks!", LEEKS, says("Done, it is noted."), stream_tokens=True)
    assert flow(frames) == snapshot(
        [
            "ping run-1",
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert |{"label": "h|uman", "new_|string": "I |grow leeks."|}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎I grow leeks.",
            "assistant message-3/0 step-2 run-1: Done, |it |is |noted.",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_reasoning_text_and_parallel_calls(talk: Talk) -> None:
    agent = talk.agent(parallel_tool_calls=True)
    both = thinks("Two things.") + says("A moment.") + LEEKS
    both += calls("memory_insert", label="persona", new_string="I like leeks.")
    assert flow(talk.stream(agent, "Leeks!", both, says("Done."), stream_tokens=True)) == snapshot(
        [
            "ping run-1",
            "reasoning message-1/0 step-1 run-1: [reasoner_model] Two |things.",
            "assistant message-1/1 step-1 run-1: A |moment.",
            'tool_call message-1/2 step-1 run-1: call_1_0 memory_insert |{"label": "h|uman", "new_|string": "I |grow leeks."|}; call_1_1 memory_insert |{"label": "p|ersona", "ne|w_string": "|I like leeks|."}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎I grow leeks.; call_1_1 success I am calm.⏎I like leeks.",
            "assistant message-3/0 step-2 run-1: Done.",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_calls_that_do_not_count_are_not_sent(talk: Talk) -> None:
    agent = talk.agent()
    both = LEEKS + calls("memory_insert", label="persona", new_string="I like leeks.")
    assert flow(talk.stream(agent, "Leeks!", both, says("Done."), stream_tokens=True)) == snapshot(
        [
            "ping run-1",
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert |{"label": "h|uman", "new_|string": "I |grow leeks."|}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎I grow leeks.",
            "assistant message-3/0 step-2 run-1: Done.",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_thought_and_speech(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    assert flow(talk.stream(agent, "Count", SPEECH, stream_tokens=True)) == snapshot(
        [
            "ping run-1",
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I will ans|wer them.",
            "assistant message-1/1 step-1 run-1: One two thre|e",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_a_thought_a_call_and_speech(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    assert flow(talk.stream(agent, "Kale!", APPEND, SPEECH, stream_tokens=True)) == snapshot(
        [
            "ping run-1",
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I keep tha|t.",
            'tool_call message-1/1 step-1 run-1: call_1_0 core_memory_append |{"label": "human"|, "content": "I| grow kale."|, "request_heartbeat": t|rue}',
            "tool_return message-2/0 step-1 run-1: core_memory_append: call_1_0 success Name: Eve⏎I grow kale.",
            "reasoning message-3/0 step-2 run-1: [non_reasoner_model] I will ans|wer them.",
            "assistant message-3/1 step-2 run-1: One two thre|e",
            "stop_reason end_turn",
            "usage of 2 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.tokens")
def test_tokens_of_speech_as_the_call_that_it_is(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    frames = talk.stream(agent, "Count", SPEECH, stream_tokens=True, use_assistant_message=False)
    assert flow(frames) == snapshot(
        [
            "ping run-1",
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I will ans|wer them.",
            'tool_call message-1/1 step-1 run-1: call_1_0 send_message |{"message": "|One two thre|e"}',
            "tool_return message-2/0 step-1 run-1: send_message: call_1_0 success Sent.",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )


REPLIES: dict[str, tuple[str, tuple[Line, ...]]] = {
    "words": ("letta_v1_agent", (says('Grüße, 世界! "Quoted" and\nnew line 👋'),)),
    "reasoning, words and a call": (
        "letta_v1_agent",
        (thinks("I think.") + says("So.") + LEEKS, thinks("Again.") + says("Done.")),
    ),
    "a call that fails": ("letta_v1_agent", (calls("fly", to="the moon"), says("No."))),
    "a whole body instead of a stream": ("letta_v1_agent", (LEEKS.whole(), says("Done.").whole())),
    "thought and speech": ("memgpt_agent", (SPEECH,)),
    "a thought, a call, speech": ("memgpt_agent", (APPEND, SPEECH)),
    "words around a call": ("memgpt_agent", (says("Hm. ") + APPEND, thinks("Deep.") + SPEECH)),
    "no arguments": ("memgpt_agent", (calls_raw("memory", "{}"), SPEECH)),
    "speech in other letters": (
        "memgpt_agent",
        (calls_raw("send_message", '{"thinking": "\\u95ee", "message": "\\ud83d\\udc4b \\"hi\\"\\n"}'),),
    ),
}


@pytest.mark.promise("streams.sums")
@pytest.mark.parametrize(("agent_type", "lines"), REPLIES.values(), ids=REPLIES)
def test_the_pieces_of_a_stream_add_up_to_what_is_stored(
    talk: Talk, agent_type: str, lines: tuple[Line, ...]
) -> None:
    agent = talk.agent(agent_type)
    frames = talk.stream(agent, "Go on", *lines, stream_tokens=True)
    run_id = frames[0]["run_id"]
    stored = [m for m in talk.history(agent) if m["run_id"] == run_id and m["message_type"] != "user_message"]
    assert spoken(frames) == spoken([Frame(message) for message in stored])
    streamed = {(f["message_type"], f["otid"]) for f in frames if "otid" in f.data and f["otid"]}
    assert streamed == {(m["message_type"], m["otid"]) for m in stored}


@pytest.mark.promise("streams.tokens")
def test_a_thought_that_comes_late_does_not_tear_the_call_apart(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    late = calls(
        "core_memory_append", label="human", content="Kale.", thinking="Late.", request_heartbeat=True
    )
    frames = talk.stream(agent, "Kale!", late, SPEECH, stream_tokens=True)
    assert [frame.kind for frame in frames if frame.kind == "reasoning_message"]
    assert spoken(frames)["call_1_0"] == {"label": "human", "content": "Kale."}


@pytest.mark.promise("send.types")
def test_the_types_in_a_stream_can_be_chosen(talk: Talk) -> None:
    agent = talk.agent()
    wanted = ["assistant_message"]
    for tokens in (False, True):
        frames = talk.stream(
            agent,
            "Leeks!",
            thinks("Hm.") + LEEKS,
            says("Done."),
            stream_tokens=tokens,
            include_return_message_types=wanted,
        )
        assert [frame.kind for frame in frames] == [
            "ping",
            "assistant_message",
            "stop_reason",
            "usage_statistics",
            "[DONE]",
        ]
    assert kinds(talk.history(agent, limit=4))[:2] == ["user", "reasoning"]


@pytest.mark.promise("streams.pings")
def test_pings_can_be_left_out(talk: Talk) -> None:
    agent = talk.agent()
    assert flow(
        talk.stream(agent, "Count", says("one two"), stream_tokens=True, include_pings=False)
    ) == snapshot(
        ["assistant message-1/0 step-1 run-1: one |two", "stop_reason end_turn", "usage of 1 steps", "[DONE]"]
    )


@pytest.mark.promise("send.streaming")
def test_a_stream_over_the_plain_route_has_the_same_frames(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("pong"))
    response = talk.http.post(
        messages_path(agent), json={"input": "ping", "streaming": True}, headers=SDK_MARK
    )
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert flow(read_frames(response.content)) == snapshot(
        [
            "ping run-1",
            "assistant message-1/0 step-1 run-1: pong",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )


@pytest.mark.promise("streams.sdk")
def test_the_sdk_reads_a_stream_of_tokens(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(LEEKS, says("one two"))
    stream = talk.sdk.agents.messages.create(
        agent["id"], messages=[{"role": "user", "content": "Count"}], streaming=True, stream_tokens=True
    )
    seen = [chunk.message_type for chunk in stream]
    assert seen == snapshot(
        [
            "ping",
            "tool_call_message",
            "tool_call_message",
            "tool_call_message",
            "tool_call_message",
            "tool_call_message",
            "tool_call_message",
            "tool_return_message",
            "assistant_message",
            "assistant_message",
            "stop_reason",
            "usage_statistics",
        ]
    )


@pytest.mark.promise("streams.sdk")
def test_the_sdk_reads_a_stream_of_steps(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.model.script(SPEECH)
    messages: Any = talk.sdk.agents.messages  # the older way, which clients still use
    with pytest.warns(DeprecationWarning, match="deprecated"):
        stream = messages.stream(agent["id"], messages=[{"role": "user", "content": "Count"}])
    assert [chunk.message_type for chunk in stream] == snapshot(
        ["ping", "reasoning_message", "assistant_message", "stop_reason", "usage_statistics"]
    )


@pytest.mark.promise("streams.steps")
def test_what_is_streamed_is_listed_under_the_same_ids(talk: Talk) -> None:
    agent = talk.agent()
    frames = talk.stream(agent, "Leeks!", LEEKS, says("Done."))
    names = Scrubber()
    shown = [line for line in flow(frames, names) if line.startswith(("tool", "assistant"))]
    assert told(talk.history(agent, limit=3), names) == shown


@pytest.mark.promise("streams.steps")
def test_several_inputs_and_parts_may_be_streamed_too(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Both."))
    messages = [{"role": "user", "content": [{"type": "text", "text": word}]} for word in ("one", "two")]
    response = talk.http.post(f"{messages_path(agent)}/stream", json={"messages": messages})
    assert [frame.kind for frame in read_frames(response.content)][1] == "assistant_message"
    assert talk.model.last.roles == ["system", "user", "user"]
