"""Conversations as records: making, reading, listing, changing and deleting them, and what they are made of."""

from datetime import UTC, datetime

import pytest
from letta_client import APIStatusError, NotFoundError
from tests.support.chats import Chat
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse
from tests.support.wire import scrub

PLAN = {"label": "plan", "value": "Plan A"}
EDIT_PLAN = calls("memory_replace", label="plan", old_string="Plan A", new_string="Plan B")
UNKNOWN = "conv-00000000-0000-4000-8000-000000000000"


def test_a_new_conversation_as_a_plain_client_sees_it(talk: Talk) -> None:
    agent = talk.agent()
    made = talk.ask(
        "POST", "/v1/conversations/", params={"agent_id": agent["id"]}, json={"summary": "first talk"}
    )
    assert scrub(made) == {
        "created_by_id": "user-1",
        "last_updated_by_id": "user-1",
        "created_at": "<moment>",
        "updated_at": "<moment>",
        "id": "conv-1",
        "agent_id": "agent-1",
        "summary": "first talk",
        "in_context_message_ids": [],
        "isolated_block_ids": [],
        "model": None,
        "model_settings": None,
        "last_message_at": None,
        "archived": False,
        "archived_at": None,
        "context_window_limit": None,
        "description": None,
    }


def test_every_field_that_the_sdk_gives_comes_back(talk: Talk) -> None:
    agent = talk.agent()
    made = talk.sdk.conversations.create(
        agent_id=agent["id"],
        summary="On figs",
        description="A talk about figs",
        context_window_limit=9000,
        model="openai/gpt-4o",
        model_settings={"provider_type": "openai", "temperature": 0.25},
    )
    found = talk.sdk.conversations.retrieve(made.id)
    assert (found.summary, found.description, found.context_window_limit) == (
        "On figs",
        "A talk about figs",
        9000,
    )
    assert (found.model, found.archived, found.archived_at) == ("openai/gpt-4o", False, None)
    assert talk.get(f"/v1/conversations/{made.id}")["model_settings"]["temperature"] == 0.25
    assert len(found.in_context_message_ids or ()) == 1


def test_a_conversation_needs_no_body(talk: Talk) -> None:
    response = talk.http.post("/v1/conversations/", params={"agent_id": talk.agent()["id"]})
    assert response.status_code == 200
    assert response.json()["summary"] is None


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"isolated_block_labels": ["nope"]}, 400),
        ({"model": "nobody/knows"}, 404),
        ({"context_window_limit": 0}, 422),
        ({"context_window_limit": 2**40}, 422),
        ({"summary": "a\0b"}, 422),
        ({"model_settings": {"temperature": "hot"}}, 422),
    ],
)
def test_what_cannot_be_made_leaves_nothing_behind(talk: Talk, given: dict[str, object], status: int) -> None:
    agent = talk.agent(memory_blocks=[PLAN])
    blocks = talk.get("/v1/blocks/")
    response = talk.http.post("/v1/conversations/", params={"agent_id": agent["id"]}, json=given)
    assert response.status_code == status, response.text
    assert talk.get("/v1/conversations/") == []
    assert talk.get("/v1/blocks/") == blocks


def test_an_unknown_agent_has_no_conversations(talk: Talk) -> None:
    unknown = "agent-00000000-0000-4000-8000-000000000000"
    assert talk.http.post("/v1/conversations/", params={"agent_id": unknown}).status_code == 404
    assert talk.http.post("/v1/conversations/").status_code == 422
    assert talk.get("/v1/conversations/", agent_id=unknown) == []


def test_fields_are_changed_one_by_one(talk: Talk) -> None:
    agent = talk.agent()
    made = talk.sdk.conversations.create(agent_id=agent["id"], summary="old", description="kept")
    moment = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    changed = talk.sdk.conversations.update(
        made.id, summary="new", context_window_limit=7000, model="openai/gpt-4o", last_message_at=moment
    )
    assert (changed.summary, changed.description, changed.context_window_limit, changed.model) == (
        "new",
        "kept",
        7000,
        "openai/gpt-4o",
    )
    assert changed.last_message_at == moment
    again = talk.sdk.conversations.update(made.id, description="better")
    assert (again.summary, again.description) == ("new", "better")
    assert again.updated_at is not None
    assert made.updated_at is not None
    assert again.updated_at > made.updated_at


def test_null_empties_what_people_write_and_returns_to_the_agents_model(talk: Talk) -> None:
    given = {"summary": "old", "description": "old", "model": "openai/gpt-4o", "context_window_limit": 9000}
    chat = Chat.begin(talk, talk.agent(), **given)
    nulls = dict.fromkeys([*given, "last_message_at", "archived"])
    changed = talk.ask("PATCH", chat.path(), json=nulls)
    assert {name: changed[name] for name in given} == dict.fromkeys(given)
    assert changed["archived"] is False
    chat.say("Hi", says("Hello"))
    assert talk.model.last.model == "gpt-4o-mini"


