"""Branching off and going back: forks of conversations and of an agent's own history, and rewinding."""

import pytest
from letta_client import APIStatusError, NotFoundError
from tests.support.chats import Chat
from tests.support.script import Gate, calls, says
from tests.support.talks import Talk, kinds

from remanence.kit.json import JsonObject

NOTE = calls("memory_insert", label="human", new_string="Likes figs.")
UNKNOWN = "message-00000000-0000-4000-8000-000000000000"


def talked(chat: Chat) -> Chat:
    """With three turns behind it, the second with a tool."""
    chat.say("Ask 0", says("Answer 0"))
    chat.say("Ask 1", NOTE, says("Answer 1"))
    chat.say("Ask 2", says("Answer 2"))
    return chat


def id_of(chat: Chat, text: str) -> str:
    return next(each["id"] for each in chat.messages() if each.get("content") == text)


def call_id(chat: Chat) -> str:
    return next(each["id"] for each in chat.messages() if each["message_type"] == "tool_call_message")


WHOLE = ["Ask 0", "Answer 0", "Ask 1", "memory_insert()", "→ success", "Answer 1", "Ask 2", "Answer 2"]


def test_a_fork_shares_messages_and_has_a_system_message_of_its_own(talk: Talk) -> None:
    agent = talk.agent()
    chat = talked(Chat.begin(talk, agent, summary="first"))
    fork = chat.fork()
    assert fork.texts() == WHOLE
    before, after = chat.messages(), fork.messages()
    assert after[1:] == before[1:]
    assert after[0]["id"] != before[0]["id"]
    assert f"CONVERSATION_ID: {fork.id}" in after[0]["content"]
    assert "Likes figs." in after[0]["content"]
    assert fork.body()["in_context_message_ids"] == [
        after[0]["id"],
        *chat.body()["in_context_message_ids"][1:],
    ]


def test_a_fork_takes_the_model_along_but_not_the_summary_or_isolated_blocks(talk: Talk) -> None:
    agent = talk.agent()
    given: JsonObject = {
        "summary": "first",
        "description": "d",
        "model": "openai/gpt-4o",
        "model_settings": {"provider_type": "openai", "temperature": 0.1},
        "context_window_limit": 9000,
    }
    chat = Chat.begin(talk, agent, isolated_block_labels=["human"], **given)
    fork = chat.fork().body()
    assert {name: fork[name] for name in given} == given | {"summary": None, "description": None}
    assert fork["isolated_block_ids"] == []
    assert fork["last_message_at"] is None


