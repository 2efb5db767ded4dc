"""Archival memory as clients and agents see it: archives, passages, and the tools to keep and to find them."""

from typing import Any

import httpx
import letta_client
import pytest
from tests.support.scripted_model import calls, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit import json


def path_of(agent: dict[str, Any]) -> str:
    return f"/v1/agents/{agent['id']}/archival-memory"


def keep(talk: Talk, agent: dict[str, Any], text: str, **given: Any) -> dict[str, Any]:
    (passage,) = talk.ask("POST", path_of(agent), json={"text": text, **given})
    return passage


def look(talk: Talk, agent: dict[str, Any], query: str, **given: Any) -> list[str]:
    found = talk.get(f"{path_of(agent)}/search", query=query, **given)
    assert found["count"] == len(found["results"])
    return [each["content"] for each in found["results"]]


def refusal(talk: Talk, method: str, path: str, **given: Any) -> int:
    return talk.http.request(method, path, **given).status_code


@pytest.mark.promise("archives.crud")
def test_an_archive_is_made_read_changed_listed_and_deleted(talk: Talk) -> None:
    made = talk.sdk.archives.create(name="herbs", description="about herbs")
    assert made.embedding_config is not None
    assert (made.embedding_config.handle, made.vector_db_provider) == ("local/wordllama-256", "native")
    talk.sdk.archives.create(name="stones")
    assert talk.sdk.archives.retrieve(made.id).name == "herbs"
    assert [each.name for each in talk.sdk.archives.list()] == ["stones", "herbs"]
    assert [each.id for each in talk.sdk.archives.list(name="herbs")] == [made.id]
    changed = talk.sdk.archives.update(made.id, name="spices")
    assert (changed.name, changed.description) == ("spices", "about herbs")
    assert changed.updated_at
    assert changed.updated_at > changed.created_at
    talk.sdk.archives.passages.create(made.id, text="Basil needs sun.")
    talk.sdk.archives.delete(made.id)
    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.archives.retrieve(made.id)
    assert talk.sdk.passages.search(query="basil") == []


@pytest.mark.promise("archives.errors")
def test_what_cannot_be_is_refused_and_changes_nothing(talk: Talk) -> None:
    archive = talk.sdk.archives.create(name="herbs")
    nowhere = archive.id.replace(archive.id[-6:], "000000")
    path = f"/v1/archives/{archive.id}/passages"
    assert refusal(talk, "POST", "/v1/archives/", json={}) == 422
    assert refusal(talk, "POST", "/v1/archives/", json={"name": "x", "embedding": "no/such"}) == 400
    assert refusal(talk, "GET", f"/v1/archives/{nowhere}") == 404
    assert refusal(talk, "POST", f"/v1/archives/{nowhere}/passages", json={"text": "x"}) == 404
    assert refusal(talk, "POST", path, json={"text": "  "}) == 400
    assert refusal(talk, "POST", path, json={"text": "word " * 9000}) == 400
    assert refusal(talk, "POST", f"{path}/batch", json={"passages": [{"text": "good"}, {"text": ""}]}) == 400
    assert refusal(talk, "DELETE", f"{path}/{nowhere.replace('archive', 'passage')}") == 404
    assert refusal(talk, "POST", "/v1/passages/search", json={"archive_id": nowhere}) == 404
    assert refusal(talk, "POST", "/v1/passages/search", json={"limit": 101}) == 422
    agent = talk.agent()
    assert (
        refusal(talk, "GET", f"{path_of(agent)}/search", params={"query": "x", "start_datetime": "soon"})
        == 422
    )
    assert refusal(talk, "DELETE", f"{path_of(agent)}/passage-x") == 404
    assert talk.sdk.passages.search() == []


@pytest.mark.promise("archives.passages")
def test_passages_keep_their_tags_in_order_and_come_with_their_vectors(talk: Talk) -> None:
    archive = talk.sdk.archives.create(name="herbs")
    path = f"/v1/archives/{archive.id}/passages"
    one = talk.ask(
        "POST", path, json={"text": "Basil needs sun.", "metadata": {"n": 1}, "tags": ["sun", "herb", "sun"]}
    )
    assert (one["tags"], one["metadata"], one["archive_id"]) == (["sun", "herb"], {"n": 1}, archive.id)
    assert len(one["embedding"]) == one["embedding_config"]["embedding_dim"] == 256
    long_ago = {"text": "Mint spreads.", "created_at": "2020-01-02T03:04:05Z"}
    two, three = talk.ask("POST", f"{path}/batch", json={"passages": [long_ago, {"text": "Dill seeds."}]})
    assert (two["tags"], two["metadata"], two["created_at"]) == (None, {}, "2020-01-02T03:04:05Z")
    assert talk.sdk.archives.passages.create_many(archive.id, passages=[]) == []
    talk.sdk.archives.passages.delete(three["id"], archive_id=archive.id)
    found = talk.sdk.passages.search(archive_id=archive.id)
    assert [each.passage.text for each in found] == ["Basil needs sun.", "Mint spreads."]


