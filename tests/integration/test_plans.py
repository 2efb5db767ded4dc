"""How SQLite goes about the statements that must stay fast when an organisation has much.

It keeps no statistics of its own accord and takes any index for selective, so a careless condition on
the organisation makes it read all that the organisation has.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from sqlalchemy import Connection, event
from tests.support.databases import SqliteDatabases
from tests.support.records import add_agent

from remanence.accounts.repository import ensure_defaults
from remanence.agents import repository as agents
from remanence.agents.queries import AgentQuery
from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.db.database import Database, open_database
from remanence.kit.ids import new_tool_id
from remanence.memory import repository as blocks
from remanence.tools import repository as tools


@pytest.fixture
async def db(sqlite_databases: SqliteDatabases) -> AsyncIterator[Database]:
    database = open_database(sqlite_databases.fresh())
    await database.write(ensure_defaults)
    yield database
    await database.close()


def plans(connection: Connection, work: Callable[[], object]) -> str:
    """How the statements of this work are carried out, in SQLite's words."""
    steps: list[str] = []

    def explain(cursor: Any, statement: str, parameters: Any) -> None:
        rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        steps.extend(row[3] for row in rows)

    def listen(_connection: object, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        explain(cursor, statement, parameters)

    event.listen(connection, "before_cursor_execute", listen)
    try:
        work()
    finally:
        event.remove(connection, "before_cursor_execute", listen)
    return "\n".join(steps)


async def test_the_blocks_of_agents_are_found_by_the_agents(db: Database, actor: Actor) -> None:
    def read(connection: Connection) -> str:
        held = add_agent(connection, actor)
        return plans(connection, lambda: blocks.list_blocks_of_agents(connection, actor, [held]))

    plan = await db.write(read)
    assert "blocks_agents" in plan.splitlines()[0]
    assert "organization_id" not in plan


async def test_tools_are_found_by_their_ids_and_names(db: Database, actor: Actor) -> None:
    def read(connection: Connection) -> str:
        ids = [new_tool_id() for _ in range(5)]
        return plans(connection, lambda: tools.find_by_ids(connection, actor, ids))

    assert "organization_id" not in await db.read(read)


async def test_a_page_of_agents_is_not_sorted_out_of_all_of_them(db: Database, actor: Actor) -> None:
    def read(connection: Connection) -> str:
        return plans(connection, lambda: agents.list_agents(connection, actor, AgentQuery(), Page(limit=50)))

    plan = await db.read(read)
    assert "ix_agents_organization_id_created_at" in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan
