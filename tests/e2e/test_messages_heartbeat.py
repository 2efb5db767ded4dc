"""Speaking to agents that answer through tools: heartbeats, inner thoughts and how turns end."""

import pytest
from inline_snapshot import snapshot
from tests.support.script import Line, calls, calls_raw, says, thinks
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.wire import Scrubber, told

from remanence.kit import json

HELLO = calls("send_message", thinking="A greeting.", message="Hello!")
PLUMS = calls(
    "core_memory_append",
    thinking="I keep that.",
    label="human",
    content="Eve likes plums.",
    request_heartbeat=True,
)


@pytest.mark.promise("heartbeat.speech")
def test_speech_is_shown_as_an_assistant_message(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello there", HELLO.counting(prompt=4490, completion=26))
    assert told(answer["messages"]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] A greeting.",
            "assistant message-1/1 step-1 run-1: Hello!",
        ]
    )
    assert stop_reason(answer) == "end_turn"
    assert answer["usage"]["context_tokens"] is None


@pytest.mark.promise("heartbeat.speech")
def test_speech_is_shown_as_the_call_that_it_is_when_asked_for(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello again", HELLO, use_assistant_message=False)
    assert told(answer["messages"]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] A greeting.",
            'tool_call message-1/1 step-1 run-1: call_1_0 send_message {"message": "Hello!", "request_heartbeat": false}',
            "tool_return message-2/0 step-1 run-1: send_message: call_1_0 success Sent.",
        ]
    )


@pytest.mark.promise("heartbeat.chain")
def test_a_heartbeat_chains_a_memory_edit_and_the_answer(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "I like plums", PLUMS, HELLO)
    assert told(answer["messages"]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I keep that.",
            'tool_call message-1/1 step-1 run-1: call_1_0 core_memory_append {"label": "human", "content": "Eve likes plums.", "request_heartbeat": true}',
            "tool_return message-2/0 step-1 run-1: core_memory_append: call_1_0 success Name: Eve⏎Eve likes plums.",
            "reasoning message-3/0 step-2 run-1: [non_reasoner_model] A greeting.",
            "assistant message-3/1 step-2 run-1: Hello!",
        ]
    )
    assert stop_reason(answer) == "end_turn"
    assert talk.block(agent, "human") == "Name: Eve\nEve likes plums."


