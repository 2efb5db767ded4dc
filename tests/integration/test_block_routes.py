"""The routes of blocks and tags, as a client meets them."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from tests.support.records import a_block, add_agent, add_stranger, delete_agent_softly
from tests.support.rooms import serve

from remanence.core.actor import Actor
from remanence.db.database import Database
from remanence.kit.ids import new_block_id
from remanence.memory import repository
from remanence.memory.endpoints import router


@pytest.fixture
async def http(db: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(db, router(db)) as client:
        yield client


async def create(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await http.post("/v1/blocks/", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def labels(http: httpx.AsyncClient, query: str = "") -> list[str]:
    response = await http.get(f"/v1/blocks/{query}")
    assert response.status_code == 200, response.text
    return [block["label"] for block in response.json()]


async def test_a_created_block_has_the_keys_of_the_contract_in_their_order(http: httpx.AsyncClient) -> None:
    block = await create(
        http,
        label="project",
        value="Garden plan",
        description="what we work on",
        limit=3000,
        metadata={"m": 1},
        tags=["t1"],
        unknown_key="is ignored",
    )
    assert list((block | {"id": "block-…"}).items()) == snapshot(
        [
            ("value", "Garden plan"),
            ("limit", 3000),
            ("project_id", None),
            ("template_name", None),
            ("is_template", False),
            ("template_id", None),
            ("base_template_id", None),
            ("deployment_id", None),
            ("entity_id", None),
            ("preserve_on_migration", False),
            ("label", "project"),
            ("read_only", False),
            ("description", "what we work on"),
            ("metadata", {"m": 1}),
            ("hidden", None),
            ("id", "block-…"),
            ("created_by_id", "user-00000000-0000-4000-8000-000000000000"),
            ("last_updated_by_id", "user-00000000-0000-4000-8000-000000000000"),
            ("tags", ["t1"]),
            ("revision", 1),
        ]
    )
    assert (await http.get(f"/v1/blocks/{block['id']}")).json() == block


async def test_a_label_is_enough_and_null_means_the_default(http: httpx.AsyncClient) -> None:
    bare = await create(http, label="scratch")
    nulls = dict.fromkeys(["value", "limit", "metadata", "tags", "read_only", "is_template", "hidden"])
    assert {**await create(http, label="scratch", **nulls), "id": bare["id"]} == bare
    assert (bare["value"], bare["limit"], bare["metadata"], bare["tags"]) == ("", 100_000, {}, [])


async def test_a_block_is_changed_by_the_keys_that_are_given(http: httpx.AsyncClient) -> None:
    block = await create(http, label="project", value="one", description="d")
    response = await http.patch(f"/v1/blocks/{block['id']}", json={"value": "two", "read_only": True})
    assert response.json() == {**block, "value": "two", "read_only": True, "revision": 2}
    again = await http.patch(f"/v1/blocks/{block['id']}", json={"value": "three"})
    assert again.json() == {**block, "value": "three", "read_only": True, "revision": 3}, (
        "the API may write what agents may not"
    )


async def test_a_deleted_block_is_unknown(http: httpx.AsyncClient) -> None:
    block = await create(http, label="project")
    response = await http.delete(f"/v1/blocks/{block['id']}")
    assert (response.status_code, response.json()) == (200, None)
    for method in ("GET", "PATCH", "DELETE"):
        response = await http.request(method, f"/v1/blocks/{block['id']}", json={})
        assert response.status_code == 404
        assert block["id"] in response.json()["detail"]


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_a_malformed_id_is_a_422_with_an_example(http: httpx.AsyncClient, method: str) -> None:
    response = await http.request(method, "/v1/blocks/notablock", json={})
    assert response.status_code == 422
    assert response.json()["examples"] == ["block-123e4567-e89b-42d3-8456-426614174000"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"label": None},
        {"label": ""},
        {"label": "a\tb"},
        {"label": 7},
        {"label": "tiny", "value": "x" * 11, "limit": 10},
        {"label": "x", "limit": 0},
        {"label": "x", "limit": -5},
        {"label": "x", "limit": 10**12},
        {"label": "x", "value": "nul \x00 inside"},
        {"label": "x", "description": "\x00"},
        {"label": "x", "project_id": "\x00"},
        {"label": "x", "tags": ["\x00"]},
        {"label": "x", "metadata": {"deep": [{"key\x00": 1}]}},
        {"label": "x", "metadata": {"deep": ["\x00"]}},
        {"label": "x", "metadata": {"big": 2**70}},
        {"label": "x", "metadata": [1]},
    ],
)
async def test_what_cannot_be_stored_is_a_422_and_nothing_is(
    http: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    response = await http.post("/v1/blocks/", json=body)
    assert response.status_code == 422, response.text
    assert response.json()["detail"]
    assert await labels(http) == []
    block = await create(http, label="good", limit=10)
    if body.get("label"):
        response = await http.patch(f"/v1/blocks/{block['id']}", json=body)
        assert response.status_code == 422, response.text
        assert (await http.get(f"/v1/blocks/{block['id']}")).json() == block


async def test_half_a_character_is_a_422(http: httpx.AsyncClient) -> None:
    for body in ('{"label": "x", "value": "\\ud800"}', '{"label": "x", "metadata": {"a": "\\ud800"}}'):
        headers = {"content-type": "application/json"}
        response = await http.post("/v1/blocks/", content=body, headers=headers)
        assert response.status_code == 422, response.text


async def test_a_value_over_its_limit_is_refused_with_a_way_out(http: httpx.AsyncClient) -> None:
    block = await create(http, label="tiny", value="x" * 10, limit=10)
    for change in ({"value": "x" * 30}, {"limit": 9}):
        response = await http.patch(f"/v1/blocks/{block['id']}", json=change)
        assert response.status_code == 422
        assert "Shorten the value or raise the limit" in response.json()["detail"]
    assert (await http.get(f"/v1/blocks/{block['id']}")).json() == block


async def test_a_label_that_a_holder_has_already_is_a_409(
    http: httpx.AsyncClient, db: Database, actor: Actor
) -> None:
    agent_id = await db.write(add_agent, actor)
    one, two = [await create(http, label=label) for label in ("one", "two")]
    for block in (one, two):
        await db.write(repository.attach_block, actor, agent_id, block["id"])
    response = await http.patch(f"/v1/blocks/{two['id']}", json={"label": "one"})
    assert response.status_code == 409
    assert "another label" in response.json()["detail"]


async def test_pages_follow_the_order_asked_for_both_ways(http: httpx.AsyncClient) -> None:
    ids = [(await create(http, label=str(n)))["id"] for n in range(5)]
    assert await labels(http) == ["0", "1", "2", "3", "4"]
    assert await labels(http, "?order=desc&limit=2") == ["4", "3"]
    assert await labels(http, f"?limit=2&after={ids[1]}") == ["2", "3"]
    assert await labels(http, f"?limit=2&before={ids[3]}") == ["1", "2"]
    assert await labels(http, f"?order=desc&limit=2&after={ids[3]}") == ["2", "1"]
    assert await labels(http, f"?order=desc&limit=2&before={ids[1]}") == ["3", "2"]
    assert await labels(http, f"?after={ids[0]}&before={ids[4]}") == ["1", "2", "3"]
    assert await labels(http, f"?after={ids[4]}") == []


async def test_an_unknown_cursor_is_a_404_and_a_bad_parameter_a_422(http: httpx.AsyncClient) -> None:
    await create(http, label="x")
    assert (await http.get(f"/v1/blocks/?after={new_block_id()}")).status_code == 404
    for query in (
        "limit=0",
        "limit=x",
        f"limit={2**70}",
        "order=up",
        "order_by=label",
        "after=%00",
        "identity_id=me",
        "value_search=%00",
        f"connected_to_agents_count_gt={2**70}",
        f"connected_to_agents_count_eq={2**70}",
    ):
        response = await http.get(f"/v1/blocks/?{query}")
        assert response.status_code == 422, query


async def test_filters_are_read_from_the_query(http: httpx.AsyncClient, db: Database, actor: Actor) -> None:
    await create(http, label="with space", value="Tea", description="Drinks", tags=["hot", "leaf"])
    await create(http, label="b", value="Coffee", tags=["hot"], is_template=True, template_name="N")
    held = await create(http, label="c/d", project_id="p")
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_block, actor, agent_id, held["id"])
    expected = {
        "label=with%20space": ["with space"],
        "label=c/d": ["c/d"],
        "templates_only=true": ["b"],
        "name=N": ["b"],
        "project_id=p": ["c/d"],
        "tags=hot&tags=leaf": ["with space", "b"],
        "tags=hot&tags=leaf&match_all_tags=true": ["with space"],
        "label_search=SPACE": ["with space"],
        "value_search=tea": ["with space"],
        "description_search=drink": ["with space"],
        "connected_to_agents_count_gt=0": ["c/d"],
        "connected_to_agents_count_lt=1": ["with space", "b"],
        "connected_to_agents_count_eq=1&connected_to_agents_count_eq=7": ["c/d"],
        "identifier_keys=nobody": [],
    }
    for query, found in expected.items():
        assert await labels(http, f"?{query}") == found, query
        assert (await http.get(f"/v1/blocks/count?{query}")).json() == len(found), query
    assert (await http.get("/v1/blocks/count")).json() == 3


async def test_another_organisations_blocks_are_unknown(http: httpx.AsyncClient, db: Database) -> None:
    block = await create(http, label="mine", tags=["secret"])
    stranger = await db.write(add_stranger)
    http.headers["user_id"] = stranger.user_id
    assert await labels(http) == []
    assert (await http.get("/v1/blocks/count")).json() == 0
    assert (await http.get("/v1/tags/")).json() == []
    for method in ("GET", "PATCH", "DELETE"):
        response = await http.request(method, f"/v1/blocks/{block['id']}", json={"value": "theirs"})
        assert response.status_code == 404
    assert (await http.get(f"/v1/blocks/?after={block['id']}")).status_code == 404


# Tags


async def tags(http: httpx.AsyncClient, query: str = "") -> list[str]:
    response = await http.get(f"/v1/tags/{query}")
    assert response.status_code == 200, response.text
    return response.json()


async def test_tags_are_those_of_live_agents_and_blocks_each_once_and_sorted(
    http: httpx.AsyncClient, db: Database, actor: Actor
) -> None:
    await create(http, label="a", tags=["both", "Block", "é"])
    gone = await create(http, label="b", tags=["gone"])
    await http.delete(f"/v1/blocks/{gone['id']}")
    await db.write(add_agent, actor, "both", "agent", "_x")
    await db.write(delete_agent_softly, await db.write(add_agent, actor, "gone too"))
    assert await tags(http) == ["Block", "_x", "agent", "both", "é"]


async def test_tags_page_by_value_both_ways(http: httpx.AsyncClient, db: Database, actor: Actor) -> None:
    block = a_block(actor, "x", tags=["a", "b", "c", "d", "e"])
    await db.write(repository.insert_blocks, [block])
    assert await tags(http, "?limit=2") == ["a", "b"]
    assert await tags(http, "?limit=2&after=b") == ["c", "d"]
    assert await tags(http, "?limit=2&before=d") == ["b", "c"]
    assert await tags(http, "?order=desc&limit=2&after=d") == ["c", "b"]
    assert await tags(http, "?order=desc&limit=2&before=b") == ["d", "c"]
    assert await tags(http, "?after=bb") == ["c", "d", "e"], (
        "a tag that is gone is still a place to go on from"
    )
    assert await tags(http, "?order_by=name&after=e") == []


async def test_tags_are_found_by_a_part_of_their_name(
    http: httpx.AsyncClient, db: Database, actor: Actor
) -> None:
    await db.write(repository.insert_blocks, [a_block(actor, "x", tags=["Garden", "gate", "50%", "505"])])
    assert await tags(http, "?name=GA") == ["Garden", "gate"]
    assert await tags(http, "?query_text=ard") == ["Garden"]
    assert await tags(http, "?name=0%25") == ["50%"]