def test_archiving_notes_the_moment_and_can_be_undone(talk: Talk) -> None:
    made = talk.sdk.conversations.create(agent_id=talk.agent()["id"])
    archived = talk.sdk.conversations.update(made.id, archived=True)
    assert archived.archived is True
    assert archived.archived_at is not None
    back = talk.sdk.conversations.update(made.id, archived=False)
    assert (back.archived, back.archived_at) == (False, None)


def test_lists_are_of_one_agent_or_of_all_newest_first(talk: Talk) -> None:
    one, two = talk.agent(), talk.agent()
    first, second = Chat.begin(talk, one), Chat.begin(talk, one)
    other = Chat.begin(talk, two)
    listed = talk.sdk.conversations.list
    assert [each.id for each in listed(agent_id=one["id"])] == [second.id, first.id]
    assert [each.id for each in listed()] == [other.id, second.id, first.id]
    assert [each.id for each in listed(order="asc", limit=2)] == [first.id, second.id]


def test_lists_search_summaries_whatever_the_case(talk: Talk) -> None:
    agent = talk.agent()
    for summary in ("Figs and plums", "100% leeks", "100 leeks", None):
        talk.sdk.conversations.create(agent_id=agent["id"], summary=summary)

    def found(text: str) -> list[str | None]:
        return [each.summary for each in talk.sdk.conversations.list(summary_search=text, order="asc")]

    assert found("FIGS") == ["Figs and plums"]
    assert found("leeks") == ["100% leeks", "100 leeks"]
    assert found("100%") == ["100% leeks"]
    assert found("turnips") == []


def test_lists_tell_archived_from_unarchived(talk: Talk) -> None:
    agent = talk.agent()
    old, new = Chat.begin(talk, agent), Chat.begin(talk, agent)
    talk.sdk.conversations.update(old.id, archived=True)
    listed = talk.sdk.conversations.list
    assert [each.id for each in listed(archive_status="archived")] == [old.id]
    assert [each.id for each in listed(archive_status="unarchived")] == [new.id]
    assert [each.id for each in listed(archive_status="all")] == [new.id, old.id]
    assert [each.id for each in listed()] == [new.id, old.id]


def test_hidden_ones_are_not_listed_but_there(talk: Talk) -> None:
    agent = talk.agent()
    made = talk.sdk.conversations.create(agent_id=agent["id"], hidden=True)
    shown = Chat.begin(talk, agent)
    fork = shown.fork(hidden=True)
    assert [each.id for each in talk.sdk.conversations.list()] == [shown.id]
    assert talk.sdk.conversations.retrieve(made.id).id == made.id
    assert fork.body()["id"] == fork.id


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("key", ["created_at", "last_message_at", "last_run_completion"])
def test_cursors_pass_every_conversation_once(talk: Talk, key: str, order: str) -> None:
    agent = talk.agent()
    chats = [Chat.begin(talk, agent) for _ in range(5)]
    for number in (3, 1):
        chats[number].say("Hi", says("Hello"))
    query = {"order_by": key, "order": order}
    whole = [each["id"] for each in talk.get("/v1/conversations/", **query)]
    spoken = [chats[3].id, chats[1].id] if order == "asc" else [chats[1].id, chats[3].id]
    if key == "created_at":
        assert whole == [each.id for each in (chats if order == "asc" else chats[::-1])]
    else:
        assert whole[:2] == spoken
    assert len(whole) == 5
    paged: list[str] = []
    while page := talk.get("/v1/conversations/", limit=2, **query, **({"after": paged[-1]} if paged else {})):
        paged += [each["id"] for each in page]
    assert paged == whole


def test_an_unknown_cursor_is_a_404(talk: Talk) -> None:
    with pytest.raises(NotFoundError):
        talk.sdk.conversations.list(after=UNKNOWN)


def test_a_deleted_conversation_is_gone(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    chat.say("Hi", says("Hello"))
    fork = chat.fork()
    assert talk.http.delete(chat.path()).json() is None
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/messages"),
        ("POST", "/fork"),
        ("POST", "/cancel"),
        ("POST", "/recompile"),
    ):
        assert talk.http.request(method, chat.path(path)).status_code == 404
    assert talk.http.patch(chat.path(), json={"summary": "x"}).status_code == 404
    assert chat.try_to("messages", input="Hi").status_code == 404
    assert chat.try_to("stream").status_code == 404
    assert [each.id for each in talk.sdk.conversations.list()] == [fork.id]
    assert fork.texts() == ["Hi", "Hello"]
    fork.say("Still there?", says("Yes"))
    assert talk.model.last.roles == ["system", "user", "assistant", "user"]


