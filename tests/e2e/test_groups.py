"""Groups that talk: whose turn it is, who hears what, and what is on record afterwards."""

from typing import Any

import pytest
from tests.support.script import Gate, Line, calls, fails, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync
from tests.support.wire import Frame, read_frames

from remanence.kit.json import JsonObject

ASK = "send_message_to_agent_and_wait_for_reply"


def members(talk: Talk, *names: str, **options: Any) -> list[JsonObject]:
    return [talk.agent(name=name, description=f"{name} of the tests", **options) for name in names]


def found(talk: Talk, agents: list[JsonObject], **config: Any) -> JsonObject:
    body = {"agent_ids": [each["id"] for each in agents], "description": "a panel", "manager_config": config}
    return talk.ask("POST", "/v1/groups/", json=body)


def path_of(group: JsonObject) -> str:
    return f"/v1/groups/{group['id']}"


def say(talk: Talk, group: JsonObject, text: str, *lines: Line, **options: Any) -> JsonObject:
    talk.model.script(*lines)
    return talk.ask("POST", f"{path_of(group)}/messages", json={"input": text, **options})


def stream(talk: Talk, group: JsonObject, text: str, *lines: Line, **options: Any) -> list[Frame]:
    talk.model.script(*lines)
    answer = talk.http.post(f"{path_of(group)}/messages/stream", json={"input": text, **options})
    assert answer.status_code == 200, answer.text
    return read_frames(answer.content)


def spoken(messages: list[JsonObject]) -> list[tuple[str, str]]:
    return [
        (each["name"], each["content"]) for each in messages if each["message_type"] == "assistant_message"
    ]


def listed(talk: Talk, group: JsonObject, **query: Any) -> list[JsonObject]:
    return talk.get(f"{path_of(group)}/messages", limit=100, **query)


def heard(talk: Talk, call: int) -> str:
    """All that the model was told in one of its calls."""
    return str(talk.model.journal[call].messages)


@pytest.mark.promise("groups.round-robin", "groups.messages")
def test_members_speak_in_turn_and_hear_each_other(talk: Talk) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    answer = say(talk, group, "What is best?", says("Figs."), says("Dates."))
    assert spoken(answer["messages"]) == [("Ann", "Figs."), ("Bob", "Dates.")]
    assert [each["sender_id"] for each in answer["messages"]] == [ann["id"], bob["id"]]
    assert answer["stop_reason"]["stop_reason"] == "end_turn"
    assert (answer["usage"]["step_count"], len(answer["usage"]["run_ids"])) == (2, 2)
    first, second = heard(talk, 0), heard(talk, 1)
    assert "What is best?" in first
    assert "Figs." not in first
    assert "What is best?" in second
    assert f"Ann ({ann['id']}) said in the group" in second
    say(talk, group, "And worst?", says("Rain."), says("Snow."))
    again = heard(talk, 2)
    assert again.count("What is best?") == again.count("Dates.") == again.count("And worst?") == 1
    assert [
        (each["message_type"], each["name"], each["sender_id"], each["content"])
        for each in listed(talk, group, order="asc")
    ] == [
        ("user_message", None, None, "What is best?"),
        ("assistant_message", "Ann", ann["id"], "Figs."),
        ("assistant_message", "Bob", bob["id"], "Dates."),
        ("user_message", None, None, "And worst?"),
        ("assistant_message", "Ann", ann["id"], "Rain."),
        ("assistant_message", "Bob", bob["id"], "Snow."),
    ]
    assert [each["content"] for each in talk.get(f"{path_of(group)}/messages", limit=2)] == ["Rain.", "Snow."]
    only = listed(talk, group, include_return_message_types=["user_message"])
    assert [each["content"] for each in only] == ["What is best?", "And worst?"]


@pytest.mark.promise("groups.round-robin")
def test_turns_are_counted_and_members_of_every_kind_take_part(talk: Talk) -> None:
    (ann,) = members(talk, "Ann")
    bob = talk.agent("memgpt_v2_agent", name="Bob")
    group = found(talk, [ann, bob], manager_type="round_robin", max_turns=3)
    lines = says("One."), calls("send_message", message="Two."), says("Three.")
    assert [words for _, words in spoken(say(talk, group, "Count.", *lines)["messages"])] == [
        "One.",
        "Two.",
        "Three.",
    ]
    assert "Two." in heard(talk, 2)


