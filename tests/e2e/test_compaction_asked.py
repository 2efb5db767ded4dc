"""Room made because somebody asks for it, in an agent's own history and in conversations."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.chats import Chat
from tests.support.filling import PLUMS, SUMMARY, filled, full, in_context, roles_in, small_agent, unpacked
from tests.support.script import Gate, fails, says
from tests.support.talks import Talk, kinds, messages_path

from remanence.kit.json import JsonObject


def compact(talk: Talk, agent: JsonObject, **body: object) -> JsonObject:
    return talk.ask("POST", f"/v1/agents/{agent['id']}/summarize", json=body)


@pytest.mark.promise("compaction.asked")
def test_the_sdk_compacts_an_agents_history(talk: Talk) -> None:
    agent = filled(talk)
    talk.model.script(SUMMARY)
    answer = talk.sdk.agents.messages.compact(agent["id"])
    assert answer.summary == "Eve counts plums."
    assert (answer.num_messages_before, answer.num_messages_after) == (9, 5)
    assert roles_in(talk, agent)[:3] == ["system", "summary", "assistant"]
    packed = unpacked(talk.history(agent)[-1])
    assert packed["message"].endswith("Eve counts plums.")
    talk.say(agent, "And now?", says("Still plums."))
    assert "Plum number 0" not in str(talk.model.last.messages)


@pytest.mark.promise("compaction.asked")
def test_settings_of_the_request_win_over_the_agents(talk: Talk) -> None:
    agent = filled(talk)
    talk.model.script(SUMMARY)
    answer = compact(talk, agent, compaction_settings={"mode": "all", "prompt": "In a word."})
    assert (answer["num_messages_before"], answer["num_messages_after"]) == (9, 2)
    assert talk.model.last.system == "In a word."
    assert talk.get(f"/v1/agents/{agent['id']}")["compaction_settings"] == agent["compaction_settings"]


@pytest.mark.promise("compaction.asked")
def test_where_there_is_nothing_to_leave_out_nothing_changes_and_no_model_is_asked(talk: Talk) -> None:
    agent = small_agent(talk)
    answer = compact(talk, agent)
    assert answer == {"summary": "", "num_messages_before": 1, "num_messages_after": 1}
    talk.say(agent, "Hi", says("Hello."))
    talk.model.script(SUMMARY)
    whole: JsonObject = {"mode": "all"}
    assert compact(talk, agent, compaction_settings=whole)["num_messages_after"] == 2
    again = compact(talk, agent, compaction_settings=whole)
    assert again == {"summary": "Eve counts plums.", "num_messages_before": 2, "num_messages_after": 2}


@pytest.mark.promise("compaction.asked")
def test_it_is_a_run_with_its_usage_and_waits_for_its_turn(talk: Talk) -> None:
    agent = filled(talk)
    gate = Gate()
    with ThreadPoolExecutor(2) as pool:
        talk.model.script(says("A moment.").held(gate))
        sending = pool.submit(talk.say, agent, "Are you there?")
        gate.reached.wait_sync()
        compacting = pool.submit(compact, talk, agent)
        talk.model.script(says("Eve asks.").counting(prompt=400, completion=20))
        gate.open()
        assert sending.result()["messages"][0]["content"] == "A moment."
        assert compacting.result()["summary"] == "Eve asks."
    run = talk.get("/v1/runs/", agent_id=agent["id"])[0]
    assert (run["metadata"]["run_type"], run["status"]) == ("compaction", "completed")
    assert talk.get(f"/v1/runs/{run['id']}/usage")["total_tokens"] == 420


@pytest.mark.promise("compaction.asked")
def test_a_dead_model_is_no_error_here_either(talk: Talk) -> None:
    agent = filled(talk)
    talk.model.script(fails(400), fails(400))
    answer = compact(talk, agent)
    assert "Plum number 1" in answer["summary"]
    assert answer["num_messages_after"] < answer["num_messages_before"]


@pytest.mark.promise("compaction.asked")
def test_odd_requests_are_refused_and_change_nothing(talk: Talk) -> None:
    agent = filled(talk, 1)
    path = f"/v1/agents/{agent['id']}/summarize"
    for settings in ({"mode": "never"}, {"sliding_window_percentage": 2}):
        assert talk.http.post(path, json={"compaction_settings": settings}).status_code == 422
    missing = agent["id"][:-4] + "0000"
    assert talk.http.post(f"/v1/agents/{missing}/summarize").status_code == 404
    assert talk.http.post("/v1/conversations/default/compact").status_code == 400
    assert roles_in(talk, agent) == ["system", "user", "assistant"]


@pytest.mark.promise("compaction.replicas")
def test_what_one_server_made_room_in_another_goes_on_from(talk: Talk) -> None:
    agent = filled(talk)
    with talk.tenant.elsewhere() as elsewhere:
        talk.model.script(says("I see."))
        elsewhere.post(messages_path(agent), json={"input": "Hello."})  # so that both know the history
        talk.say(agent, "Count them.", full(), SUMMARY)
        talk.model.script(says("Still plums."))
        answer = elsewhere.post(messages_path(agent), json={"input": "And now?"})
    assert answer.json()["messages"][0]["content"] == "Still plums."
    assert "Eve counts plums." in str(talk.model.last.messages)
    assert "Plum number 0" not in str(talk.model.last.messages)


@pytest.mark.promise("compaction.conversations")
def test_a_conversation_is_relieved_alone(talk: Talk) -> None:
    agent = filled(talk, 2)
    chat = Chat.begin(talk, agent)
    for number in range(3):
        chat.say(f"Fig number {number}. {PLUMS}", says("I see."))
    answer = chat.say("Count them.", full(), SUMMARY)
    assert kinds(answer["messages"]) == ["assistant", "user"]
    assert "summary" not in roles_in(talk, agent)
    shown = in_context(talk, agent, conversation_id=chat.id)
    assert [message["role"] for message in shown][:2] == ["system", "summary"]
    assert chat.id in shown[0]["content"][0]["text"]
    chat.say("And now?", says("Still figs."))
    assert "Fig number 0" not in str(talk.model.last.messages)
    assert "Plum number" not in str(talk.model.last.messages)


@pytest.mark.promise("compaction.conversations")
def test_the_sdk_compacts_a_conversation_and_the_agents_own_history_by_its_other_name(talk: Talk) -> None:
    agent = filled(talk, 3)
    chat = Chat.begin(talk, agent)
    for _ in range(3):
        chat.say(f"Figs. {PLUMS}", says("I see."))
    talk.model.script(SUMMARY, SUMMARY)
    answer = talk.sdk.conversations.messages.compact(chat.id, compaction_settings={"mode": "all"})
    assert (answer.num_messages_before, answer.num_messages_after) == (7, 2)
    assert "summary" not in roles_in(talk, agent)
    talk.sdk.conversations.messages.compact("default", agent_id=agent["id"])
    assert roles_in(talk, agent).count("summary") == 1
