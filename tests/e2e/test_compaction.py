"""A window that fills up: older messages leave it, a summary stays, and nothing is lost."""

import pytest
from inline_snapshot import snapshot
from tests.support.api import assert_takes_turns
from tests.support.filling import (
    PLUMS,
    SUMMARY,
    WINDOW,
    filled,
    full,
    in_context,
    roles_in,
    small_agent,
    unpacked,
)
from tests.support.flows import flow
from tests.support.script import Line, calls, fails, says
from tests.support.talks import Talk, kinds, stop_reason

from remanence.kit.json import JsonObject

OVERFLOW = fails(
    400, {"error": {"message": "maximum context length is 8000 tokens", "code": "context_length_exceeded"}}
)
LOOK = calls("conversation_search", query="number")


@pytest.mark.promise("compaction.after-step")
def test_a_step_that_fills_the_window_is_followed_by_a_summary(talk: Talk) -> None:
    agent = filled(talk)
    answer = talk.say(agent, "Count them.", full(), SUMMARY)
    assert kinds(answer["messages"]) == ["assistant", "user"]
    said, told = answer["messages"]
    assert (told["step_id"], told["run_id"]) == (said["step_id"], said["run_id"])
    packed = unpacked(told)
    assert list(packed) == ["type", "message", "time", "compaction_stats"]
    assert packed["type"] == "system_alert"
    assert packed["message"].endswith("\n\nEve counts plums.")
    stats = packed["compaction_stats"]
    assert stats["context_tokens_after"] < stats["context_tokens_before"] == 7_510
    del stats["context_tokens_after"]
    assert stats == snapshot(
        {
            "trigger": "post_step_context_check",
            "context_tokens_before": 7510,
            "context_window": 8000,
            "messages_count_before": 11,
            "messages_count_after": 7,
        }
    )
    assert stop_reason(answer) == "end_turn"
    assert talk.run_of(answer)["status"] == "completed"
    assert talk.history(agent)[-1] == told
    assert roles_in(talk, agent) == ["system", "summary", *["assistant", "user"] * 2, "assistant"]


@pytest.mark.promise("compaction.next-prompt")
def test_the_next_prompt_has_the_summary_in_place_of_what_left(talk: Talk) -> None:
    agent = filled(talk)
    talk.say(agent, "Count them.", full(), SUMMARY)
    talk.say(agent, "And now?", says("Still plums."))
    prompt = talk.model.last
    assert prompt.roles == ["system", "user", *["assistant", "user"] * 3]
    assert "Eve counts plums." in str(prompt.messages[1])
    assert prompt.messages[-3]["content"] == "Count them."
    assert "Plum number 0" not in str(prompt.messages)


@pytest.mark.promise("compaction.recall")
def test_what_left_the_window_is_listed_and_found_by_search(talk: Talk) -> None:
    agent = small_agent(talk)
    talk.say(agent, "My cat is called Zebedee.", says("What a name."))
    for _ in range(3):
        talk.say(agent, f"Plums. {PLUMS}", says("I see."))
    talk.say(agent, "Count them.", full(), SUMMARY)
    assert "Zebedee" not in str(in_context(talk, agent))
    told = [message.get("content") for message in talk.history(agent, limit=100)]
    assert "My cat is called Zebedee." in told
    look = calls("conversation_search", query="Zebedee the cat")
    found = talk.say(agent, "What is my cat called?", look, says("Zebedee."))
    assert "My cat is called Zebedee." in found["messages"][1]["tool_return"]
    assert "Eve counts plums" not in found["messages"][1]["tool_return"]


@pytest.mark.promise("compaction.recompiled")
def test_the_system_message_is_compiled_anew_and_keeps_its_id(talk: Talk) -> None:
    agent = filled(talk, 3)
    insert = calls("memory_insert", label="human", new_string="Counts plums.")
    talk.say(agent, "I count plums.", insert, says("Noted."))
    before = talk.history(agent, order="asc", limit=1)[0]
    talk.say(agent, "Count them.", full(), SUMMARY)
    after = talk.history(agent, order="asc", limit=1)[0]
    assert after["id"] == before["id"]
    assert "Counts plums." in after["content"]
    assert "Counts plums." not in before["content"]