@pytest.mark.promise("groups.dynamic")
def test_a_manager_chooses_who_speaks_until_it_is_done(talk: Talk) -> None:
    lead, ann, bob = members(talk, "Lead", "Ann", "Bob")
    group = found(talk, [ann, bob], manager_type="dynamic", manager_agent_id=lead["id"])
    assert group["termination_token"] == "DONE!"
    lines = says("After Ann comes Bob"), says("Dates."), says("ann"), says("Figs."), says("DONE!")
    answer = say(talk, group, "What is best?", *lines)
    assert [name for name, _ in spoken(answer["messages"])] == ["Lead", "Bob", "Lead", "Ann", "Lead"]
    assert "Ann of the tests" in heard(talk, 0)
    assert "Dates." in heard(talk, 2)
    # One that names nobody is asked once more, and no further.
    answer = say(talk, group, "Well?", says("Hm."), says("I do not know."))
    assert [name for name, _ in spoken(answer["messages"])] == ["Lead", "Lead"]
    talk.ask("PATCH", path_of(group), json={"manager_config": {"max_turns": 1, "termination_token": "STOP"}})
    answer = say(talk, group, "Once more?", says("DONE! No: Ann"), says("Figs."))
    assert [name for name, _ in spoken(answer["messages"])] == ["Lead", "Ann"]


@pytest.mark.promise("groups.supervisor", "groups.messages")
def test_a_supervisor_asks_members_and_answers_itself(talk: Talk) -> None:
    lead, ann = members(talk, "Lead", "Ann")
    group = found(talk, [ann], manager_type="supervisor", manager_agent_id=lead["id"])
    assert ASK in {tool["name"] for tool in talk.tenant.state(lead["id"])["tools"]}
    assert talk.tenant.state(lead["id"])["managed_group"]["id"] == group["id"]
    ask = calls(ASK, message="How tall is it?", other_agent_id=ann["id"])
    answer = say(talk, group, "How tall is the tower?", ask, says("Ninety."), says("It is ninety metres."))
    assert spoken(answer["messages"])[-1] == ("Lead", "It is ninety metres.")
    assert ann["id"] in heard(talk, 0)
    assert ("Ann", "Ninety.") in spoken(listed(talk, group))


@pytest.mark.promise("groups.sleeptime-talk")
def test_a_sleeptime_group_passes_on_what_is_said_to_it(talk: Talk) -> None:
    agent = talk.agent(enable_sleeptime=True, name="kim")
    group = agent["managed_group"]
    answer = say(talk, group, "Hello", calls("send_message", message="Hi."))
    assert answer["messages"][0]["sender_id"] == agent["id"]
    assert talk.get(path_of(group))["turns_counter"] == 0


@pytest.mark.promise("groups.stream")
@pytest.mark.parametrize("is_background", [False, True])
def test_a_round_is_one_stream_that_says_who_speaks(talk: Talk, is_background: bool) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    frames = stream(
        talk, group, "Hi", says("I am Ann."), says("I am Bob."), stream_tokens=True, background=is_background
    )
    bodies = [frame.data for frame in frames if not isinstance(frame.data, str)]
    words: dict[tuple[str, str], str] = {}
    for body in bodies:
        if body["message_type"] == "assistant_message":
            who = body["name"], body["sender_id"]
            words[who] = words.get(who, "") + body["content"]
    assert words == {("Ann", ann["id"]): "I am Ann.", ("Bob", bob["id"]): "I am Bob."}
    kinds = [body["message_type"] for body in bodies]
    assert kinds[-2:] == ["stop_reason", "usage_statistics"]
    assert (kinds.count("stop_reason"), frames[-1].kind) == (1, "[DONE]")
    assert "system_message" not in kinds
    assert len(bodies[-1]["run_ids"]) == 2