def test_what_is_said_in_one_does_not_appear_in_the_other(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.say("Shared", says("Yes"))
    fork = chat.fork()
    fork.say("In the fork", says("Right"))
    assert [each["content"] for each in talk.model.last.messages[1:]] == ["Shared", "Yes", "In the fork"]
    chat.say("In the source", says("Left"))
    assert [each["content"] for each in talk.model.last.messages[1:]] == ["Shared", "Yes", "In the source"]
    assert chat.texts() == ["Shared", "Yes", "In the source", "Left"]
    assert fork.texts() == ["Shared", "Yes", "In the fork", "Right"]


def test_a_fork_of_a_fork(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.say("One", says("1"))
    fork = chat.fork()
    fork.say("Two", says("2"))
    second = fork.fork()
    second.say("Three", says("3"))
    assert second.texts() == ["One", "1", "Two", "2", "Three", "3"]
    talk.ask("DELETE", fork.path())
    talk.ask("DELETE", chat.path())
    assert second.texts() == ["One", "1", "Two", "2", "Three", "3"]
    second.say("Four", says("4"))
    assert len(talk.model.last.messages) == 8


@pytest.mark.parametrize(
    ("message", "end"),
    [("Ask 0", 1), ("Answer 0", 2), ("Answer 1", 6), ("Answer 2", 8)],
)
def test_a_fork_up_to_a_message(talk: Talk, message: str, end: int) -> None:
    chat = talked(Chat.begin(talk, talk.agent()))
    fork = talk.sdk.conversations.fork(chat.id, message_id=id_of(chat, message))
    assert Chat(talk, fork.id).texts() == WHOLE[:end]


def test_a_fork_does_not_end_with_a_call_that_has_no_return(talk: Talk) -> None:
    chat = talked(Chat.begin(talk, talk.agent()))
    fork = chat.fork(message_id=call_id(chat))
    assert fork.texts() == WHOLE[:3]
    fork.say("And now?", says("On we go"))
    assert talk.model.last.roles == ["system", "user", "assistant", "user", "user"]


def test_a_fork_keeps_what_the_system_said_on_the_way(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.stream("", says("Hello"), messages=[{"role": "system", "content": "It rains."}])
    assert kinds(chat.fork().messages()) == ["system", "system", "assistant"]


@pytest.mark.parametrize("by_agent_id", [False, True])
def test_a_fork_of_the_agents_own_history(talk: Talk, by_agent_id: bool) -> None:
    agent = talk.agent()
    own = talked(Chat.own(talk, agent))
    if by_agent_id:
        fork = talk.sdk.conversations.fork(agent["id"], message_id=id_of(own, "Answer 0"))
        whole = talk.sdk.conversations.fork(agent["id"])
    else:
        first = id_of(own, "Answer 0")
        fork = talk.sdk.conversations.fork("default", agent_id=agent["id"], message_id=first)
        whole = talk.sdk.conversations.fork("default", agent_id=agent["id"])
    assert Chat(talk, whole.id).texts() == WHOLE
    branch = Chat(talk, fork.id)
    assert branch.texts() == WHOLE[:2]
    branch.say("Elsewhere", says("Yes"))
    assert branch.texts() == [*WHOLE[:2], "Elsewhere", "Yes"]
    assert own.texts() == WHOLE


def test_a_fork_at_a_message_of_another_history_is_refused(talk: Talk) -> None:
    agent = talk.agent()
    one, two = talked(Chat.begin(talk, agent)), Chat.begin(talk, agent)
    for message_id in (UNKNOWN, id_of(one, "Ask 0")):
        with pytest.raises(NotFoundError):
            talk.sdk.conversations.fork(two.id, message_id=message_id)
    with pytest.raises(APIStatusError) as failed:
        talk.sdk.conversations.fork(two.id, message_id="x")
    assert failed.value.status_code == 422
    assert len(talk.get("/v1/conversations/")) == 2


# Rewinding


def test_rewinding_takes_later_messages_out_of_the_window_not_out_of_the_database(talk: Talk) -> None:
    chat = talked(Chat.begin(talk, talk.agent(), summary="kept"))
    ids = chat.body()["in_context_message_ids"]
    body = chat.try_to("rewind", message_id=id_of(chat, "Answer 0")).json()
    assert body["summary"] == "kept"
    assert body["in_context_message_ids"] == ids[:3] == chat.body()["in_context_message_ids"]
    assert chat.texts() == WHOLE
    chat.say("Another way", says("Why not"))
    assert [each["content"] for each in talk.model.last.messages[1:]] == ["Ask 0", "Answer 0", "Another way"]
    assert chat.texts() == [*WHOLE, "Another way", "Why not"]


def test_rewinding_the_agents_own_history(talk: Talk) -> None:
    agent = talk.agent()
    own = talked(Chat.own(talk, agent))
    ids = talk.tenant.state(agent["id"])["message_ids"]
    body = own.try_to("rewind", message_id=id_of(own, "Answer 1")).json()
    assert body == {"id": "default", "agent_id": agent["id"], "in_context_message_ids": ids[:-2]}
    assert talk.tenant.state(agent["id"])["message_ids"] == ids[:-2]
    again = Chat(talk, agent["id"]).try_to("rewind", message_id=ids[0])
    assert again.json()["in_context_message_ids"] == ids[:1]
    talk.say(agent, "From the start", says("Hello"))
    assert talk.model.last.roles == ["system", "user"]


def test_rewinding_to_a_call_goes_before_it(talk: Talk) -> None:
    chat = talked(Chat.begin(talk, talk.agent()))
    ids = chat.body()["in_context_message_ids"]
    body = chat.try_to("rewind", message_id=call_id(chat)).json()
    assert body["in_context_message_ids"] == ids[:4]
    chat.say("And now?", says("On we go"))
    assert talk.model.last.roles == ["system", "user", "assistant", "user", "user"]


def test_rewinding_past_an_open_request_withdraws_it(talk: Talk) -> None:
    agent = talk.agent()
    talk.ask(
        "PATCH", f"/v1/agents/{agent['id']}/tools/approval/memory_insert", json={"requires_approval": True}
    )
    own = Chat.own(talk, agent)
    own.say("Ask 0", says("Answer 0"))
    own.say("Ask 1", NOTE)
    assert own.try_to("messages", input="Hm?", streaming=False).status_code == 409
    own.try_to("rewind", message_id=id_of(own, "Answer 0"))
    assert own.say("Ask again", says("Fine"))["messages"][0]["content"] == "Fine"
    # And forth again, to where the window no longer reaches: the request stays withdrawn.
    own.try_to("rewind", message_id=id_of(own, "Ask 0"))
    assert own.try_to("rewind", message_id=id_of(own, "Fine")).status_code == 200
    own.say("And now?", says("Good"))
    assert talk.model.last.roles == ["system", "user", "assistant", "user", "user", "assistant", "user"]


def test_rewinding_a_fork_leaves_its_source_alone(talk: Talk) -> None:
    chat = talked(Chat.begin(talk, talk.agent()))
    fork = chat.fork()
    fork.try_to("rewind", message_id=id_of(fork, "Ask 0"))
    assert len(fork.body()["in_context_message_ids"]) == 2
    assert len(chat.body()["in_context_message_ids"]) == 9


def test_rewinding_is_refused_while_a_run_is_at_work(talk: Talk) -> None:
    chat = talked(Chat.begin(talk, talk.agent()))
    gate = Gate()
    talk.model.script(says("one two").paused(gate))
    with chat.open("Count") as response:
        gate.reached.wait_sync()
        refused = chat.try_to("rewind", message_id=id_of(chat, "Ask 0"))
        gate.open()
        response.read()
    assert refused.status_code == 409
    assert refused.json()["run_id"] == talk.get("/v1/runs/", conversation_id=chat.id)[0]["id"]
    assert chat.texts() == [*WHOLE, "Count", "one two"]
    assert chat.try_to("rewind", message_id=id_of(chat, "Ask 0")).status_code == 200


def test_what_still_waits_for_its_turn_cannot_be_forked_at(talk: Talk) -> None:
    """The agent has not heard it yet, and may never do so."""
    agent = talk.agent()
    own = Chat.own(talk, agent)
    gate = Gate()
    talk.model.script(says("one two").paused(gate), says("three"))
    with talk.open_stream(agent, "Count") as response:
        gate.reached.wait_sync()
        body = {"messages": [{"role": "user", "content": "Go on"}]}
        waiting = talk.ask("POST", f"/v1/agents/{agent['id']}/messages/async", json=body)
        refused = talk.http.post(
            own.path("/fork"), params={"agent_id": agent["id"], "message_id": id_of(own, "Go on")}
        )
        gate.open()
        response.read()
    assert refused.status_code == 404
    talk.http.post(f"/v1/runs/{waiting['id']}/stream", json={"starting_after": 0})  # to its end
    assert own.fork(message_id=id_of(own, "Go on")).texts() == ["Count", "one two", "Go on"]


@pytest.mark.parametrize(
    ("body", "status"),
    [({"message_id": UNKNOWN}, 404), ({"message_id": "x"}, 422), ({}, 422)],
)
def test_what_cannot_be_rewound_to(talk: Talk, body: JsonObject, status: int) -> None:
    chat = Chat.begin(talk, talk.agent())
    before = chat.body()
    assert chat.try_to("rewind", **body).status_code == status
    assert chat.body() == before
    assert Chat(talk, "default").try_to("rewind", message_id=UNKNOWN).status_code == 400


def test_a_request_taken_back_in_a_fork_stays_open_where_it_was_asked(talk: Talk) -> None:
    agent = talk.agent(
        include_base_tool_rules=False,
        tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}],
    )
    talk.say(agent, "I like figs.", NOTE)
    made = talk.ask("POST", "/v1/conversations/default/fork", params={"agent_id": agent["id"]})
    talk.ask("POST", f"/v1/conversations/{made['id']}/cancel")
    own = talk.get(f"/v1/agents/{agent['id']}/messages", conversation_id="default", order="asc")
    assert kinds(own) == ["system", "user", "approval_request"], "the answer is given in the fork alone"
    branch = talk.get(f"/v1/conversations/{made['id']}/messages", order="asc")
    assert kinds(branch) == ["system", "user", "approval_request", "approval_response", "tool_return"]
    talk.refuse(agent, 409, input="Hello?")
