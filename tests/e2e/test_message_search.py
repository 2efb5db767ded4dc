"""Searching what was said: by the routes, and by agents themselves."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection
from tests.support.scripted_model import calls, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.core.message import Message, text_parts
from remanence.kit import json
from remanence.kit.ids import AgentId, OrgId, new_message_id
from remanence.messages.repository import insert_messages
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex
from remanence.search.postgres import PostgresIndex
from remanence.search.sqlite import SqliteIndex

TOLD = [
    ("user", "My dog Rufus hates thunderstorms."),
    ("assistant", "Poor Rufus! Keep him inside."),
    ("user", "The rent for the office is due on Friday."),
    ("assistant", "I will remind you on Thursday."),
]


def an_agent(talk: Talk, **options: Any) -> dict[str, Any]:
    """Told some things at birth, so that nobody has to wait for a model."""
    told = [{"role": role, "content": text} for role, text in TOLD]
    return talk.agent(initial_message_sequence=told, **options)


def search(talk: Talk, query: str, **body: Any) -> list[dict[str, Any]]:
    return talk.ask("POST", "/v1/messages/search", json={"query": query, **body})


def contents(found: list[dict[str, Any]]) -> list[str]:
    return [each["content"] for each in found]


def wait_for_vectors(talk: Talk, agent: dict[str, Any]) -> None:
    until_sync(lambda: talk.get(f"/v1/agents/{agent['id']}/embedding")["waiting"] == 0)


@pytest.mark.promise("messages.search")
def test_messages_are_found_by_words_at_once_and_by_meaning_soon(talk: Talk) -> None:
    agent = an_agent(talk)
    (first, *_) = search(talk, "thunderstorm")
    assert first["content"] == "My dog Rufus hates thunderstorms."
    assert (first["message_type"], first["agent_id"]) == ("user_message", agent["id"])
    assert first["lexical_rank"] == 1
    wait_for_vectors(talk, agent)
    assert contents(search(talk, "afraid pet", limit=2))[0] in (TOLD[0][1], TOLD[1][1])
    assert contents(search(talk, "weather scares the puppy", search_mode="vector"))[0] == TOLD[0][1]
    assert search(talk, "zzzz qqqq", search_mode="fts") == []
    (found, *_) = search(talk, "office rent")
    assert 0 < found["score"] <= 1
    assert (found["lexical_rank"], found["vector_rank"]) == (1, 1)
    assert 0 < found["word_share"] < 1
    typed = talk.sdk.messages.search(query="office rent", limit=1)
    assert len(typed) == 1


@pytest.mark.promise("messages.search.filters")
def test_agents_roles_dates_and_conversations_filter_before_ranking(talk: Talk) -> None:
    agent, other = an_agent(talk), an_agent(talk)
    assert {each["agent_id"] for each in search(talk, "Rufus")} == {agent["id"], other["id"]}
    assert {each["agent_id"] for each in search(talk, "Rufus", agent_id=other["id"])} == {other["id"]}
    assert search(talk, "Rufus", end_date="2020-01-01T00:00:00Z") == []
    assert search(talk, "Rufus", conversation_id="default", agent_id=agent["id"])
    ranked = talk.ask(
        "POST",
        "/v1/agents/messages/search",
        json={"query": "Rufus", "roles": ["assistant"], "agent_id": agent["id"]},
    )
    assert ranked[0]["embedded_text"] == "Poor Rufus! Keep him inside."
    assert {each["message"]["role"] for each in ranked} == {"assistant"}
    assert (ranked[0]["message"]["role"], ranked[0]["fts_rank"]) == ("assistant", 1)
    assert ranked[0]["rrf_score"] > 0
    nothing = talk.ask("POST", "/v1/agents/messages/search", json={"query": "Rufus", "project_id": "none"})
    assert nothing == []
    newest = talk.ask("POST", "/v1/agents/messages/search", json={"agent_id": agent["id"], "limit": 1})
    assert newest[0]["embedded_text"] == TOLD[3][1]


@pytest.mark.promise("messages.search.errors")
def test_a_search_that_cannot_be_is_refused(talk: Talk) -> None:
    def status(**body: Any) -> int:
        return talk.http.post("/v1/messages/search", json=body).status_code

    assert status() == 422
    assert status(query="x", limit=0) == 422
    assert status(query="x", search_mode="guess") == 422
    assert status(query="x", agent_id="agent-11111111-1111-4111-8111-111111111111") == 404
    assert status(query="x", conversation_id="nowhere") == 200


@pytest.mark.promise("messages.search.model-change")
def test_another_embedding_model_has_everything_embedded_anew(talk: Talk) -> None:
    talk.model.embedded.clear()
    agent = an_agent(talk, embedding="openai/text-embedding-3-small")
    wait_for_vectors(talk, agent)
    embedded = [text for texts in talk.model.embedded for text in texts]
    assert sorted(embedded) == sorted(text for _, text in TOLD), "each text once"
    talk.ask("PATCH", f"/v1/agents/{agent['id']}", json={"embedding": "local/wordllama-256"})
    wait_for_vectors(talk, agent)
    status = talk.get(f"/v1/agents/{agent['id']}/embedding")
    assert status == {"model": "local/wordllama-256", "waiting": 0, "messages": 5, "progress": 1.0}
    assert contents(search(talk, "weather scares the puppy", agent_id=agent["id"]))[0] == TOLD[0][1]


@pytest.mark.promise("messages.search.tool")
def test_an_agent_finds_what_was_meant(talk: Talk) -> None:
    agent = an_agent(talk)
    wait_for_vectors(talk, agent)
    answer = talk.say(
        agent,
        "What is my pet afraid of?",
        calls("conversation_search", query="pet afraid of weather", limit=3),
        says("Of thunderstorms."),
    )
    (returned,) = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    found = json.decode(returned["tool_return"])["results"]
    assert TOLD[0][1] in [each["content"] for each in found]
    assert len({each["content"] for each in found}) == len(found)
    assert {"timestamp", "time_ago", "role", "content", "relevance"} <= found[0].keys()


FACTS = {
    "My sister plays the cello in an orchestra.": "which instrument does my sibling play",
    "I am allergic to shellfish.": "food I must not eat",
    "We named the kitten Pixel.": "name of our cat",
    "The wifi code at the cabin is 7741.": "wifi password of the cabin",
}
WORDS = [
    "meeting",
    "report",
    "budget",
    "weather",
    "train",
    "ticket",
    "garden",
    "kitchen",
    "window",
    "report",
    "client",
    "deadline",
    "lunch",
    "coffee",
    "update",
    "invoice",
    "folder",
    "printer",
    "traffic",
    "weekend",
    "project",
    "review",
    "draft",
    "slide",
    "chart",
    "phone",
    "battery",
    "charger",
    "parcel",
    "office",
]


def remember_much(connection: Connection, agent_id: str, organization_id: str) -> None:
    """Ten thousand messages; the facts stand some five hundred before the end.

    Fewer on PostgreSQL, whose graph of vectors takes milliseconds for each.
    """
    count = 10_000 if connection.dialect.name == "sqlite" else 1_500
    dice = random.Random(5)
    moment = datetime.now(UTC) - timedelta(days=400)
    texts = [
        f"About the {' '.join(dice.sample(WORDS, 4))}, number {number}: {dice.choice(WORDS)} again."
        for number in range(count)
    ]
    for number, fact in enumerate(FACTS):
        texts[count - 500 + 3 * number] = fact
    messages = [
        Message(
            id=new_message_id(),
            agent_id=AgentId(agent_id),
            role="user" if number % 2 == 0 or text in FACTS else "assistant",
            content=text_parts(text),
            created_at=moment + timedelta(minutes=number),
        )
        for number, text in enumerate(texts)
    ]
    insert_messages(connection, OrgId(organization_id), messages)
    index = open_index_for(connection)
    index.index(connection, message_documents(messages, organization_id))


def open_index_for(connection: Connection) -> SearchIndex:
    return SqliteIndex() if connection.dialect.name == "sqlite" else PostgresIndex()


@pytest.mark.promise("messages.search.depth")
def test_facts_told_five_hundred_messages_ago_are_found_among_ten_thousand(talk: Talk) -> None:
    agent = talk.agent()
    talk.tenant.house.write(remember_much, agent["id"], talk.tenant.actor.organization_id)
    until_sync(lambda: talk.get(f"/v1/agents/{agent['id']}/embedding")["waiting"] == 0, 50)
    for fact, question in FACTS.items():
        answer = talk.say(agent, "?", calls("conversation_search", query=question), says("So."))
        (returned,) = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
        found = json.decode(returned["tool_return"])["results"]
        assert len(found) <= 5
        assert fact in [each["content"] for each in found], question