@pytest.mark.promise("compaction.messages")
def test_asked_for_compaction_messages_a_stream_tells_start_and_summary(talk: Talk) -> None:
    agent = filled(talk)
    frames = talk.stream(agent, "Count them.", full(), SUMMARY, include_compaction_messages=True)
    assert flow(frames) == snapshot(
        [
            "ping run-1",
            "assistant message-1/0 step-1 run-1: Counted.",
            "event otid-1 None step-1 run-1: compaction post_step_context_check",
            "summary message-2/0 step-1 run-1: Eve counts plums.",
            "stop_reason end_turn",
            "usage of 1 steps",
            "[DONE]",
        ]
    )
    event, summary = frames[2], frames[3]
    assert event["event_data"] == {
        "trigger": "post_step_context_check",
        "context_token_estimate": 7_510,
        "context_window": WINDOW,
    }
    assert summary["compaction_stats"]["messages_count_before"] == 11
    assert kinds([talk.history(agent)[-1]]) == ["user"]


@pytest.mark.promise("compaction.messages")
def test_a_stream_that_did_not_ask_has_the_packed_notice(talk: Talk) -> None:
    agent = filled(talk)
    frames = talk.stream(agent, "Count them.", full(), SUMMARY, stream_tokens=True)
    kept = [frame.kind for frame in frames if frame.kind not in ("ping", "assistant_message")]
    assert kept == ["user_message", "stop_reason", "usage_statistics", "[DONE]"]


@pytest.mark.promise("compaction.messages")
def test_a_blocking_answer_tells_the_same_and_types_choose_among_them(talk: Talk) -> None:
    agent = filled(talk)
    flag = {"include_compaction_messages": True}
    answer = talk.say(agent, "Count them.", full(), SUMMARY, **flag)
    assert kinds(answer["messages"]) == ["assistant", "event", "summary"]
    chosen = {"include_return_message_types": ["summary_message"]}
    answer = talk.say(agent, f"Again. {PLUMS * 3}", full(), SUMMARY, **flag, **chosen)
    assert kinds(answer["messages"]) == ["summary"]


@pytest.mark.promise("compaction.usage")
def test_the_summary_is_paid_for_by_the_step_that_needed_it(talk: Talk) -> None:
    agent = filled(talk)
    summary = says("Eve counts plums.").counting(prompt=500, completion=20)
    answer = talk.say(agent, "Count them.", full(), summary)
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (8_000, 30)
    assert usage["step_count"] == 1
    stats = unpacked(answer["messages"][1])["compaction_stats"]
    assert usage["context_tokens"] == stats["context_tokens_after"]
    run = talk.run_of(answer)
    assert talk.get(f"/v1/runs/{run['id']}/usage")["total_tokens"] == 8_030


@pytest.mark.promise("compaction.before-call")
def test_a_message_that_would_not_fit_beside_the_history_makes_room_first(talk: Talk) -> None:
    agent = filled(talk, 1)
    for _ in range(2):
        talk.say(agent, "plum " * 1_000, says("I see."))
    big = "fig " * 5_000
    answer = talk.say(agent, big, SUMMARY, says("Many figs."), include_compaction_messages=True)
    assert kinds(answer["messages"]) == ["event", "summary", "assistant"]
    assert answer["messages"][0]["event_data"]["trigger"] == "context_window_exceeded"
    asked = talk.model.journal[-2]
    assert "Plum number 0" in str(asked.messages)
    assert big not in str(asked.messages)
    prompt = talk.model.last
    assert prompt.last_user == big
    assert "Eve counts plums." in str(prompt.messages[1])
    assert len({message["step_id"] for message in answer["messages"]}) == 1


