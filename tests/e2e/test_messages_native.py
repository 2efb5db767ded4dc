"""Speaking to agents that answer in plain words: what goes in, what comes back, what the model sees."""

import pytest
from inline_snapshot import snapshot
from tests.support.script import calls, calls_raw, says, thinks
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.wire import Scrubber, scrub, told

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")


@pytest.mark.promise("send.answer")
def test_a_plain_answer_has_the_shape_that_clients_know(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(
        agent, "Hello there", says("Hello! How can I help?").counting(prompt=2314, completion=8)
    )
    assert scrub(answer) == snapshot(
        {
            "messages": [
                {
                    "id": "message-1",
                    "date": "<date>",
                    "name": None,
                    "message_type": "assistant_message",
                    "otid": "message-1/0",
                    "sender_id": None,
                    "step_id": "step-1",
                    "is_err": None,
                    "seq_id": None,
                    "run_id": "run-1",
                    "content": "Hello! How can I help?",
                }
            ],
            "stop_reason": {"message_type": "stop_reason", "stop_reason": "end_turn"},
            "usage": {
                "message_type": "usage_statistics",
                "completion_tokens": 8,
                "prompt_tokens": 2314,
                "total_tokens": 2322,
                "step_count": 1,
                "run_ids": None,
                "cached_input_tokens": 0,
                "cache_write_tokens": 0,
                "reasoning_tokens": 0,
                "context_tokens": 2322,
            },
            "logprobs": None,
            "turns": None,
        }
    )
    assert list(answer) == snapshot(["messages", "stop_reason", "usage", "logprobs", "turns"])
    assert list(answer["usage"]) == snapshot(
        [
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
    )


@pytest.mark.promise("send.ids")
def test_what_was_said_is_listed_under_the_ids_of_the_answer(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Hello there", says("Hello!"))
    names = Scrubber()
    names(answer["messages"])
    assert told(talk.history(agent)[1:], names) == snapshot(
        [
            "user message-2 otid-1 step-1 run-1: Hello there",
            "assistant message-1/0 step-1 run-1: Hello!",
        ]
    )


@pytest.mark.promise("send.inputs")
def test_parts_otid_and_name_of_an_input_are_kept(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("pong"))
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "Say 'pong'"}],
        "otid": "otid-from-client-1",
        "name": "eve_h",
    }
    talk.ask("POST", messages_path(agent), json={"messages": [message]})
    assert scrub(talk.history(agent)[1]) == snapshot(
        {
            "id": "message-1",
            "date": "<date>",
            "name": "eve_h",
            "message_type": "user_message",
            "otid": "otid-from-client-1",
            "sender_id": None,
            "step_id": "step-1",
            "is_err": None,
            "seq_id": None,
            "run_id": "run-1",
            "content": "Say 'pong'",
        }
    )
    assert talk.model.last.messages[-1] == snapshot(
        {"role": "user", "content": "Say 'pong'", "name": "eve_h"}
    )


@pytest.mark.promise("native.tools")
def test_a_memory_tool_and_then_the_answer(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Remember that I like figs", FIGS, says("Noted."))
    assert told(answer["messages"]) == snapshot(
        [
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "Eve likes figs."}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎Eve likes figs.",
            "assistant message-3/0 step-2 run-1: Noted.",
        ]
    )
    assert stop_reason(answer) == "end_turn"
    assert answer["usage"]["step_count"] == 2
    assert talk.block(agent, "human") == "Name: Eve\nEve likes figs."


