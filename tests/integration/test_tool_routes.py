"""The routes of tools, as a client meets them."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from tests.support.records import add_stranger
from tests.support.rooms import serve

from remanence.core.actor import Actor
from remanence.core.tool import Requirement, Tool
from remanence.db.database import Database
from remanence.kit.ids import ToolId, new_tool_id
from remanence.tools import repository
from remanence.tools.builtin.catalogue import builtin_tools
from remanence.tools.endpoints import router

ROLL = ToolId("tool-11111111-1111-4111-8111-111111111111")


@pytest.fixture
async def http(db: Database, actor: Actor) -> AsyncIterator[httpx.AsyncClient]:
    await db.write(repository.ensure_builtins, actor.organization_id)
    tool = Tool(
        id=ROLL,
        organization_id=actor.organization_id,
        name="roll_dice",
        json_schema={"name": "roll_dice", "description": "d", "parameters": {}},
        source_code="def roll_dice(): ...",
        pip_requirements=(Requirement(name="numpy"),),
        created_by_id=actor.user_id,
    )
    await db.write(repository.insert_tool, tool)
    async with serve(db, router(db)) as client:
        yield client


async def get(http: httpx.AsyncClient, path: str) -> Any:
    response = await http.get(f"/v1/tools/{path}")
    assert response.status_code == 200, response.text
    return response.json()


async def names(http: httpx.AsyncClient, query: str) -> list[str]:
    return [tool["name"] for tool in await get(http, f"?{query}")]


async def test_a_built_in_tool_has_the_keys_of_the_contract_in_their_order(http: httpx.AsyncClient) -> None:
    [tool] = await get(http, "?name=send_message")
    described = tool | {"id": "tool-…", "description": "…", "json_schema": "…"}
    assert list(described.items()) == snapshot(
        [
            ("id", "tool-…"),
            ("tool_type", "letta_core"),
            ("description", "…"),
            ("source_type", "python"),
            ("name", "send_message"),
            ("tags", ["letta_core"]),
            ("source_code", None),
            ("json_schema", "…"),
            ("args_json_schema", None),
            ("return_char_limit", 50000),
            ("pip_requirements", None),
            ("npm_requirements", None),
            ("default_requires_approval", None),
            ("enable_parallel_execution", False),
            ("created_by_id", None),
            ("last_updated_by_id", None),
            ("metadata_", {}),
            ("project_id", None),
        ]
    )
    assert list(tool["json_schema"]) == ["name", "description", "parameters"]
    assert await get(http, tool["id"]) == tool


async def test_a_custom_tool_shows_its_source_and_packages(http: httpx.AsyncClient) -> None:
    tool = await get(http, ROLL)
    assert (tool["tool_type"], tool["source_type"]) == ("custom", "python")
    assert tool["source_code"] == "def roll_dice(): ..."
    assert tool["pip_requirements"] == [{"name": "numpy", "version": None}]


async def test_tools_are_listed_newest_first_in_pages(http: httpx.AsyncClient) -> None:
    expected = ["roll_dice", *(tool.name for tool in reversed(builtin_tools()))]
    assert await names(http, "limit=100") == expected
    page = await get(http, "?limit=3")
    assert [tool["name"] for tool in page] == expected[:3]
    after = await get(http, f"?limit=3&after={page[-1]['id']}")
    assert [tool["name"] for tool in after] == expected[3:6]
    before = await get(http, f"?limit=2&before={after[0]['id']}")
    assert [tool["name"] for tool in before] == expected[1:3]
    assert await names(http, "order=asc&limit=2") == [tool.name for tool in builtin_tools()][:2]


async def test_filters_are_read_from_the_query_and_counted_alike(http: httpx.AsyncClient) -> None:
    every = len(builtin_tools()) + 1
    memory = {tool.name for tool in builtin_tools() if tool.tool_type == "letta_memory_core"}
    assert set(await names(http, "tool_types=letta_memory_core")) == memory
    expected = {
        "": every,
        "name=send_message": 1,
        "names=send_message&names=roll_dice": 2,
        f"tool_ids={ROLL}": 1,
        f"tool_ids={ROLL},{new_tool_id()}": 1,
        "search=DICE": 1,
        "tool_types=letta_memory_core,custom": len(memory) + 1,
        "tool_types=letta_memory_core&tool_types=custom": len(memory) + 1,
        "exclude_tool_types=letta_memory_core": every - len(memory),
        "return_only_letta_tools=true": every - 1,
        "exclude_letta_tools=true": 1,
    }
    for query, count in expected.items():
        assert await get(http, f"count?{query}") == count, query
        assert len(await get(http, f"?limit=100&{query}")) == count, query


async def test_what_is_unknown_is_a_404_and_what_is_malformed_a_422(http: httpx.AsyncClient) -> None:
    assert (await http.get(f"/v1/tools/{new_tool_id()}")).status_code == 404
    assert (await http.get(f"/v1/tools/?after={new_tool_id()}")).status_code == 404
    malformed = await http.get("/v1/tools/hammer")
    assert malformed.status_code == 422
    assert malformed.json()["examples"] == ["tool-123e4567-e89b-42d3-8456-426614174000"]
    for query in ("tool_types=hammer", "limit=0", "order=up", "search=%00"):
        assert (await http.get(f"/v1/tools/?{query}")).status_code == 422, query


async def test_base_tools_can_be_brought_back(http: httpx.AsyncClient, db: Database, actor: Actor) -> None:
    [tool] = await get(http, "?name=send_message")
    await db.write(repository.delete_tool, actor, tool["id"])
    response = await http.post("/v1/tools/add-base-tools")
    assert response.status_code == 200
    assert [each["name"] for each in response.json()] == [each.name for each in builtin_tools()]
    assert (await get(http, tool["id"]))["json_schema"] == tool["json_schema"]


async def test_another_organisations_tools_are_unknown(http: httpx.AsyncClient, db: Database) -> None:
    stranger = await db.write(add_stranger)
    http.headers["user_id"] = stranger.user_id
    assert await get(http, "count") == 0
    assert (await http.get(f"/v1/tools/{ROLL}")).status_code == 404
    assert len((await http.post("/v1/tools/add-base-tools")).json()) == len(builtin_tools())