@pytest.mark.promise("passages.search")
def test_passages_are_searched_by_meaning_words_tags_and_dates(talk: Talk) -> None:
    garden = talk.sdk.archives.create(name="garden")
    house = talk.sdk.archives.create(name="house")
    given: list[Any] = [
        {"text": "Basil needs a lot of sun.", "tags": ["herb", "sun"]},
        {"text": "Mint spreads fast in wet soil.", "tags": ["herb"], "created_at": "2020-05-01T12:00:00Z"},
        {"text": "The puppy sleeps under the apple tree.", "tags": ["animal"]},
    ]
    talk.ask("POST", f"/v1/archives/{garden.id}/passages/batch", json={"passages": given})
    talk.sdk.archives.passages.create(house.id, text="The roof leaks above the kitchen.")

    def search(**body: Any) -> list[str]:
        return [each["passage"]["text"] for each in talk.ask("POST", "/v1/passages/search", json=body)]

    assert search(query="where is our dog")[0] == "The puppy sleeps under the apple tree."
    assert search(query="mint")[0] == "Mint spreads fast in wet soil."
    assert set(search(tags=["herb", "sun"])) == {given[0]["text"], given[1]["text"]}
    assert search(query="plants", tags=["herb", "sun"], tag_match_mode="all") == ["Basil needs a lot of sun."]
    assert search(query="herb", tags=["nothing has it"]) == []
    assert search(query="herbs", end_date="2021-01-01T00:00:00Z") == ["Mint spreads fast in wet soil."]
    assert search(query="leaking roof", archive_id=garden.id)[:1] != ["The roof leaks above the kitchen."]
    hits = talk.ask("POST", "/v1/passages/search", json={"query": "basil in the sun", "limit": 2})
    assert len(hits) == 2
    assert 0 < hits[1]["score"] <= hits[0]["score"] <= 1
    assert hits[0]["metadata"] == {"lexical_rank": 1, "vector_rank": 1}
    assert len(search()) == 4


@pytest.mark.promise("archives.agents")
def test_an_archive_is_shared_between_agents_and_outlives_them(talk: Talk) -> None:
    archive = talk.sdk.archives.create(name="common")
    one, other = talk.agent(), talk.agent()
    for agent in (one, other, one):
        assert talk.ask("PATCH", f"/v1/agents/{agent['id']}/archives/attach/{archive.id}") is None
    keep(talk, one, "The key is under the mat.")
    assert look(talk, other, "key") == ["The key is under the mat."]
    assert [each.id for each in talk.sdk.archives.list(agent_id=one["id"])] == [archive.id]
    holders = talk.get(f"/v1/archives/{archive.id}/agents")
    assert {each["id"] for each in holders} == {one["id"], other["id"]}
    talk.sdk.agents.delete(one["id"])
    assert [each["id"] for each in talk.get(f"/v1/archives/{archive.id}/agents")] == [other["id"]]
    assert look(talk, other, "key") == ["The key is under the mat."]
    assert talk.ask("PATCH", f"/v1/agents/{other['id']}/archives/detach/{archive.id}") is None
    assert look(talk, other, "key") == []
    assert len(talk.sdk.passages.search(archive_id=archive.id)) == 1


@pytest.mark.promise("archival.insert")
def test_the_first_insert_makes_an_archive_and_two_archives_are_one_too_many(talk: Talk) -> None:
    agent = talk.agent(name="ian")
    assert talk.get(path_of(agent)) == []
    first = keep(talk, agent, "The owl nests in the barn.", tags=["bird"])
    second = keep(talk, agent, "Ian has two goats.", created_at="2021-02-03T04:05:06")
    (archive,) = talk.sdk.archives.list(agent_id=agent["id"])
    assert "ian" in archive.name
    assert first["archive_id"] == second["archive_id"] == archive.id
    assert second["created_at"] == "2021-02-03T04:05:06Z"
    more = talk.sdk.archives.create(name="more")
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/archives/attach/{more.id}")
    assert refusal(talk, "POST", path_of(agent), json={"text": "Where to?"}) == 400
    talk.sdk.archives.passages.create(more.id, text="Geese fly south.")
    assert set(look(talk, agent, "animals", top_k=9)) == {
        "The owl nests in the barn.",
        "Ian has two goats.",
        "Geese fly south.",
    }