@pytest.mark.promise("compaction.overflow")
def test_a_provider_that_finds_the_prompt_too_long_is_asked_again_with_less(talk: Talk) -> None:
    agent = filled(talk)
    answer = talk.say(agent, "Count them.", OVERFLOW, SUMMARY, says("Four."))
    assert kinds(answer["messages"]) == ["user", "assistant"]
    stats = unpacked(answer["messages"][0])["compaction_stats"]
    assert stats["trigger"] == "context_window_exceeded"
    before, after = talk.model.journal[-3], talk.model.journal[-1]
    assert len(str(after.messages)) < len(str(before.messages))
    assert after.last_user == "Count them."


@pytest.mark.promise("compaction.overflow")
def test_a_provider_that_is_never_content_gets_an_error_and_the_agent_goes_on(talk: Talk) -> None:
    agent = small_agent(talk)
    talk.say(agent, "Hi", says("Hello."))
    body = talk.refuse(agent, 400, OVERFLOW, input="Count them.")
    assert "CONTEXT_WINDOW_EXCEEDED" in body["error"]["detail"]
    assert talk.say(agent, "Hi again", says("Hello again."))["messages"][0]["content"] == "Hello again."


@pytest.mark.promise("compaction.long-turn")
def test_a_long_turn_keeps_its_question_and_whole_exchanges(talk: Talk) -> None:
    agent = small_agent(talk, max_files_open=1)
    for number in range(3):
        talk.say(agent, f"Plum number {number}. {PLUMS * 2}", says("I see."))
    answer = talk.say(
        agent,
        "Look everywhere.",
        *[LOOK] * 3,
        LOOK.counting(prompt=7_500, completion=10),
        SUMMARY,
        LOOK,
        says("Found."),
    )
    assert stop_reason(answer) == "end_turn"
    for request in talk.model.journal:
        assert_takes_turns(request.messages)
    last = talk.model.last
    assert "Look everywhere." in [message.get("content") for message in last.messages]
    assert last.messages[-1]["role"] == "tool"


@pytest.mark.promise("compaction.summariser")
def test_the_model_in_the_settings_writes_it_and_the_agents_own_if_that_fails(talk: Talk) -> None:
    settings = {"model": "openai/gpt-4o", "prompt": "Sum up.", "prompt_acknowledgement": True}
    agent = filled(talk, compaction_settings=settings)
    talk.say(agent, "Count them.", full(), SUMMARY)
    asked = talk.model.last
    assert asked.body["model"] == "gpt-4o"
    assert asked.roles == ["system", "user", "assistant", "user"]
    assert asked.system == "Sum up."
    assert "user: Plum number 0" in asked.last_user
    talk.say(agent, f"Again. {PLUMS * 3}", full(), fails(400), says("By myself."))
    assert [each.body["model"] for each in talk.model.journal[-2:]] == ["gpt-4o", "gpt-4o-mini"]
    assert unpacked(talk.history(agent)[-1])["message"].endswith("By myself.")


@pytest.mark.promise("compaction.no-model")
@pytest.mark.parametrize("line", [fails(400), says("")], ids=["refuses", "says nothing"])
def test_without_any_model_that_answers_the_summary_is_made_of_excerpts(talk: Talk, line: Line) -> None:
    agent = filled(talk)
    answer = talk.say(agent, "Count them.", full(), line, line)
    assert kinds(answer["messages"]) == ["assistant", "user"]
    told = unpacked(answer["messages"][1])["message"]
    assert "Plum number 1" in told
    assert roles_in(talk, agent)[:2] == ["system", "summary"]
    talk.say(agent, "And now?", says("Still plums."))


@pytest.mark.promise("compaction.modes")
def test_in_mode_all_only_the_system_message_and_the_summary_stay(talk: Talk) -> None:
    agent = filled(talk, compaction_settings={"mode": "all"})
    talk.say(agent, "Count them.", full(), SUMMARY)
    assert roles_in(talk, agent) == ["system", "summary"]