@pytest.mark.promise("groups.busy", "groups.cancel")
def test_a_group_hears_one_message_at_a_time_and_can_be_stopped(talk: Talk) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    gate = Gate()
    talk.model.script(says("Figs."), says("Never heard.").held(gate))
    run = talk.ask("POST", f"{path_of(group)}/messages/async", json={"input": "Go"})
    assert (run["agent_id"], run["metadata"]["run_type"]) == (ann["id"], "group_turn")
    gate.reached.wait_sync()
    for path in ("messages", "messages/stream"):
        busy = talk.http.post(f"{path_of(group)}/{path}", json={"input": "Too early"})
        assert busy.status_code == 409, busy.text
    assert talk.http.patch(f"{path_of(group)}/reset-messages").status_code == 409
    stopped = talk.ask("POST", f"{path_of(group)}/messages/cancel")
    assert list(stopped.values()) == ["cancelled"]
    gate.open()
    until_sync(lambda: talk.get("/v1/runs/active") == [])
    assert spoken(listed(talk, group)) == [("Ann", "Figs.")]
    assert talk.http.post(f"{path_of(group)}/messages/cancel").status_code == 409
    assert [name for name, _ in spoken(say(talk, group, "Go on", says("A"), says("B"))["messages"])] == [
        "Ann",
        "Bob",
    ]


@pytest.mark.promise("groups.cancel")
def test_cancelling_a_supervisor_reaches_the_member_it_waits_for(talk: Talk) -> None:
    lead, ann = members(talk, "Lead", "Ann")
    group = found(talk, [ann], manager_type="supervisor", manager_agent_id=lead["id"])
    gate = Gate()
    ask = calls(ASK, message="How tall is it?", other_agent_id=ann["id"])
    talk.model.script(ask, says("Ninety.").held(gate))
    talk.ask("POST", f"{path_of(group)}/messages/async", json={"input": "Go"})
    gate.reached.wait_sync()
    talk.ask("POST", f"{path_of(group)}/messages/cancel")
    until_sync(lambda: talk.get("/v1/runs/active") == [])
    gate.open()
    assert {run["status"] for run in talk.get("/v1/runs/")} == {"cancelled"}
    assert talk.say(lead, "Still there?", says("Yes."))["stop_reason"]["stop_reason"] == "end_turn"


@pytest.mark.promise("groups.leave")
def test_a_reader_that_leaves_ends_the_round_unless_it_is_in_the_background(talk: Talk) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    for is_background in (False, True):
        gate = Gate()
        talk.model.script(says("Figs.").held(gate))
        body = {"input": "Go", "background": is_background}
        with talk.http.stream("POST", f"{path_of(group)}/messages/stream", json=body) as answer:
            next(answer.iter_lines())
            gate.reached.wait_sync()
        if is_background:
            talk.model.script(says("Dates."))
        else:
            until_sync(lambda: talk.get("/v1/runs/active") == [])
        gate.open()
        until_sync(lambda: talk.get("/v1/runs/active") == [])
        assert len(spoken(listed(talk, group))) == (2 if is_background else 0)


@pytest.mark.promise("groups.failure")
def test_a_turn_that_fails_ends_the_round_and_the_next_one_tells_what_was_missed(talk: Talk) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    talk.model.script(says("Figs."), fails(400))
    failed = talk.http.post(f"{path_of(group)}/messages", json={"input": "Go"})
    assert failed.status_code == 500
    assert "Bob could not take its turn" in failed.text
    assert spoken(listed(talk, group)) == [("Ann", "Figs.")]
    say(talk, group, "Again", says("A"), says("B"))
    assert "Figs." in heard(talk, -1)
    frames = stream(talk, group, "Once more", fails(400))
    assert [frame.event for frame in frames if frame.event] == ["error"]


@pytest.mark.promise("groups.reset")
def test_a_reset_lets_the_group_begin_anew(talk: Talk) -> None:
    ann, bob = members(talk, "Ann", "Bob")
    group = found(talk, [ann, bob])
    talk.say(bob, "For you alone", says("Thanks."))
    say(talk, group, "The secret is 7", says("I see."), says("So do I."))
    assert talk.ask("PATCH", f"{path_of(group)}/reset-messages")["id"] == group["id"]
    assert listed(talk, group) == []
    say(talk, group, "What was it?", says("What?"), says("No idea."))
    assert "The secret is 7" not in heard(talk, -1) + heard(talk, -2)
    assert "For you alone" in heard(talk, -1)
    assert any("The secret is 7" in str(each) for each in talk.history(bob))
    first = listed(talk, group)[0]
    assert talk.http.patch(f"{path_of(group)}/messages/{first['id']}", json={}).status_code == 405