@pytest.mark.promise("archival.list")
def test_the_archival_memory_of_an_agent_is_listed_oldest_first_by_pages(talk: Talk) -> None:
    agent = talk.agent()
    kept = [
        keep(talk, agent, f"Fact {number} about owls", created_at=f"2021-01-0{number}T00:00:00Z")
        for number in range(1, 6)
    ]
    texts = [each["text"] for each in kept]

    def listed(**query: Any) -> list[str]:
        return [each["text"] for each in talk.get(path_of(agent), **query)]

    assert listed() == texts
    assert listed(ascending=False, limit=2) == texts[:2:-1]
    assert listed(after=kept[1]["id"], limit=2) == texts[2:4]
    assert listed(before=kept[3]["id"], limit=2) == texts[1:3]
    assert listed(search="FACT 3") == texts[2:3]
    assert listed(search="100%") == []
    assert refusal(talk, "GET", path_of(agent), params={"after": "passage-nowhere"}) == 404
    assert [each.text for each in talk.sdk.agents.passages.list(agent["id"], limit=1)] == texts[:1]


@pytest.mark.promise("archival.search")
def test_the_archival_memory_of_an_agent_is_searched_in_its_own_time(talk: Talk) -> None:
    agent = talk.agent(timezone="Asia/Tokyo")
    keep(
        talk,
        agent,
        "The owl nests in the old barn.",
        tags=["bird", "barn"],
        created_at="2026-03-14T16:00:00Z",
    )
    keep(talk, agent, "Basil needs sun.", tags=["herb"], created_at="2026-03-10T16:00:00Z")
    found = talk.sdk.agents.passages.search(agent["id"], query="owl barn", top_k=1)
    assert (found.count, found.results[0].tags) == (1, ["bird", "barn"])
    assert found.results[0].timestamp == "2026-03-15T01:00:00+09:00"
    assert look(talk, agent, "a nocturnal predator", top_k=1) == ["The owl nests in the old barn."]
    assert look(talk, agent, " ") == []
    assert look(talk, agent, "owl", tags=["herb"]) == ["Basil needs sun."]
    assert look(talk, agent, "owl", tags=["bird", "herb"], tag_match_mode="all") == []
    assert look(talk, agent, "owl", start_datetime="2026-03-15", end_datetime="2026-03-15") == [
        "The owl nests in the old barn."
    ]
    assert look(talk, agent, "owl", end_datetime="2026-03-14") == ["Basil needs sun."]
    raw = talk.get(f"{path_of(agent)}/search", query="owl barn")["results"][0]
    assert (raw["lexical_rank"], raw["vector_rank"]) == (1, 1)
    assert 0.5 < raw["score"] <= 1


@pytest.mark.promise("archival.delete")
def test_what_is_deleted_is_found_no_more(talk: Talk) -> None:
    agent = talk.agent()
    owl = keep(talk, agent, "The owl nests in the barn.")
    keep(talk, agent, "Basil needs sun.")
    assert look(talk, agent, "owl")[0] == "The owl nests in the barn."
    stranger = talk.agent()
    assert refusal(talk, "DELETE", f"{path_of(stranger)}/{owl['id']}") == 404
    assert "message" in talk.ask("DELETE", f"{path_of(agent)}/{owl['id']}")
    assert "The owl nests in the barn." not in look(talk, agent, "owl")
    assert refusal(talk, "DELETE", f"{path_of(agent)}/{owl['id']}") == 404


def tools_of(agent_type: str) -> dict[str, Any]:
    return {"agent_type": agent_type, "tools": ["archival_memory_insert", "archival_memory_search"]}


