"""Talking in conversations: windows of their own, models of their own, and how their messages are listed."""

import pytest
from letta_client import NotFoundError
from tests.support.chats import Chat, frame_kinds, text_of
from tests.support.script import calls, says
from tests.support.talks import Talk, kinds

NOTE = calls("memory_insert", label="human", new_string="Likes figs.")


def test_sends_stream_by_default_in_steps(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    frames = chat.stream("Say 'pong'", NOTE, says("one two"))
    assert frame_kinds(frames) == [
        "ping",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]
    assert frames[3]["content"] == "one two"


def test_the_sdk_streams_tokens(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    talk.model.script(says("one two"))
    said = talk.sdk.conversations.messages.create(
        chat.id, messages=[{"role": "user", "content": "Count"}], stream_tokens=True
    )
    pieces = [getattr(each, "content", "") for each in said if each.message_type == "assistant_message"]
    assert pieces == ["one ", "two"]


def test_a_blocking_send_gives_one_body(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    answer = chat.say("Say 'pong'", says("pong"))
    assert kinds(answer["messages"]) == ["assistant"]
    assert answer["stop_reason"]["stop_reason"] == "end_turn"
    run = talk.run_of(answer)
    assert (run["status"], run["conversation_id"]) == ("completed", chat.id)
    assert [each["id"] for each in talk.get("/v1/runs/", conversation_id=chat.id)] == [run["id"]]


@pytest.mark.parametrize("option", [{"stream_tokens": True}, {"background": True}, {"include_pings": False}])
def test_a_blocking_send_refuses_options_of_streams(talk: Talk, option: dict[str, bool]) -> None:
    chat = Chat.begin(talk, talk.agent())
    assert chat.try_to("messages", input="Hi", streaming=False, **option).status_code == 422
    assert chat.texts() == []


def test_each_conversation_has_a_system_message_with_its_own_id(talk: Talk) -> None:
    agent = talk.agent()
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    for chat in (one, two):
        chat.say("Hi", says("Hello"))
        assert f"CONVERSATION_ID: {chat.id}" in talk.model.last.system
        assert "Name: Eve" in talk.model.last.system
        assert talk.model.last.system == chat.messages()[0]["content"]
    Chat.own(talk, agent).say("Hi", says("Hello"))
    assert one.id not in talk.model.last.system
    heads = {chat.messages()[0]["id"] for chat in (one, two, Chat.own(talk, agent))}
    assert len(heads) == 3


def test_windows_are_apart(talk: Talk) -> None:
    agent = talk.agent()
    one, two, own = Chat.begin(talk, agent), Chat.begin(talk, agent), Chat.own(talk, agent)
    for chat, name in ((one, "one"), (two, "two"), (own, "own")):
        chat.say(f"I am {name}", says(f"Hello {name}"))
    one.say("Who am I?", says("One"))
    assert [text for each in talk.model.last.messages[1:] for text in [each["content"]]] == [
        "I am one",
        "Hello one",
        "Who am I?",
    ]
    assert own.texts() == ["I am own", "Hello own"]
    ids = talk.tenant.state(agent["id"])["message_ids"]
    assert ids == [each["id"] for each in own.messages()]
    assert one.body()["in_context_message_ids"] == [each["id"] for each in one.messages()]
    assert len(one.body()["in_context_message_ids"]) == 5


def test_every_send_is_noted(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.say("Hi", says("Hello"))
    first = chat.body()["last_message_at"]
    chat.stream("Hi again", says("Hello again"))
    assert first < chat.body()["last_message_at"]


def test_memory_is_shared_with_the_agent(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    chat.say("Figs!", NOTE, says("Noted."))
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    later = Chat.begin(talk, agent)
    later.say("What do I like?", says("Figs."))
    assert "Likes figs." in talk.model.last.system


# Models


def test_the_model_of_the_request_goes_before_that_of_the_conversation_and_of_the_agent(talk: Talk) -> None:
    agent = talk.agent()
    plain, other = Chat.begin(talk, agent), Chat.begin(talk, agent, model="openai/gpt-4o")
    plain.say("Hi", says("Hello"))
    assert talk.model.last.model == "gpt-4o-mini"
    answer = other.say("Hi", says("Hello"))
    assert talk.model.last.model == "gpt-4o"
    (step,) = talk.get(f"/v1/runs/{answer['messages'][0]['run_id']}/steps")
    assert step["model"] == "gpt-4o"
    other.say("Hi", says("Hello"), override_model="openai/gpt-4o-mini")
    assert talk.model.last.model == "gpt-4o-mini"
    talk.say(agent, "Hi", says("Hello"))
    assert talk.model.last.model == "gpt-4o-mini"
    talk.sdk.conversations.update(plain.id, model="openai/gpt-4o")
    plain.stream("Hi", says("Hello"))
    assert talk.model.last.model == "gpt-4o"


def test_settings_of_the_conversation_reach_its_model_alone(talk: Talk) -> None:
    agent = talk.agent(model_settings={"provider_type": "openai", "temperature": 0.9})
    chat = Chat.begin(talk, agent, model_settings={"provider_type": "openai", "temperature": 0.1})
    chat.say("Hi", says("Hello"))
    assert talk.model.last.body["temperature"] == 0.1
    talk.say(agent, "Hi", says("Hello"))
    assert talk.model.last.body["temperature"] == 0.9


def test_the_window_of_the_conversation_is_kept_with_its_steps(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent(context_window_limit=30_000), context_window_limit=9000)
    answer = chat.say("Hi", says("Hello"))
    (step,) = talk.get(f"/v1/runs/{answer['messages'][0]['run_id']}/steps")
    assert step["context_window_limit"] == 9000
    other = Chat.begin(talk, talk.agent(context_window_limit=30_000), model="openai/gpt-4o")
    answer = other.say("Hi", says("Hello"))
    (step,) = talk.get(f"/v1/runs/{answer['messages'][0]['run_id']}/steps")
    assert (step["model"], step["context_window_limit"]) == ("gpt-4o", 30_000)


def test_the_payload_can_be_looked_at_before_it_is_sent(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent(), model="openai/gpt-4o")
    payload = chat.try_to("messages/preview-raw-payload", input="Hi").json()
    assert payload["model"] == "gpt-4o"
    assert payload["messages"][-1]["content"] == "Hi"
    assert chat.texts() == []


# Lists of messages


def test_messages_come_in_the_order_asked_for_with_cursors(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    for number in range(3):
        chat.say(f"Ask {number}", says(f"Answer {number}"))
    whole = chat.messages()
    assert [text_of(each) for each in whole[1:]] == [
        "Ask 0",
        "Answer 0",
        "Ask 1",
        "Answer 1",
        "Ask 2",
        "Answer 2",
    ]
    assert chat.messages(order="desc") == whole[::-1]
    assert talk.get(chat.path("/messages")) == whole[::-1]
    assert chat.messages(limit=2) == whole[:2]
    assert chat.messages(limit=2, order="desc") == whole[:-3:-1]
    middle = whole[3]["id"]
    assert chat.messages(after=middle, limit=2) == whole[4:6]
    assert chat.messages(before=middle, limit=2) == whole[1:3]
    assert chat.messages(after=middle, limit=2, order="desc") == [whole[2], whole[1]]
    assert chat.messages(before=middle, limit=2, order="desc") == [whole[5], whole[4]]
    assert [each.id for each in talk.sdk.conversations.messages.list(chat.id, limit=2)] == [
        each["id"] for each in whole[::-1]
    ]


def test_an_unknown_cursor_is_a_404(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    with pytest.raises(NotFoundError):
        talk.sdk.conversations.messages.list(chat.id, after="message-00000000-0000-4000-8000-000000000000")


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_filter_on_types_counts_what_is_returned(talk: Talk, order: str) -> None:
    chat = Chat.begin(talk, talk.agent())
    for number in range(4):
        chat.say(f"Ask {number}", NOTE, says(f"Answer {number}"))
    wanted = {"include_return_message_types": ["assistant_message"], "order": order}
    answers = [f"Answer {number}" for number in (range(4) if order == "asc" else range(3, -1, -1))]
    assert chat.texts(**wanted) == answers
    assert chat.texts(**wanted, limit=3) == answers[:3]
    first, second = (each["id"] for each in chat.messages(**wanted, limit=2))
    assert chat.texts(**wanted, after=first, limit=2) == answers[1:3]
    last = chat.messages(**wanted)[-1]["id"]
    assert chat.texts(**wanted, before=last, limit=2) == answers[1:3]
    assert chat.texts(**wanted, before=second) == answers[:1]


def test_the_agents_history_can_be_narrowed_to_a_conversation(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    chat.say("In the side room", says("Yes"))
    talk.say(agent, "At the table", says("Yes indeed"))

    def said(**query: str) -> list[str]:
        return [text_of(each) for each in talk.history(agent, **query) if kinds([each]) != ["system"]]

    assert said() == ["In the side room", "Yes", "At the table", "Yes indeed"]
    assert said(conversation_id=chat.id) == ["In the side room", "Yes"]
    assert said(conversation_id="default") == ["At the table", "Yes indeed"]
    assert [text_of(each) for each in talk.get("/v1/messages/", conversation_id=chat.id)[1:]] == [
        "In the side room",
        "Yes",
    ]


def test_a_failed_send_is_not_in_the_conversation(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    assert chat.try_to("messages", input="Hi", override_model="nobody/knows").status_code == 404
    assert chat.texts() == []


# The agent's own history under other names


def test_default_with_an_agent_is_the_agents_own_history(talk: Talk) -> None:
    agent = talk.agent()
    own = Chat.own(talk, agent)
    own.stream("Hi", says("Hello"))
    talk.say(agent, "Hi again", says("Hello again"))
    assert own.texts() == ["Hi", "Hello", "Hi again", "Hello again"]
    run = talk.get("/v1/runs/", agent_id=agent["id"])[0]
    assert run["conversation_id"] is None
    messages = talk.sdk.conversations.messages.list("default", agent_id=agent["id"], order="asc")
    assert [each.id for each in messages] == [each["id"] for each in talk.history(agent)]


def test_an_agent_id_is_a_name_of_its_own_history_too(talk: Talk) -> None:
    agent = talk.agent()
    own = Chat(talk, agent["id"])
    own.stream("Hi", says("Hello"))
    assert own.texts() == ["Hi", "Hello"]
    assert len(talk.history(agent)) == 3
    assert own.try_to("recompile").json() == talk.history(agent)[0]["content"]


def test_default_without_an_agent_is_nobodys(talk: Talk) -> None:
    nobody = Chat(talk, "default")
    assert nobody.messages() == []
    for what, body in (("messages", {"input": "Hi"}), ("stream", {}), ("cancel", {}), ("fork", {})):
        assert nobody.try_to(what, **body).status_code == 400, what
    unknown = Chat(talk, "default", "agent-00000000-0000-4000-8000-000000000000")
    assert unknown.try_to("messages", input="Hi").status_code == 404


def test_recompiling_shows_the_memory_of_now_and_a_dry_run_changes_nothing(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    before = chat.messages()[0]
    talk.sdk.agents.blocks.update("human", agent_id=agent["id"], value="Name: Ada")
    tried = talk.ask("POST", chat.path("/recompile"), params={"dry_run": True})
    assert "Name: Ada" in tried
    assert chat.messages()[0] == before
    text = chat.try_to("recompile").json()
    after = chat.messages()[0]
    assert (after["id"], after["content"]) == (before["id"], text)
    chat.say("Who am I?", says("Ada"))
    assert talk.model.last.system == text
    assert Chat.own(talk, agent).try_to("recompile").json() == talk.history(agent)[0]["content"]
    assert "Name: Ada" in talk.sdk.conversations.recompile("default", agent_id=agent["id"])


def test_a_conversation_of_an_agent_that_speaks_through_tools(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    chat = Chat.begin(talk, agent)
    chat.say("Hi", calls("send_message", thinking="Greet.", message="Hello", request_heartbeat=False))
    assert kinds(chat.messages()) == ["system", "user", "reasoning", "assistant"]
    assert kinds(chat.messages(order="desc")) == ["assistant", "reasoning", "user", "system"]