@pytest.mark.promise("compaction.modes")
@pytest.mark.parametrize("mode", ["self_compact_all", "self_compact_sliding_window"])
def test_an_agent_that_compacts_itself_is_asked_behind_its_own_prompt(talk: Talk, mode: str) -> None:
    agent = filled(talk, compaction_settings={"mode": mode})
    talk.say(agent, "Count them.", full(), SUMMARY)
    before, asked = talk.model.journal[-2:]
    assert asked.system == before.system
    assert asked.tools == before.tools
    assert asked.body["tool_choice"] == "none"
    known = min(len(asked.messages) - 1, len(before.messages))
    assert asked.messages[:known] == before.messages[:known], "it is read from the provider's cache"
    assert asked.last_user == agent["compaction_settings"]["prompt"]
    assert (roles_in(talk, agent) == ["system", "summary"]) == (mode == "self_compact_all")


@pytest.mark.promise("compaction.smaller")
@pytest.mark.parametrize("mode", ["sliding_window", "all"])
def test_a_summary_longer_than_what_it_replaces_is_cut(talk: Talk, mode: str) -> None:
    agent = filled(talk, compaction_settings={"mode": mode})
    answer = talk.say(agent, "Count them.", full(), says("Plums and plums and " * 5_000))
    stats = unpacked(answer["messages"][1])["compaction_stats"]
    assert stats["context_tokens_after"] < stats["context_tokens_before"]
    before = talk.model.journal[-2]
    talk.say(agent, "And now?", says("Still plums."))
    assert len(str(talk.model.last.messages)) < len(str(before.messages))


@pytest.mark.promise("compaction.settings")
def test_clip_chars_bounds_the_summary(talk: Talk) -> None:
    agent = filled(talk, compaction_settings={"clip_chars": 30})
    talk.say(agent, "Count them.", full(), says("Eve counts plums all day long and all night."))
    assert unpacked(talk.history(agent)[-1])["message"].endswith("\n\nEve counts plums all day…")


@pytest.mark.promise("compaction.settings")
def test_thresholds_of_an_agent_win_over_the_servers(talk: Talk) -> None:
    settings = {"warning_threshold": 0.95, "full_threshold": 1.0}
    agent = filled(talk, compaction_settings=settings)
    assert agent["compaction_settings"]["full_threshold"] == 1.0
    talk.say(agent, "Count them.", full())
    assert "summary" not in roles_in(talk, agent)
    assert "full_threshold" not in small_agent(talk)["compaction_settings"]


@pytest.mark.promise("compaction.again")
def test_a_summary_is_carried_over_into_the_next(talk: Talk) -> None:
    agent = filled(talk)
    talk.say(agent, "Count them.", full(), SUMMARY)
    talk.say(agent, f"Figs too. {PLUMS * 3}", says("Figs."))
    talk.say(agent, "Count again.", full(), says("Plums, then figs."))
    assert "[earlier summary] Eve counts plums." in talk.model.last.last_user
    assert roles_in(talk, agent).count("summary") == 1


@pytest.mark.promise("compaction.heartbeat")
def test_agents_with_heartbeats_are_relieved_too(talk: Talk) -> None:
    agent = small_agent(talk, agent_type="memgpt_v2_agent")
    for number in range(4):
        talk.say(agent, f"Plum number {number}. {PLUMS}", calls("send_message", message="I see."))
    answer = talk.say(
        agent,
        "Count them.",
        calls("send_message", message="Four.").counting(prompt=7_500, completion=10),
        SUMMARY,
    )
    assert kinds(answer["messages"]) == ["assistant", "user"]
    assert answer["usage"]["context_tokens"] is None
    talk.say(agent, "And now?", calls("send_message", message="Still four."))
    assert_takes_turns(talk.model.last.messages)


def pressure_alerts(talk: Talk, agent: JsonObject) -> list[JsonObject]:
    listed = talk.history(agent, limit=100)
    return [each for each in listed if "filling up" in str(each.get("content"))]


def filling(text: str = "I see.") -> Line:
    return says(text).counting(prompt=6_000, completion=10)


@pytest.mark.promise("compaction.warning")
def test_an_agent_whose_window_fills_up_is_told_once(talk: Talk) -> None:
    agent = filled(talk)
    answer = talk.say(agent, "Count them.", filling())
    assert kinds(answer["messages"]) == ["assistant"], "it is for the agent alone"
    (alert,) = pressure_alerts(talk, agent)
    assert unpacked(alert)["type"] == "system_alert"
    assert "6010 of 8000" in unpacked(alert)["message"]
    talk.say(agent, "And now?", filling())
    assert talk.model.last.messages[-2]["content"] == alert["content"]
    assert len(pressure_alerts(talk, agent)) == 1