@pytest.mark.promise("archival.tools")
@pytest.mark.parametrize("agent_type", ["letta_v1_agent", "memgpt_agent"])
def test_an_agent_keeps_a_note_and_finds_it(talk: Talk, agent_type: str) -> None:
    agent = talk.agent(**tools_of(agent_type))
    heartbeat: dict[str, Any] = {"request_heartbeat": True} if agent_type == "memgpt_agent" else {}

    def end(text: str) -> Any:
        return calls("send_message", message=text) if heartbeat else says(text)

    insert = calls("archival_memory_insert", content="Ian has two goats.", tags=["animals"], **heartbeat)
    talk.say(agent, "Remember the goats.", insert, end("Noted."))
    (kept,) = talk.get(path_of(agent))
    assert (kept["text"], kept["tags"], len(kept["embedding"])) == ("Ian has two goats.", ["animals"], 256)
    search = calls("archival_memory_search", query="farm animals", tags=["animals"], **heartbeat)
    answer = talk.say(agent, "What animals?", search, end("Goats."))
    (returned,) = [
        each
        for each in answer["messages"]
        if each["message_type"] == "tool_return_message" and each["name"] == "archival_memory_search"
    ]
    found = json.decode(returned["tool_return"])
    assert found["message"] == "Found 1 note."
    (note,) = found["results"]
    assert (note["id"], note["content"], note["tags"]) == (kept["id"], "Ian has two goats.", ["animals"])
    assert (note["time_ago"], note["relevance"]["rank"]) == ("just now", 1)


@pytest.mark.promise("archival.tools.errors")
def test_a_note_that_cannot_be_kept_is_answered_with_the_reason(talk: Talk) -> None:
    agent = talk.agent(**tools_of("letta_v1_agent"))
    for name in ("one", "two"):
        archive = talk.sdk.archives.create(name=name)
        talk.ask("PATCH", f"/v1/agents/{agent['id']}/archives/attach/{archive.id}")
    answer = talk.say(
        agent,
        "Keep this.",
        calls("archival_memory_insert", content="x"),
        calls("archival_memory_insert", content=" "),
        calls("archival_memory_search", query="x", start_datetime="soon"),
        says("No."),
    )
    returns = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    assert [each["status"] for each in returns] == ["error"] * 3
    assert "2 archives" in returns[0]["tool_return"]
    assert talk.get(path_of(agent)) == []


@pytest.mark.promise("archival.without-vectors")
def test_without_an_answer_of_the_embedding_model_words_are_enough(talk: Talk) -> None:
    agent = talk.agent(embedding="openai/text-embedding-3-small")
    talk.model.embedding_status = 400
    try:
        kept = keep(talk, agent, "The owl nests in the barn.")
        assert kept["embedding"] is None
        assert look(talk, agent, "owls") == ["The owl nests in the barn."]
    finally:
        talk.model.embedding_status = 200
    again = keep(talk, agent, "Basil needs sun.")
    assert len(again["embedding"]) == 64
    assert look(talk, agent, "sun for basil")[0] == "Basil needs sun."


@pytest.mark.promise("archives.organisations")
def test_no_archive_is_seen_from_another_organisation(talk: Talk) -> None:
    archive = talk.sdk.archives.create(name="secret")
    talk.sdk.archives.passages.create(archive.id, text="The key is under the mat.")
    stranger = talk.tenant.house.new_tenant()
    try:
        plain: httpx.Client = stranger.http
        assert plain.get(f"/v1/archives/{archive.id}").status_code == 404
        assert plain.get("/v1/archives/").json() == []
        assert plain.post("/v1/passages/search", json={"query": "key"}).json() == []
        search = plain.post("/v1/passages/search", json={"query": "key", "archive_id": archive.id})
        assert search.status_code == 404
        own = stranger.agent()
        attach = plain.patch(f"/v1/agents/{own['id']}/archives/attach/{archive.id}")
        assert attach.status_code == 404
    finally:
        stranger.close()


@pytest.mark.promise("archives.reembed")
def test_an_archive_that_gets_another_model_is_embedded_anew(talk: Talk) -> None:
    made = talk.ask("POST", "/v1/archives/", json={"name": "notes", "embedding": "local/wordllama-256"})
    path = f"/v1/archives/{made['id']}"
    talk.ask("POST", f"{path}/passages", json={"text": "The figs are ripe."})
    assert talk.ask("PATCH", path, json={"name": "Notes"})["embedding_config"] == made["embedding_config"]

    changed = talk.ask("PATCH", path, json={"embedding": "openai/embed-of-unknown-size"})
    config = changed["embedding_config"]
    assert (config["handle"], config["embedding_dim"]) == ("openai/embed-of-unknown-size", 64)
    until_sync(lambda: ["The figs are ripe."] in talk.model.embedded)
    question = {"query": "ripe figs", "archive_id": made["id"]}
    found = talk.ask("POST", "/v1/passages/search", json=question)
    assert [each["passage"]["embedding_config"]["handle"] for each in found] == [config["handle"]]

    assert refusal(talk, "PATCH", path, json={"embedding": "nobody/knows"}) == 400
    assert talk.get(path)["embedding_config"] == config
