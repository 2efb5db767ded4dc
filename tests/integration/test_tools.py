"""Tools in storage: records, holders, and the built-in ones of each organisation."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, select, update
from tests.support.records import add_agent, add_stranger, delete_agent_softly, read_version

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.tool import Requirement, Tool
from remanence.db.database import Database
from remanence.db.tables import AgentRow, ToolRow, ToolsAgentsRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit.ids import new_agent_id, new_tool_id
from remanence.tools import repository
from remanence.tools.builtin.catalogue import builtin_tools
from remanence.tools.schemas import ToolFilter

OLDEST_FIRST = Page(order="asc")

Find = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def find(db: Database, actor: Actor) -> Find:
    """The names of the tools that match, oldest first; and that the count agrees."""

    async def names(**conditions: Any) -> list[str]:
        where = ToolFilter(**conditions)
        found = await db.read(repository.list_tools, actor, where, OLDEST_FIRST)
        assert await db.read(repository.count_tools, actor, where) == len(found)
        return [tool.name for tool in found]

    return names


def a_tool(actor: Actor, name: str, **fields: Any) -> Tool:
    given: dict[str, Any] = {"json_schema": {"name": name}, "created_by_id": actor.user_id} | fields
    return Tool(id=new_tool_id(), organization_id=actor.organization_id, name=name, **given)


async def add(db: Database, actor: Actor, *names: str, **fields: Any) -> list[Tool]:
    return [await db.write(repository.insert_tool, a_tool(actor, name, **fields)) for name in names]


def rows_of(connection: Connection, table: type[Any]) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def change_row(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(ToolRow).where(ToolRow.name == name).values(**values))


async def seeded(db: Database, actor: Actor) -> dict[str, Tool]:
    await db.write(repository.ensure_builtins, actor.organization_id)
    tools = await db.read(repository.list_tools, actor, ToolFilter(), OLDEST_FIRST)
    return {tool.name: tool for tool in tools}


async def test_a_tool_comes_back_as_it_was_stored(db: Database, actor: Actor) -> None:
    [stored] = await add(
        db,
        actor,
        "roll_dice",
        description="Rolls dice.",
        source_type="typescript",
        source_code="export function roll_dice() {}",
        args_json_schema={},
        tags=("b", "a"),
        return_char_limit=500,
        pip_requirements=(Requirement(name="numpy", version="2"), Requirement(name="attrs")),
        npm_requirements=(),
        default_requires_approval=True,
        enable_parallel_execution=True,
        metadata={"tool_hash": "x"},
        project_id="p",
    )
    assert await db.read(repository.get_tool, actor, stored.id) == stored
    assert await db.read(repository.find_by_name, actor, "roll_dice") == stored
    assert await db.read(repository.find_by_name, actor, "roll") is None


async def test_a_schema_keeps_the_order_of_its_parameters(db: Database, actor: Actor) -> None:
    schema: dict[str, Any] = {
        "name": "t",
        "description": "d",
        "parameters": {"type": "object", "properties": {"zzz": {}, "old": {}, "new_one": {}, "b": {}}},
    }
    [stored] = await add(db, actor, "t", json_schema=schema)
    found = await db.read(repository.get_tool, actor, stored.id)
    assert str(found.json_schema) == str(schema), "models read the parameters in their order"


async def test_a_name_belongs_to_one_tool_of_an_organisation(db: Database, actor: Actor) -> None:
    await add(db, actor, "mine")
    with pytest.raises(AlreadyExists, match="'mine'"):
        await add(db, actor, "mine")
    stranger = await db.write(add_stranger)
    await add(db, stranger, "mine")


async def test_tools_are_found_by_names_and_ids_in_the_order_asked_for(db: Database, actor: Actor) -> None:
    one, two, _three = await add(db, actor, "one", "two", "three")
    asked = ["two", "nobody", "one", "two"]
    assert await db.read(repository.find_by_names, actor, asked) == [two, one]
    ids = [two.id, new_tool_id(), one.id, two.id]
    assert await db.read(repository.find_by_ids, actor, ids) == [two, one]
    assert await db.read(repository.find_by_names, actor, []) == []
    assert await db.read(repository.find_by_ids, actor, []) == []


async def test_each_filter_finds_its_tools(db: Database, actor: Actor, find: Find) -> None:
    await add(db, actor, "send_it", tool_type="letta_core")
    [roll] = await add(db, actor, "roll_dice")
    await add(db, actor, "Rollerblade", tool_type="external_mcp")
    assert await find() == ["send_it", "roll_dice", "Rollerblade"]
    assert await find(name="roll_dice") == ["roll_dice"]
    assert await find(names=["roll_dice", "send_it"]) == ["send_it", "roll_dice"]
    assert await find(names=["roll_dice,send_it"]) == ["send_it", "roll_dice"]
    assert await find(tool_ids=[roll.id, new_tool_id()]) == ["roll_dice"]
    assert await find(tool_ids=[f"{roll.id},{new_tool_id()}"]) == ["roll_dice"]
    assert await find(search="ROLL") == ["roll_dice", "Rollerblade"]
    assert await find(search="l_d") == ["roll_dice"], "an underscore is a character, not a wildcard"
    assert await find(tool_types=["letta_core", "external_mcp"]) == ["send_it", "Rollerblade"]
    assert await find(tool_types=["letta_core,external_mcp"]) == ["send_it", "Rollerblade"]
    assert await find(exclude_tool_types=["custom"]) == ["send_it", "Rollerblade"]
    assert await find(return_only_letta_tools=True) == ["send_it"]
    assert await find(exclude_letta_tools=True) == ["roll_dice", "Rollerblade"]
    assert await find(search="roll", exclude_tool_types=["external_mcp"]) == ["roll_dice"]


async def test_a_deleted_tool_is_gone_for_everyone_but_its_row_stays(
    db: Database, actor: Actor, find: Find
) -> None:
    kept, gone = await add(db, actor, "kept", "gone")
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_tool, actor, agent_id, gone.id)
    version = await db.read(read_version, agent_id)
    await db.write(repository.delete_tool, actor, gone.id)
    assert await find() == ["kept"]
    assert await db.read(repository.list_agent_tools, actor, agent_id) == ()
    assert await db.read(repository.find_by_name, actor, "gone") is None
    assert await db.read(repository.find_by_ids, actor, [gone.id, kept.id]) == [kept]
    assert await db.read(read_version, agent_id) > version
    assert await db.read(rows_of, ToolRow) == 2
    for vain in (
        db.read(repository.get_tool, actor, gone.id),
        db.write(repository.delete_tool, actor, gone.id),
        db.write(repository.attach_tool, actor, agent_id, gone.id),
    ):
        with pytest.raises(NotFound):
            await vain


async def test_a_deleted_tool_leaves_its_name_to_the_next(db: Database, actor: Actor, find: Find) -> None:
    [first] = await add(db, actor, "phoenix")
    await db.write(repository.delete_tool, actor, first.id)
    [second] = await add(db, actor, "phoenix")
    assert second.id != first.id
    assert await find() == ["phoenix"]


@pytest.mark.parametrize("is_deleted_before", [False, True])
async def test_purging_takes_the_row_and_all_that_refers_to_it(
    db: Database, actor: Actor, is_deleted_before: bool
) -> None:
    [tool] = await add(db, actor, "t")
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_tool, actor, agent_id, tool.id)
    version = await db.read(read_version, agent_id)
    if is_deleted_before:
        await db.write(repository.delete_tool, actor, tool.id)
    await db.write(repository.purge_tool, actor, tool.id)
    assert await db.read(rows_of, ToolRow) == await db.read(rows_of, ToolsAgentsRow) == 0
    assert await db.read(read_version, agent_id) > version
    with pytest.raises(NotFound):
        await db.write(repository.purge_tool, actor, tool.id)


# Holders


async def test_an_agents_tools_are_in_order_of_their_names(db: Database, actor: Actor) -> None:
    tools = await add(db, actor, "zoom", "Alpha", "beta")
    agent_id = await db.write(add_agent, actor)
    for tool in tools:
        assert await db.write(repository.attach_tool, actor, agent_id, tool.id) == tool
    found = await db.read(repository.list_agent_tools, actor, agent_id)
    assert [tool.name for tool in found] == ["Alpha", "beta", "zoom"]


async def test_the_tools_of_many_agents_are_read_at_once(db: Database, actor: Actor) -> None:
    shared, own = await add(db, actor, "shared", "own")
    first, second, bare = [await db.write(add_agent, actor) for _ in range(3)]
    for agent_id, tool in [(first, shared), (second, own), (second, shared)]:
        await db.write(repository.attach_tool, actor, agent_id, tool.id)
    found = await db.read(repository.list_tools_of_agents, actor, [first, second, bare])
    assert found == {first: (shared,), second: (own, shared), bare: ()}
    assert await db.read(repository.list_tools_of_agents, actor, []) == {}


async def test_an_agents_tools_come_in_pages(db: Database, actor: Actor) -> None:
    tools = await add(db, actor, "a", "b", "c")
    agent_id = await db.write(add_agent, actor)
    for tool in reversed(tools):
        await db.write(repository.attach_tool, actor, agent_id, tool.id)
    newest = await db.read(repository.page_agent_tools, actor, agent_id, Page(limit=2))
    assert [tool.name for tool in newest] == ["c", "b"]
    rest = await db.read(repository.page_agent_tools, actor, agent_id, Page(after=newest[-1].id))
    assert [tool.name for tool in rest] == ["a"]


async def test_attaching_and_detaching_can_be_repeated(db: Database, actor: Actor) -> None:
    [tool] = await add(db, actor, "t")
    agent_id = await db.write(add_agent, actor)
    for change, count in ((repository.attach_tool, 1), (repository.detach_tool, 0)):
        version = await db.read(read_version, agent_id)
        for _ in range(2):
            await db.write(change, actor, agent_id, tool.id)
            assert await db.read(rows_of, ToolsAgentsRow) == count
        assert await db.read(read_version, agent_id) > version
    assert await db.read(repository.get_tool, actor, tool.id) == tool


async def test_what_is_not_there_cannot_be_attached_or_detached(db: Database, actor: Actor) -> None:
    [tool] = await add(db, actor, "t")
    agent_id, gone = [await db.write(add_agent, actor) for _ in range(2)]
    await db.write(delete_agent_softly, gone)
    for change in (repository.attach_tool, repository.detach_tool):
        with pytest.raises(NotFound, match="tool"):
            await db.write(change, actor, agent_id, new_tool_id())
        for missing in (new_agent_id(), gone):
            with pytest.raises(NotFound, match="agent"):
                await db.write(change, actor, missing, tool.id)


async def test_a_purged_agent_lets_go_of_its_tools(db: Database, actor: Actor) -> None:
    [tool] = await add(db, actor, "t")
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_tool, actor, agent_id, tool.id)
    await db.write(lambda connection: connection.execute(delete(AgentRow).where(AgentRow.id == agent_id)))
    assert await db.read(rows_of, ToolsAgentsRow) == 0
    assert await db.read(repository.get_tool, actor, tool.id) == tool


async def test_another_organisation_sees_and_touches_nothing(db: Database, actor: Actor) -> None:
    [tool] = await add(db, actor, "t")
    agent_id = await db.write(add_agent, actor)
    await db.write(repository.attach_tool, actor, agent_id, tool.id)
    stranger = await db.write(add_stranger)
    own_agent = await db.write(add_agent, stranger)
    assert await db.read(repository.list_tools, stranger, ToolFilter(), OLDEST_FIRST) == []
    assert await db.read(repository.count_tools, stranger, ToolFilter()) == 0
    assert await db.read(repository.find_by_name, stranger, "t") is None
    assert await db.read(repository.find_by_names, stranger, ["t"]) == []
    assert await db.read(repository.find_by_ids, stranger, [tool.id]) == []
    assert await db.read(repository.list_agent_tools, stranger, agent_id) == ()
    assert await db.read(repository.page_agent_tools, stranger, agent_id, OLDEST_FIRST) == []
    for vain in (
        db.read(repository.get_tool, stranger, tool.id),
        db.read(repository.list_tools, stranger, ToolFilter(), Page(after=tool.id)),
        db.write(repository.attach_tool, stranger, own_agent, tool.id),
        db.write(repository.detach_tool, stranger, agent_id, tool.id),
        db.write(repository.delete_tool, stranger, tool.id),
        db.write(repository.purge_tool, stranger, tool.id),
    ):
        with pytest.raises(NotFound):
            await vain
    assert await db.read(repository.list_agent_tools, actor, agent_id) == (tool,)


# The built-in tools


async def test_an_organisation_gets_every_tool_of_the_catalogue(db: Database, actor: Actor) -> None:
    tools = await seeded(db, actor)
    assert list(tools) == [tool.name for tool in builtin_tools()]
    for told in builtin_tools():
        tool = tools[told.name]
        assert (tool.tool_type, tool.description) == (told.tool_type, told.description)
        assert (tool.json_schema, tool.tags) == (told.json_schema, (told.tool_type,))
        assert (tool.source_code, tool.source_type) == (None, "python")
    stranger = await db.write(add_stranger)
    assert set(await seeded(db, stranger)) == set(tools)


async def test_built_in_tools_are_the_same_after_a_restart(db: Database, actor: Actor) -> None:
    before = await seeded(db, actor)
    assert await seeded(db, actor) == before


async def test_a_changed_catalogue_reaches_the_tools_and_those_who_hold_them(
    db: Database, actor: Actor
) -> None:
    tools = await seeded(db, actor)
    agent_id, other = [await db.write(add_agent, actor) for _ in range(2)]
    await db.write(repository.attach_tool, actor, agent_id, tools["send_message"].id)
    await db.write(repository.attach_tool, actor, other, tools["memory_insert"].id)
    await db.write(change_row, "send_message", description="of an older release", json_schema={"name": "x"})
    versions = [await db.read(read_version, each) for each in (agent_id, other)]
    assert await seeded(db, actor) == tools
    assert [await db.read(read_version, each) for each in (agent_id, other)] == [versions[0] + 1, versions[1]]


async def test_a_custom_tool_of_a_built_in_name_stays_what_it_is(db: Database, actor: Actor) -> None:
    [own] = await add(db, actor, "send_message", source_code="def send_message(): ...")
    assert (await seeded(db, actor))["send_message"] == own


async def test_what_was_deleted_comes_back_as_built_in(db: Database, actor: Actor) -> None:
    [own] = await add(db, actor, "send_message")
    await db.write(repository.delete_tool, actor, own.id)
    tools = await seeded(db, actor)
    assert tools["send_message"].tool_type == "letta_core"
    await db.write(repository.delete_tool, actor, tools["memory_insert"].id)
    again = await seeded(db, actor)
    assert [tool.id for tool in again.values()] == [tool.id for tool in tools.values()]


async def test_what_an_organisation_chose_for_a_built_in_tool_stays(db: Database, actor: Actor) -> None:
    await seeded(db, actor)
    await db.write(change_row, "send_message", default_requires_approval=True, return_char_limit=7)
    tool = (await seeded(db, actor))["send_message"]
    assert (tool.default_requires_approval, tool.return_char_limit) == (True, 7)


async def test_two_processes_may_bring_the_tools_at_once(db: Database, actor: Actor) -> None:
    await asyncio.gather(*(db.write(repository.ensure_builtins, actor.organization_id) for _ in range(5)))
    assert list(await seeded(db, actor)) == [tool.name for tool in builtin_tools()]