def test_conversations_go_with_their_agent(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    talk.ask("DELETE", f"/v1/agents/{agent['id']}")
    assert talk.http.get(chat.path()).status_code == 404
    assert talk.get("/v1/conversations/") == []


def test_conversations_of_others_do_not_exist(talk: Talk, house: SharedHouse) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    chat.say("Hi", says("Hello"))
    message_id = chat.messages()[1]["id"]
    stranger = house.new_tenant()
    assert stranger.sdk.conversations.list() == []
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/messages"),
        ("POST", "/fork"),
        ("POST", "/cancel"),
        ("POST", "/stream"),
        ("POST", "/recompile"),
    ):
        assert stranger.http.request(method, chat.path(path)).status_code == 404, path
    own = {"agent_id": agent["id"]}
    assert stranger.http.patch(chat.path(), json={"summary": "x"}).status_code == 404
    assert stranger.http.post(chat.path("/messages"), json={"input": "x"}).status_code == 404
    assert stranger.http.post("/v1/conversations/", params=own).status_code == 404
    assert stranger.http.post("/v1/conversations/default/fork", params=own).status_code == 404
    assert stranger.http.get("/v1/conversations/default/messages", params=own).status_code == 404
    assert stranger.http.get(f"/v1/messages/{message_id}").status_code == 404
    stranger.close()
    assert chat.texts() == ["Hi", "Hello"]


@pytest.mark.parametrize("name", ["default", "conv-1", "x", "agent-00000000-0000-4000-8000-000000000000"])
def test_only_ids_of_conversations_can_be_retrieved(talk: Talk, name: str) -> None:
    assert talk.http.get(f"/v1/conversations/{name}").status_code == 422


# Isolated blocks


def test_isolated_blocks_are_copies_read_and_edited_in_their_conversation_alone(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[PLAN, {"label": "human", "value": "Name: Eve"}])
    plain = Chat.begin(talk, agent)
    chat = Chat.begin(talk, agent, isolated_block_labels=["plan", "plan"])
    (copy_id,) = chat.body()["isolated_block_ids"]
    note = calls("memory_insert", label="human", new_string="Likes figs.")
    chat.say("Change it all", EDIT_PLAN, note, says("Done"))
    assert talk.block(agent, "plan") == "Plan A"
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    assert talk.get(f"/v1/blocks/{copy_id}")["value"] == "Plan B"
    for each in (chat, plain, Chat.own(talk, agent)):
        each.try_to("recompile")
    assert "Plan B" in chat.messages()[0]["content"]
    for each in (plain, Chat.own(talk, agent)):
        assert "Plan A" in each.messages()[0]["content"]
    for each in (chat, plain):
        assert "Likes figs." in each.messages()[0]["content"]


def test_edits_from_outside_reach_isolated_blocks(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[PLAN])
    chat = Chat.begin(talk, agent, isolated_block_labels=["plan"])
    chat.say("Hi", says("Hello"))
    (copy_id,) = chat.body()["isolated_block_ids"]
    talk.sdk.blocks.update(copy_id, value="Plan A, but better")
    chat.say("And now B", EDIT_PLAN, says("Done"))
    assert talk.get(f"/v1/blocks/{copy_id}")["value"] == "Plan B, but better"


def test_isolated_blocks_are_in_no_list_and_go_with_their_conversation(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[PLAN])
    blocks = talk.get("/v1/blocks/")
    chat = Chat.begin(talk, agent, isolated_block_labels=["plan"])
    (copy_id,) = chat.body()["isolated_block_ids"]
    assert talk.get("/v1/blocks/") == blocks
    assert talk.get("/v1/blocks/count") == len(blocks)
    assert len(talk.get(f"/v1/agents/{agent['id']}/core-memory/blocks")) == 1
    assert chat.fork().body()["isolated_block_ids"] == []
    talk.ask("DELETE", chat.path())
    assert talk.http.get(f"/v1/blocks/{copy_id}").status_code == 404


def test_a_conversation_outlives_its_isolated_block(talk: Talk) -> None:
    agent = talk.agent(memory_blocks=[PLAN])
    chat = Chat.begin(talk, agent, isolated_block_labels=["plan"])
    (copy_id,) = chat.body()["isolated_block_ids"]
    talk.ask("DELETE", f"/v1/blocks/{copy_id}")
    chat.say("Still there?", says("Yes"))
    assert chat.try_to("recompile").status_code == 200
    talk.ask("DELETE", chat.path())


def test_errors_reach_the_sdk_as_their_types(talk: Talk) -> None:
    with pytest.raises(NotFoundError):
        talk.sdk.conversations.retrieve(UNKNOWN)
    with pytest.raises(APIStatusError) as failed:
        talk.sdk.conversations.retrieve("default")
    assert failed.value.status_code == 422