@pytest.mark.promise("heartbeat.notices")
def test_the_history_shows_login_heartbeat_and_packed_notices(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.say(agent, "I like plums", PLUMS, HELLO)
    listed = talk.history(agent)
    assert kinds(listed) == snapshot(
        [
            "system",
            "reasoning",
            "assistant",
            "user",
            "user",
            "reasoning",
            "tool_call",
            "tool_return",
            "user",
            "reasoning",
            "assistant",
        ]
    )
    login, heartbeat = (json.decode(listed[index]["content"]) for index in (3, 8))
    assert list(login) == ["type", "last_login", "time"]
    assert (list(heartbeat), heartbeat["type"]) == (["type", "reason", "time"], "heartbeat")
    assert listed[8]["otid"] is None
    assert listed[8]["step_id"] == listed[7]["step_id"]


@pytest.mark.promise("heartbeat.notices")
def test_the_history_can_be_read_without_the_convenience(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.say(agent, "Hello", HELLO)
    names = Scrubber()
    assert told(talk.history(agent, limit=3), names) == snapshot(
        [
            "user message-1 otid-1 step-1 run-1: Hello",
            "reasoning message-2/0 step-1 run-1: [non_reasoner_model] A greeting.",
            "assistant message-2/1 step-1 run-1: Hello!",
        ]
    )
    assert told(talk.history(agent, limit=3, use_assistant_message=False), names) == snapshot(
        [
            "user message-1 otid-1 step-1 run-1: Hello",
            "reasoning message-2/0 step-1 run-1: [non_reasoner_model] A greeting.",
            'tool_call message-2/1 step-1 run-1: call_1_0 send_message {"message": "Hello!", "request_heartbeat": false}',
            "tool_return message-3/0 step-1 run-1: send_message: call_1_0 success Sent.",
        ]
    )


@pytest.mark.promise("heartbeat.speech")
def test_another_tool_may_be_the_one_that_speaks(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(
        agent,
        "I like plums",
        PLUMS,
        HELLO,
        assistant_message_tool_name="core_memory_append",
        assistant_message_tool_kwarg="content",
    )
    assert told(answer["messages"]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [non_reasoner_model] I keep that.",
            "assistant message-1/1 step-1 run-1: Eve likes plums.",
            "reasoning message-2/0 step-2 run-1: [non_reasoner_model] A greeting.",
            'tool_call message-2/1 step-2 run-1: call_2_0 send_message {"message": "Hello!", "request_heartbeat": false}',
            "tool_return message-3/0 step-2 run-1: send_message: call_2_0 success Sent.",
        ]
    )


@pytest.mark.promise("heartbeat.arguments")
def test_the_model_is_offered_a_thought_and_a_heartbeat_with_every_tool(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.say(agent, "Hello", HELLO)
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in talk.model.last.tools}
    assert list(parameters["core_memory_append"]["properties"]) == snapshot(
        ["thinking", "label", "content", "request_heartbeat"]
    )
    assert parameters["core_memory_append"]["required"] == snapshot(
        ["thinking", "label", "content", "request_heartbeat"]
    )
    assert list(parameters["send_message"]["properties"]) == ["thinking", "message"]
    assert talk.model.last.body["tool_choice"] == "required"


@pytest.mark.promise("heartbeat.arguments")
def test_the_model_sees_its_thoughts_where_it_had_them(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.say(agent, "I like plums", PLUMS, HELLO)
    sent = talk.model.last.messages
    assert [message["role"] for message in sent] == snapshot(
        ["system", "assistant", "tool", "user", "user", "assistant", "tool", "user"]
    )
    assert sent[-3]["tool_calls"][0]["function"]["arguments"] == snapshot(
        '{"thinking": "I keep that.", "label": "human", "content": "Eve likes plums.", "request_heartbeat": true}'
    )
    assert json.decode(sent[-1]["content"])["type"] == "heartbeat"


@pytest.mark.promise("window.prefix")
def test_prompts_of_a_heartbeat_agent_only_grow_at_their_end(talk: Talk) -> None:
    agent = talk.agent("memgpt_v2_agent")
    talk.say(agent, "Hi", calls("conversation_search", query="x", request_heartbeat=True), HELLO)
    talk.say(agent, "Hi again", HELLO)
    seen = [[json.encode(each) for each in request.messages] for request in talk.model.journal]
    assert seen[1][: len(seen[0])] == seen[0]
    assert seen[2][: len(seen[1])] == seen[1]


STOPS: list[tuple[str, tuple[Line, ...], str, int]] = [
    ("speech ends the turn", (HELLO,), "end_turn", 1),
    (
        "speech that also asked to go on",
        (calls("send_message", message="Hi", request_heartbeat=True),),
        "tool_rule",
        1,
    ),
    ("no tool call", (says("Just words"),), "no_tool_call", 1),
    (
        "a tool whose rule goes on",
        (calls("core_memory_append", label="human", content="x", request_heartbeat=False), HELLO),
        "end_turn",
        2,
    ),
    ("a tool that failed", (calls("core_memory_append", label="nobody", content="x"), HELLO), "end_turn", 2),
    ("an unknown tool", (calls("fly"), HELLO), "end_turn", 2),
    ("arguments that cannot be read", (calls_raw("send_message", "Hello"), HELLO), "end_turn", 2),
]


@pytest.mark.promise("heartbeat.stops")
@pytest.mark.parametrize(
    ("lines", "reason", "steps"), [case[1:] for case in STOPS], ids=[case[0] for case in STOPS]
)
def test_how_a_turn_ends(talk: Talk, lines: tuple[Line, ...], reason: str, steps: int) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello", *lines)
    assert (stop_reason(answer), answer["usage"]["step_count"]) == (reason, steps)
    assert talk.say(agent, "Still there?", HELLO)["stop_reason"]["stop_reason"] == "end_turn"


@pytest.mark.promise("heartbeat.speech")
def test_speech_that_failed_is_shown_as_the_call_that_it_was(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello", calls_raw("send_message", "Hello"), HELLO)
    assert kinds(answer["messages"]) == ["tool_call", "tool_return", "reasoning", "assistant"]
    assert answer["messages"][1]["status"] == "error"


@pytest.mark.promise("heartbeat.stops")
def test_words_without_a_call_are_kept_as_a_thought_and_the_run_has_failed(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello", says("Just words"))
    assert told(answer["messages"]) == snapshot(
        ["reasoning message-1/0 step-1 run-1: [non_reasoner_model] Just words"]
    )
    run = talk.run_of(answer)
    assert (run["status"], run["stop_reason"]) == ("failed", "no_tool_call")


@pytest.mark.promise("heartbeat.chain")
def test_a_tool_without_rules_goes_on_only_when_it_asks_to(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent", include_base_tool_rules=False)
    quiet = calls("core_memory_append", label="human", content="x", request_heartbeat=False)
    answer = talk.say(agent, "Hello", quiet)
    assert (kinds(answer["messages"]), stop_reason(answer)) == (["tool_call", "tool_return"], "end_turn")
    answer = talk.say(agent, "Hello", PLUMS, HELLO)
    assert stop_reason(answer) == "end_turn"
    assert answer["usage"]["step_count"] == 2


@pytest.mark.promise("heartbeat.arguments")
def test_the_decision_taken_is_what_is_stored_with_the_call(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    quiet = calls("core_memory_append", label="human", content="x", request_heartbeat=False)
    answer = talk.say(agent, "Hello", quiet, PLUMS, max_steps=2)
    stored = [json.decode(m["tool_call"]["arguments"]) for m in answer["messages"] if "tool_call" in m]
    assert [each["request_heartbeat"] for each in stored] == [True, False]
    assert stop_reason(answer) == "max_steps"


@pytest.mark.promise("heartbeat.thoughts")
def test_native_reasoning_of_a_heartbeat_agent_stands_before_its_thought(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "Hello", thinks("Deep.") + HELLO)
    assert told(answer["messages"]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [reasoner_model] Deep.",
            "reasoning message-1/1 step-1 run-1: [non_reasoner_model] A greeting.",
            "assistant message-1/2 step-1 run-1: Hello!",
        ]
    )


@pytest.mark.promise("heartbeat.chain")
def test_only_the_first_of_several_calls_counts(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent", parallel_tool_calls=True)
    answer = talk.say(agent, "Hello", PLUMS + HELLO, HELLO)
    assert kinds(answer["messages"]) == ["reasoning", "tool_call", "tool_return", "reasoning", "assistant"]
    assert talk.model.journal[0].body["parallel_tool_calls"] is False


@pytest.mark.promise("kinds.sleeptime")
def test_a_sleeptime_agent_ends_its_turn_with_its_last_edit(talk: Talk) -> None:
    agent = talk.agent("sleeptime_agent")
    answer = talk.say(
        agent,
        "The transcript",
        calls("memory_rethink", label="human", new_memory="Name: Eve. Likes plums."),
        calls("memory_finish_edits"),
    )
    assert kinds(answer["messages"]) == ["tool_call", "tool_return", "tool_call", "tool_return"]
    assert stop_reason(answer) == "tool_rule"
    assert talk.block(agent, "human") == "Name: Eve. Likes plums."


@pytest.mark.promise("kinds.workflow")
def test_a_workflow_agent_forgets_each_turn_but_keeps_its_history(talk: Talk) -> None:
    agent = talk.agent("workflow_agent", tools=["send_message"])
    talk.say(agent, "One", HELLO)
    talk.say(agent, "Two", HELLO)
    assert [message["role"] for message in talk.model.last.messages] == ["system", "user"]
    assert talk.model.last.last_user == "Two"
    listed = talk.history(agent)
    assert [m["content"] for m in listed if m["message_type"] == "user_message"][1:] == ["One", "Two"]
    last_turn = dict.fromkeys(m["id"] for m in talk.history(agent, limit=3, use_assistant_message=False))
    assert talk.get(f"/v1/agents/{agent['id']}")["message_ids"] == [listed[0]["id"], *last_turn]


@pytest.mark.promise("kinds.react")
def test_a_react_agent_works_with_the_tools_it_is_given(talk: Talk) -> None:
    agent = talk.agent("react_agent", tools=["send_message", "conversation_search"])
    answer = talk.say(agent, "Hello", HELLO)
    assert kinds(answer["messages"]) == ["reasoning", "assistant"]
    assert "<memory_blocks>" not in talk.model.last.system


@pytest.mark.promise("heartbeat.stops")
def test_a_heartbeat_agent_without_tools_has_nothing_to_call(talk: Talk) -> None:
    agent = talk.agent("react_agent")
    answer = talk.say(agent, "Hello", says("Just words"))
    assert stop_reason(answer) == "no_tool_call"
    assert "tools" not in talk.model.last.body


@pytest.mark.promise("heartbeat.start")
def test_an_initial_sequence_replaces_the_first_messages(talk: Talk) -> None:
    agent = talk.agent(
        "memgpt_agent",
        initial_message_sequence=[
            {"role": "user", "content": "My name is Bob", "name": "bob"},
            {"role": "assistant", "content": "Hello Bob"},
            {"role": "system", "content": "The shop closes."},
        ],
    )
    assert kinds(talk.history(agent)) == snapshot(["system", "user", "assistant", "system"])
    talk.say(agent, "Who am I?", HELLO)
    sent = talk.model.last.messages[1:]
    assert [message["role"] for message in sent] == snapshot(["user", "assistant", "tool", "system", "user"])
    assert list(json.decode(sent[0]["content"])) == ["type", "message", "time", "name"]
    assert talk.history(agent)[1]["content"] == "My name is Bob"


@pytest.mark.promise("heartbeat.start")
def test_an_empty_initial_sequence_leaves_the_system_message_alone(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent", initial_message_sequence=[])
    assert kinds(talk.history(agent)) == ["system"]


@pytest.mark.promise("heartbeat.speech")
def test_the_sdk_reads_thoughts_and_speech(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.model.script(HELLO)
    answer = talk.sdk.agents.messages.create(agent["id"], messages=[{"role": "user", "content": "Hi"}])
    assert [message.message_type for message in answer.messages] == [
        "reasoning_message",
        "assistant_message",
    ]


@pytest.mark.promise("heartbeat.speech")
def test_speech_with_arguments_in_pieces_of_other_languages(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    answer = talk.say(agent, "你好", calls("send_message", thinking="问候。", message="你好 👋"))
    assert [message.get("reasoning") or message["content"] for message in answer["messages"]] == [
        "问候。",
        "你好 👋",
    ]
    assert talk.http.get(messages_path(agent), params={"limit": 2}).json()[-1]["content"] == "你好 👋"