@pytest.mark.promise("send.inputs")
def test_several_inputs_reach_the_model_in_their_order(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Understood."))
    inputs = [
        {"role": "system", "content": "The shop is closed."},
        {"role": "assistant", "content": "We are closed."},
        {"role": "user", "content": "When do you open?"},
    ]
    talk.ask("POST", messages_path(agent), json={"messages": inputs})
    assert talk.model.last.messages[1:] == snapshot(
        [
            {"role": "system", "content": "The shop is closed."},
            {"role": "assistant", "content": "We are closed."},
            {"role": "user", "content": "When do you open?"},
        ]
    )
    assert told(talk.history(agent)[1:]) == snapshot(
        [
            "system message-1 otid-1 step-1 run-1: The shop is closed.",
            "assistant message-2 otid-2 step-1 run-1: We are closed.",
            "user message-3 otid-3 step-1 run-1: When do you open?",
            "assistant message-4/0 step-1 run-1: Understood.",
        ]
    )


@pytest.mark.promise("send.types")
def test_the_types_that_come_back_can_be_chosen_and_all_are_stored(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(
        agent, "Remember figs", FIGS, says("Noted."), include_return_message_types=["tool_return_message"]
    )
    assert kinds(answer["messages"]) == ["tool_return"]
    assert kinds(talk.history(agent)) == ["system", "user", "tool_call", "tool_return", "assistant"]


@pytest.mark.promise("native.text")
def test_text_beside_a_tool_call_is_told_and_sent_back_to_the_model(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", says("One moment.") + FIGS, says("Noted."))
    assert told(answer["messages"]) == snapshot(
        [
            "assistant message-1/0 step-1 run-1: One moment.",
            'tool_call message-1/1 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "Eve likes figs."}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎Eve likes figs.",
            "assistant message-3/0 step-2 run-1: Noted.",
        ]
    )
    assert talk.model.last.messages[2]["content"] == "One moment."


@pytest.mark.promise("native.reasoning")
def test_reasoning_comes_first_and_is_marked_as_the_models_own(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", thinks("I should note it.") + says("Right.") + FIGS, says("Noted."))
    assert told(answer["messages"][:3]) == snapshot(
        [
            "reasoning message-1/0 step-1 run-1: [reasoner_model] I should note it.",
            "assistant message-1/1 step-1 run-1: Right.",
            'tool_call message-1/2 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "Eve likes figs."}',
        ]
    )


@pytest.mark.promise("native.tool-errors")
def test_a_tool_that_fails_returns_an_error_and_the_loop_goes_on(talk: Talk) -> None:
    agent = talk.agent()
    wrong = calls("memory_replace", label="human", old_string="Bob", new_string="Eve")
    answer = talk.say(agent, "My name is Eve", wrong, says("I knew that."))
    assert told(answer["messages"]) == snapshot(
        [
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_replace {"label": "human", "old_string": "Bob", "new_string": "Eve"}',
            'tool_return message-2/0 step-1 run-1: memory_replace: call_1_0 error human does not contain "Bob". Nothing there is like it.',
            "assistant message-3/0 step-2 run-1: I knew that.",
        ]
    )
    assert talk.model.last.last_tool_return.status == "error"


@pytest.mark.promise("native.tool-errors")
def test_an_unknown_tool_is_an_error_return_that_names_the_known_ones(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Fly!", calls("fly", height=3), says("I cannot."))
    assert told(answer["messages"]) == snapshot(
        [
            'tool_call message-1/0 step-1 run-1: call_1_0 fly {"height": 3}',
            "tool_return message-2/0 step-1 run-1: fly: call_1_0 error There is no tool fly. Your tools: conversation_search, memory_insert, memory_replace.",
            "assistant message-3/0 step-2 run-1: I cannot.",
        ]
    )


@pytest.mark.promise("native.tool-errors")
def test_broken_arguments_with_one_meaning_are_understood(talk: Talk) -> None:
    agent = talk.agent()
    broken = calls_raw("memory_insert", "{'label': 'human', 'new_string': 'Eve likes figs.'")
    answer = talk.say(agent, "Figs!", broken, says("Noted."))
    assert kinds(answer["messages"]) == ["tool_call", "tool_return", "assistant"]
    assert answer["messages"][1]["status"] == "success"
    assert talk.block(agent, "human") == "Name: Eve\nEve likes figs."


@pytest.mark.promise("native.tool-errors")
@pytest.mark.parametrize("arguments", ["not json at all", "[1, 2]", '{"label": "human"', '"human"'])
def test_arguments_that_cannot_be_read_are_an_error_return(talk: Talk, arguments: str) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", calls_raw("memory_insert", arguments), says("Sorry."))
    assert answer["messages"][1]["status"] == "error"
    assert stop_reason(answer) == "end_turn"
    assert talk.say(agent, "And now?", says("All is well."))["messages"][0]["content"] == "All is well."


@pytest.mark.promise("native.max-steps")
def test_the_last_step_ends_the_turn_whatever_was_called(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", FIGS, max_steps=1)
    assert kinds(answer["messages"]) == ["tool_call", "tool_return"]
    assert stop_reason(answer) == "max_steps"
    assert talk.run_of(answer)["status"] == "completed"


@pytest.mark.promise("native.parallel")
def test_parallel_calls_are_one_message_with_one_return_each(talk: Talk) -> None:
    agent = talk.agent(parallel_tool_calls=True)
    two = FIGS + calls("conversation_search", query="plums")
    answer = talk.say(agent, "Figs, and what of plums?", two, says("Done."))
    call, returned, spoken = answer["messages"]
    assert told([call]) == snapshot(
        [
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "Eve likes figs."}; call_1_1 conversation_search {"query": "plums"}'
        ]
    )
    assert [each["tool_call_id"] for each in returned["tool_returns"]] == ["call_1_0", "call_1_1"]
    assert [each["status"] for each in returned["tool_returns"]] == ["success", "success"]
    assert (returned["name"], spoken["content"]) == ("memory_insert", "Done.")
    assert talk.model.journal[0].body["parallel_tool_calls"] is True
    assert talk.model.last.roles == ["system", "user", "assistant", "tool", "tool"]


@pytest.mark.promise("native.parallel")
def test_without_parallel_calls_only_the_first_one_counts(talk: Talk) -> None:
    agent = talk.agent()
    two = FIGS + calls("memory_insert", label="persona", new_string="I like plums.")
    answer = talk.say(agent, "Figs and plums", two, says("Done."))
    assert told(answer["messages"]) == snapshot(
        [
            'tool_call message-1/0 step-1 run-1: call_1_0 memory_insert {"label": "human", "new_string": "Eve likes figs."}',
            "tool_return message-2/0 step-1 run-1: memory_insert: call_1_0 success Name: Eve⏎Eve likes figs.",
            "assistant message-3/0 step-2 run-1: Done.",
        ]
    )
    assert talk.block(agent, "persona") == "I am calm."
    assert talk.model.journal[0].body["parallel_tool_calls"] is False


@pytest.mark.promise("native.cut")
def test_an_answer_cut_at_the_output_limit_says_so(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Tell me all", says("It began").finishing("length"))
    assert answer["messages"][0]["content"] == "It began"
    assert stop_reason(answer) == "max_tokens_exceeded"
    assert talk.run_of(answer)["status"] == "failed"


@pytest.mark.promise("send.usage")
def test_tokens_are_summed_over_the_steps(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(
        agent,
        "Figs!",
        FIGS.counting(prompt=100, completion=10, cached=64, reasoning=4),
        says("Noted.").counting(prompt=130, completion=3, cached=96, reasoning=0),
    )
    assert answer["usage"] == snapshot(
        {
            "message_type": "usage_statistics",
            "completion_tokens": 13,
            "prompt_tokens": 230,
            "total_tokens": 243,
            "step_count": 2,
            "run_ids": None,
            "cached_input_tokens": 160,
            "cache_write_tokens": 0,
            "reasoning_tokens": 4,
            "context_tokens": 133,
        }
    )