@pytest.mark.promise("compaction.warning")
def test_within_a_turn_the_warning_comes_before_the_next_step_and_again_after_the_next_fill(
    talk: Talk,
) -> None:
    agent = filled(talk)
    talk.say(agent, "Look.", LOOK.counting(prompt=6_000, completion=10), filling("Found."))
    assert "filling up" in talk.model.last.messages[-1]["content"]
    talk.say(agent, f"Count them. {PLUMS * 2}", full(), SUMMARY)
    assert "filling up" not in str(in_context(talk, agent))
    talk.say(agent, "And now?", filling())
    assert len(pressure_alerts(talk, agent)) == 2


def refused(talk: Talk, agent: JsonObject, text: str = "Hi") -> str:
    body = talk.refuse(agent, 400, input=text)
    assert body["error"]["detail"].startswith("CONTEXT_WINDOW_EXCEEDED")
    return body["error"]["message"]


@pytest.mark.promise("compaction.too-large")
def test_a_block_that_alone_is_too_large_is_named_and_the_agent_works_when_it_is_mended(talk: Talk) -> None:
    agent = small_agent(talk, memory_blocks=[{"label": "attic", "value": "old things " * 4_000}])
    assert "the memory block 'attic'" in refused(talk, agent)
    path = f"/v1/agents/{agent['id']}/core-memory/blocks/attic"
    talk.ask("PATCH", path, json={"value": "few things"})
    talk.say(agent, "Hi", says("Hello."))


@pytest.mark.promise("compaction.too-large")
def test_a_block_mended_by_its_own_route_is_mended_too(talk: Talk) -> None:
    agent = small_agent(talk, memory_blocks=[{"label": "attic", "value": "old things " * 4_000}])
    refused(talk, agent)
    talk.ask("PATCH", f"/v1/blocks/{agent['blocks'][0]['id']}", json={"value": "few things"})
    talk.say(agent, "Hi", says("Hello."))


@pytest.mark.promise("compaction.too-large")
def test_a_message_that_alone_is_too_large_is_named_and_the_next_one_works(talk: Talk) -> None:
    agent = filled(talk)
    reason = refused(talk, agent, "fig " * 9_000)
    assert "the message message-" in reason
    talk.say(agent, "Hi", says("Hello."))


@pytest.mark.promise("compaction.too-large")
def test_a_tool_that_alone_is_too_large_is_named(talk: Talk) -> None:
    agent = small_agent(talk)
    huge = {"name": "huge", "description": "many words " * 5_000, "parameters": {"type": "object"}}
    body = talk.refuse(agent, 400, input="Hi", client_tools=[huge])
    assert "the schema of the tool 'huge'" in body["error"]["message"]
    talk.say(agent, "Hi", says("Hello."))


@pytest.mark.promise("compaction.going-back")
def test_one_can_go_back_to_and_branch_off_at_what_has_left_the_window(talk: Talk) -> None:
    agent = filled(talk)
    talk.say(agent, "Count them.", full(), SUMMARY)
    first = next(each for each in talk.history(agent, limit=100, order="asc") if "number 1." in str(each))
    where = {"agent_id": agent["id"]}
    params = where | {"message_id": first["id"]}
    fork = talk.ask("POST", "/v1/conversations/default/fork", params=params)
    said = [str(each) for each in talk.get(f"/v1/conversations/{fork['id']}/messages", order="asc")]
    assert "Plum number 0." in said[1]
    assert "Plum number 1." in said[-1]
    talk.ask("POST", "/v1/conversations/default/rewind", params=where, json={"message_id": first["id"]})
    assert roles_in(talk, agent) == ["system", *["user", "assistant"], "user"]
    talk.say(agent, "And now?", says("Two plums."))
    assert "Eve counts plums." not in str(talk.model.last.messages)
