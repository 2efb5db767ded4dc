"""What the model sees of a conversation, and what its memory tools may and may not do."""

import re
from itertools import pairwise

import pytest
from inline_snapshot import snapshot
from tests.support.script import calls, calls_raw, fails, says, thinks
from tests.support.scripted_model import SeenRequest
from tests.support.talks import Talk, kinds, stop_reason

from remanence.kit import json

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [AP]M UTC\+0000")


def assert_each_prompt_continues_the_last(journal: list[SeenRequest]) -> None:
    """Providers keep what they have read of a prompt, as long as its beginning stays the same."""
    for before, after in pairwise(journal):
        known = [json.encode(message) for message in before.messages]
        assert [json.encode(message) for message in after.messages[: len(known)]] == known
        assert after.tools == before.tools


@pytest.mark.promise("window.form")
def test_the_model_sees_the_system_message_first_and_packed_tool_returns(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    system, *rest = talk.model.last.messages
    assert system == {"role": "system", "content": talk.history(agent)[0]["content"]}
    packed = json.decode(rest[-1]["content"])
    assert list(packed) == ["status", "message", "time"]
    assert _TIME.fullmatch(packed["time"])
    rest[-1]["content"] = {**packed, "time": "<time>"}
    assert rest == snapshot(
        [
            {"role": "user", "content": "Figs!"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1_0",
                        "type": "function",
                        "function": {
                            "name": "memory_insert",
                            "arguments": '{"label": "human", "new_string": "Eve likes figs."}',
                        },
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "call_1_0",
                "content": {
                    "status": "OK",
                    "message": """\
Name: Eve
Eve likes figs.\
""",
                    "time": "<time>",
                },
            },
        ]
    )


@pytest.mark.promise("window.form")
def test_a_failed_tool_return_is_packed_as_failed(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Fly!", calls("fly"), says("I cannot."))
    assert json.decode(talk.model.last.messages[-1]["content"])["status"] == "Failed"


@pytest.mark.promise("window.form")
def test_times_in_packed_texts_are_of_the_agents_timezone(talk: Talk) -> None:
    agent = talk.agent(timezone="Asia/Kolkata")
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    assert json.decode(talk.model.last.messages[-1]["content"])["time"].endswith("M IST+0530")


@pytest.mark.promise("window.form")
def test_the_request_carries_the_agents_tools_and_options(talk: Talk) -> None:
    agent = talk.agent(
        model_settings={"provider_type": "openai", "temperature": 0.2, "max_output_tokens": 99}
    )
    talk.say(agent, "Hi", says("Hello!"))
    body = {key: value for key, value in talk.model.last.body.items() if key not in ("messages", "tools")}
    assert body == snapshot(
        {
            "model": "gpt-4o-mini",
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": 99,
            "temperature": 0.2,
            "tool_choice": "auto",
            "parallel_tool_calls": False,
        }
    )
    assert talk.model.last.tool_names == ["conversation_search", "memory_insert", "memory_replace"]


@pytest.mark.promise("window.prefix")
def test_prompts_only_grow_at_their_end_over_steps_and_turns(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Figs!", says("A moment.") + FIGS, calls("fly"), thinks("Hm.") + says("Noted."))
    talk.say(agent, "Anything else?", says("No."))
    talk.stream(agent, "Sure?", FIGS, says("Yes."), stream_tokens=True)
    assert len(talk.model.journal) == 6
    assert_each_prompt_continues_the_last(talk.model.journal)


@pytest.mark.promise("window.edits")
def test_an_edit_is_in_the_block_at_once_and_in_the_system_message_when_compiled_anew(talk: Talk) -> None:
    agent = talk.agent()
    before = talk.history(agent)[0]
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    assert talk.block(agent, "human") == "Name: Eve\nEve likes figs."
    assert talk.history(agent)[0] == before
    talk.ask("POST", f"/v1/agents/{agent['id']}/recompile")
    after = talk.history(agent)[0]
    assert after["id"] == before["id"]
    assert "Eve likes figs." in after["content"]
    talk.say(agent, "What do I like?", says("Figs."))
    assert talk.model.last.system == after["content"]


@pytest.mark.promise("window.edits")
def test_two_edits_of_one_step_build_on_each_other(talk: Talk) -> None:
    agent = talk.agent(parallel_tool_calls=True)
    both = FIGS + calls(
        "memory_replace", label="human", old_string="Eve likes figs.", new_string="Eve likes plums."
    )
    talk.say(agent, "Figs! No, plums!", both, says("Noted."))
    assert talk.block(agent, "human") == "Name: Eve\nEve likes plums."


@pytest.mark.promise("window.edits")
def test_an_edit_of_a_shared_block_is_seen_by_every_holder(talk: Talk) -> None:
    block = talk.tenant.block("city", "Lisbon")
    agent, other = (talk.agent(block_ids=[block["id"]]) for _ in range(2))
    talk.say(
        agent,
        "I moved to Porto",
        calls("memory_replace", label="city", old_string="Lisbon", new_string="Porto"),
        says("Noted."),
    )
    assert talk.block(other, "city") == "Porto"
    reply = talk.say(
        other,
        "I moved to Faro",
        calls("memory_replace", label="city", old_string="Porto", new_string="Faro"),
        says("Noted."),
    )
    assert reply["messages"][1]["tool_return"] == "Faro"


@pytest.mark.promise("window.limits")
def test_an_edit_beyond_the_limit_is_refused_with_the_numbers(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[{"label": "human", "value": "Name: Eve", "limit": 20}])
    answer = talk.say(agent, "Figs!", FIGS, says("There is no room."))
    assert answer["messages"][1]["status"] == "error"
    assert answer["messages"][1]["tool_return"] == snapshot(
        "Nothing was changed: human would have 25 characters, 5 more than its limit of 20. Write less, or first shorten what is in it."
    )
    assert stop_reason(answer) == "end_turn"
    assert talk.block(agent, "human") == "Name: Eve"


@pytest.mark.promise("window.limits")
def test_a_read_only_block_is_not_changed(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[{"label": "human", "value": "Name: Eve", "read_only": True}])
    answer = talk.say(agent, "Figs!", FIGS, says("I may not."))
    assert answer["messages"][1]["tool_return"] == snapshot(
        "The block human is read-only: you can read it but not change it."
    )
    assert talk.block(agent, "human") == "Name: Eve"


@pytest.mark.promise("window.storable")
def test_letters_that_no_database_holds_are_an_error_return(talk: Talk) -> None:
    agent = talk.agent()
    bad = calls_raw("memory_insert", '{"label": "human", "new_string": "a\\u0000b"}')
    answer = talk.say(agent, "Figs!", bad, says("Do\x00ne."))
    assert kinds(answer["messages"]) == ["tool_call", "tool_return", "assistant"]
    assert answer["messages"][1]["status"] == "error"
    assert answer["messages"][2]["content"] == "Done."
    assert talk.block(agent, "human") == "Name: Eve"


@pytest.mark.promise("window.storable")
def test_two_calls_with_one_id_still_leave_a_history_that_can_be_sent(talk: Talk) -> None:
    agent = talk.agent(parallel_tool_calls=True)
    twin = calls_raw("memory_insert", '{"label": "human", "new_string": "Figs."}', call_id="call_x")
    talk.say(agent, "Figs!", twin + twin, says("Noted."))
    asked = talk.model.last.messages[2]["tool_calls"]
    returned = talk.model.last.tool_returns
    assert [call["id"] for call in asked] == [each.tool_call_id for each in returned]
    assert len({call["id"] for call in asked}) == 2


@pytest.mark.promise("send.failed-input")
def test_what_failed_before_does_not_come_back_in_the_next_prompt(talk: Talk) -> None:
    agent = talk.agent()
    talk.refuse(agent, 400, fails(400), input="Forget me")
    talk.say(agent, "Hello", says("Hi!"))
    assert [message["role"] for message in talk.model.last.messages] == ["system", "user"]
    assert talk.model.last.last_user == "Hello"


@pytest.mark.promise("window.form")
def test_an_agent_without_tools_is_asked_without_tools(talk: Talk) -> None:
    agent = talk.agent(include_base_tools=False)
    talk.say(agent, "Hi", says("Hello!"))
    assert "tools" not in talk.model.last.body
    assert "tool_choice" not in talk.model.last.body


@pytest.mark.promise("send.provider-errors")
def test_an_empty_answer_is_an_error_of_the_model(talk: Talk) -> None:
    agent = talk.agent()
    body = talk.refuse(agent, 500, says(""), input="Hi")
    assert body["error"]["type"] == "llm_empty_response"
