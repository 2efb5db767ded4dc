"""The data model of the source document: its common queries, its two ways to delete, its names."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from tests.support.records import a_block, add_stranger

from remanence.agents import repository
from remanence.agents.queries import AgentQuery
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.llm import LLMConfig
from remanence.core.page import Page
from remanence.core.tool import ExitLoop
from remanence.db.database import Database
from remanence.db.tables import (
    AgentRow,
    AgentSecretRow,
    AgentTagRow,
    ArchiveRow,
    ArchivesAgentsRow,
    Base,
    BlockRow,
    BlocksAgentsRow,
    ContextMessageRow,
    FileRow,
    FilesAgentsRow,
    LeaseRow,
    MessageRow,
    RunRow,
    SourceRow,
    SourcesAgentsRow,
    StepRow,
    ToolRow,
    ToolsAgentsRow,
)
from remanence.errors import NotFound
from remanence.files import repository as files
from remanence.kit.ids import AgentId, new_agent_id, new_id
from remanence.kit.vault import Vault
from remanence.memory import repository as blocks
from remanence.search.ports import open_index
from remanence.tools import repository as tools

MORNING = datetime(2026, 1, 1, 8, tzinfo=UTC)
VAULT = Vault(base64.urlsafe_b64encode(bytes(32)))


def add(connection: Connection, actor: Actor, name: str, minute: int = 0, **fields: Any) -> AgentId:
    """An agent made so many minutes into the morning."""
    at = MORNING + timedelta(minutes=minute)
    given: dict[str, Any] = {
        "system": "Be kind.",
        "llm_config": LLMConfig(model="m", model_endpoint_type="openai", context_window=8000),
        **fields,
    }
    agent = Agent(
        id=new_agent_id(),
        organization_id=actor.organization_id,
        name=name,
        created_at=at,
        updated_at=at,
        **given,
    )
    repository.insert_agent(connection, agent)
    return agent.id


def named(connection: Connection, actor: Actor, page: Page | None = None, **query: Any) -> list[str]:
    found = repository.list_agents(connection, actor, AgentQuery(**query), page or Page(order="asc"))
    return [agent.name for agent in found]


async def test_agents_by_project(db: Database, actor: Actor) -> None:
    await db.write(add, actor, "one", 1, project_id="project-123")
    await db.write(add, actor, "two", 2, project_id="project-456")
    assert await db.read(named, actor, project_id="project-123") == ["one"]


async def test_agents_by_organisation(db: Database, actor: Actor) -> None:
    stranger = await db.write(add_stranger)
    await db.write(add, actor, "ours")
    await db.write(add, stranger, "theirs")
    assert await db.read(named, actor) == ["ours"]
    assert await db.read(named, stranger) == ["theirs"]


async def test_agents_with_a_tool(db: Database, actor: Actor) -> None:
    await db.write(tools.ensure_builtins, actor.organization_id)
    tool = (await db.read(tools.find_by_names, actor, ["send_message"]))[0]
    holder = await db.write(add, actor, "holder")
    await db.write(add, actor, "other")
    await db.write(repository.link_tools, holder, [tool.id])
    assert await db.read(named, actor, tool_id=tool.id) == ["holder"]


async def test_agents_with_a_source(db: Database, actor: Actor) -> None:
    source_id = await db.write(add_source, actor)
    holder = await db.write(add, actor, "holder")
    await db.write(add, actor, "other")
    await db.write(attach, actor, holder, source_id)
    assert await db.read(named, actor, source_id=source_id) == ["holder"]


async def test_agents_with_a_block(db: Database, actor: Actor) -> None:
    block = a_block(actor, "human", "Name: Eve")
    await db.write(blocks.insert_blocks, [block])
    holder = await db.write(add, actor, "holder")
    await db.write(add, actor, "other")
    await db.write(blocks.link_blocks, holder, [block])
    assert await db.read(named, actor, block_id=block.id) == ["holder"]


async def test_agents_in_the_order_of_time(db: Database, actor: Actor) -> None:
    for minute, name in ((2, "second"), (1, "first"), (3, "third")):
        await db.write(add, actor, name, minute)
    assert await db.read(named, actor, Page(order="desc")) == ["third", "second", "first"]
    assert await db.read(named, actor, Page(order="asc", limit=2)) == ["first", "second"]


async def test_agents_of_one_moment_keep_one_order(db: Database, actor: Actor) -> None:
    ids = [await db.write(add, actor, f"agent {number}") for number in range(5)]
    seen: list[str] = []
    page = Page(order="asc", limit=2)
    while found := await db.read(repository.list_agents, actor, AgentQuery(), page):
        seen += [agent.id for agent in found]
        page = page.model_copy(update={"after": found[-1].id})
    assert seen == sorted(ids)


async def test_agents_whose_name_contains_a_text(db: Database, actor: Actor) -> None:
    for minute, name in enumerate(["Sales bot", "presales", "Support", "100% sure", "Über_sales"]):
        await db.write(add, actor, name, minute)
    assert await db.read(named, actor, query_text="sales") == ["Sales bot", "presales", "Über_sales"]
    assert await db.read(named, actor, query_text="SALES B") == ["Sales bot"]
    assert await db.read(named, actor, query_text="0% s") == ["100% sure"]
    assert await db.read(named, actor, query_text="%") == ["100% sure"]
    assert await db.read(named, actor, query_text="_") == ["Über_sales"]
    assert await db.read(named, actor, query_text="über") == ["Über_sales"]


async def test_a_soft_delete_hides_the_agent_and_keeps_every_row(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)
    before = await db.read(rows_of, agent_id)
    await db.write(repository.soft_delete_agent, actor, agent_id)
    assert await db.read(named, actor) == []
    assert await db.read(repository.count_agents, actor, AgentQuery()) == 0
    with pytest.raises(NotFound):
        await db.read(repository.get_agent, actor, agent_id)
    with pytest.raises(NotFound):
        await db.write(repository.soft_delete_agent, actor, agent_id)
    assert await db.read(rows_of, agent_id) == before
    assert all(count == 1 for count in before.values())


async def test_a_hard_delete_takes_along_what_was_the_agents_own(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)
    other_id = await db.write(furnish, actor, "other")
    await db.write(repository.hard_delete_agent, actor, agent_id, open_index(db))
    assert set((await db.read(rows_of, agent_id)).values()) == {0}
    assert set((await db.read(rows_of, other_id)).values()) == {1}
    # What agents share outlives them.
    for table in (ToolRow, SourceRow, BlockRow, ArchiveRow, FileRow):
        assert await db.read(count, table) > 0
    with pytest.raises(NotFound):
        await db.write(repository.hard_delete_agent, actor, agent_id, open_index(db))


async def test_a_hard_delete_also_removes_one_that_was_hidden(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)
    await db.write(repository.soft_delete_agent, actor, agent_id)
    await db.write(repository.hard_delete_agent, actor, agent_id, open_index(db))
    assert set((await db.read(rows_of, agent_id)).values()) == {0}


async def test_nobody_deletes_across_organisations(db: Database, actor: Actor) -> None:
    agent_id = await db.write(add, actor, "ours")
    stranger = await db.write(add_stranger)
    with pytest.raises(NotFound):
        await db.write(repository.soft_delete_agent, stranger, agent_id)
    with pytest.raises(NotFound):
        await db.write(repository.hard_delete_agent, stranger, agent_id, open_index(db))
    assert await db.read(named, actor) == ["ours"]


async def test_one_label_and_one_tool_is_held_once(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)
    twin = a_block(actor, "human")
    await db.write(blocks.insert_blocks, [twin])

    def hold_twice(connection: Connection, table: type[Base], **values: str) -> None:
        connection.execute(insert(table).values(agent_id=agent_id, **values))

    with pytest.raises(IntegrityError, match=r"unique_label_per_agent|agent_id, blocks_agents.block_label"):
        await db.write(hold_twice, BlocksAgentsRow, block_id=twin.id, block_label="human")
    tool_id = await db.read(lambda connection: connection.scalar(select(ToolsAgentsRow.tool_id)))
    with pytest.raises(IntegrityError, match=r"tools_agents"):
        await db.write(hold_twice, ToolsAgentsRow, tool_id=str(tool_id))


async def test_a_label_changes_with_its_block(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)

    def rename(connection: Connection) -> str | None:
        held = select(BlocksAgentsRow.block_id).where(BlocksAgentsRow.agent_id == agent_id)
        connection.execute(update(BlockRow).where(BlockRow.id.in_(held)).values(label="person"))
        return connection.scalar(
            select(BlocksAgentsRow.block_label).where(BlocksAgentsRow.agent_id == agent_id)
        )

    assert await db.write(rename) == "person"


CONSTRAINTS = {
    "tools_agents": {"unique_agent_tool"},
    "blocks_agents": {"unique_agent_block", "unique_label_per_agent"},
}
INDEXES = {
    "agents": {"ix_agents_created_at", "ix_agents_organization_id_deployment_id", "ix_agents_project_id"},
    "tools_agents": {"ix_tools_agents_tool_id"},
    "sources_agents": {"ix_sources_agents_source_id"},
    "blocks_agents": {"ix_blocks_agents_block_label_agent_id", "ix_blocks_agents_block_id"},
    "messages": {"ix_messages_org_agent"},
}


async def test_constraints_and_indexes_have_the_names_of_the_document(db: Database) -> None:
    def find(connection: Connection) -> tuple[dict[str, set[Any]], dict[str, set[Any]]]:
        known = inspect(connection)
        constraints = {
            table: {each["name"] for each in known.get_unique_constraints(table)} for table in CONSTRAINTS
        }
        return constraints, {table: {each["name"] for each in known.get_indexes(table)} for table in INDEXES}

    constraints, indexes = await db.read(find)
    assert all(names <= constraints[table] for table, names in CONSTRAINTS.items()), constraints
    assert all(names <= indexes[table] for table, names in INDEXES.items()), indexes


async def test_relations_load_through_the_orm(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)

    def look(connection: Connection) -> dict[str, Any]:
        with Session(connection) as session:
            agent = session.get_one(AgentRow, agent_id)
            return {
                "tools": [tool.name for tool in agent.tools],
                "sources": [source.name for source in agent.sources],
                "core_memory": [block.label for block in agent.core_memory],
                "holders": [each.id for block in agent.core_memory for each in block.agents],
                "tags": [each.tag for each in agent.tags],
                "secrets": [each.key for each in agent.tool_exec_environment_variables],
                "runs": [run.status for run in agent.runs],
                "files": [file.file_name for file in agent.file_agents],
                "archives": len(agent.archives_agents),
                "message_ids": len(agent.message_ids),
                "model": agent.llm_config.model,
                "rules": agent.tool_rules,
            }

    assert await db.read(look) == {
        "tools": ["conversation_search"],
        "sources": ["papers of agent"],
        "core_memory": ["human"],
        "holders": [agent_id],
        "tags": ["kind"],
        "secrets": ["KEY"],
        "runs": ["completed"],
        "files": ["papers/a.txt"],
        "archives": 1,
        "message_ids": 1,
        "model": "m",
        "rules": (ExitLoop(tool_name="send_message"),),
    }


async def test_the_orm_deletes_with_the_cascades_of_the_document(db: Database, actor: Actor) -> None:
    agent_id = await db.write(furnish, actor)

    def delete(connection: Connection) -> None:
        with Session(connection) as session:
            session.delete(session.get_one(AgentRow, agent_id))
            session.flush()

    await db.write(delete)
    assert set((await db.read(rows_of, agent_id)).values()) == {0}
    assert await db.read(count, ArchiveRow) == 1


def add_source(connection: Connection, actor: Actor, name: str = "papers") -> str:
    source_id = new_id("source")
    connection.execute(
        insert(SourceRow).values(id=source_id, organization_id=actor.organization_id, name=name)
    )
    return source_id


def attach(connection: Connection, actor: Actor, agent_id: AgentId, source_id: str) -> None:
    files.attach_folders(connection, actor, agent_id, [files.get_folder(connection, actor, source_id)])


def furnish(connection: Connection, actor: Actor, name: str = "agent") -> AgentId:
    """An agent with one of everything that can hang on it."""
    org = {"organization_id": actor.organization_id, "file_name": "papers/a.txt"}
    agent_id = add(connection, actor, name, tool_rules=(ExitLoop(tool_name="send_message"),))
    tools.ensure_builtins(connection, actor.organization_id)
    tool = tools.find_by_names(connection, actor, ["conversation_search"])[0]
    repository.link_tools(connection, agent_id, [tool.id])
    block = a_block(actor, "human", "Name: Eve")
    blocks.link_blocks(connection, agent_id, blocks.insert_blocks(connection, [block]))
    repository.set_tags(connection, agent_id, ["kind"])
    agent = repository.get_agent(connection, actor, agent_id)
    repository.set_secrets(connection, agent, {"KEY": "secret"}, VAULT)
    source_id = add_source(connection, actor, f"papers of {name}")
    attach(connection, actor, agent_id, source_id)
    file_id, archive_id = new_id("file"), new_id("archive")
    run_id, message_id = new_id("run"), new_id("message")
    own = {"agent_id": agent_id, "created_at": MORNING}
    rows: tuple[tuple[type[Base], dict[str, Any]], ...] = (
        (FileRow, {"id": file_id, "source_id": source_id, **org}),
        (
            FilesAgentsRow,
            {"id": new_id("file_agent"), "file_id": file_id, "source_id": source_id, **org, **own},
        ),
        (ArchiveRow, {"id": archive_id, "name": "notes", **org}),
        (ArchivesAgentsRow, {"archive_id": archive_id, **own}),
        (RunRow, {"id": run_id, "lane": agent_id, "status": "completed", **org, **own}),
        (StepRow, {"id": new_id("step"), "run_id": run_id, "status": "success", **org, **own}),
        (MessageRow, {"id": message_id, "role": "user", **org, **own}),
        (ContextMessageRow, {"owner_id": agent_id, "position": 0, "message_id": message_id}),
    )
    for table, values in rows:
        known = {name: value for name, value in values.items() if name in table.__table__.columns}
        connection.execute(insert(table).values(**known))
    return agent_id


def rows_of(connection: Connection, agent_id: str) -> dict[str, int]:
    """How many rows each table has about an agent."""
    tables: tuple[type[Any], ...] = (
        ToolsAgentsRow,
        SourcesAgentsRow,
        BlocksAgentsRow,
        AgentTagRow,
        AgentSecretRow,
        FilesAgentsRow,
        ArchivesAgentsRow,
        RunRow,
        StepRow,
        MessageRow,
        LeaseRow,
    )
    found = {
        table.__tablename__: connection.scalar(
            select(func.count()).select_from(table).where(table.agent_id == agent_id)
        )
        for table in tables
    }
    in_window = select(func.count()).where(ContextMessageRow.owner_id == agent_id)
    is_there = select(func.count()).where(AgentRow.id == agent_id)
    return {
        **{name: number or 0 for name, number in found.items()},
        "context_messages": connection.scalar(in_window) or 0,
        "agents": connection.scalar(is_there) or 0,
    }


def count(connection: Connection, table: type[Base]) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0
