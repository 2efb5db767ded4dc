"""A fail point kills at the very edge of a commit: before it nothing is kept, after it all is."""

import asyncio
import os
import signal
import sys

import pytest
from sqlalchemy import Connection, text
from tests.support.databases import Databases

from remanence.db.database import open_database
from remanence.kit.failpoints import VARIABLE, name_of

# Writes twice and dies at the second write, if it is armed.
PROGRAM = """
import asyncio, sys
from tests.integration.test_failpoints import add
from remanence.db.database import open_database

async def main():
    db = open_database(sys.argv[1])
    for name in ("first", "second", "third"):
        await db.write(add, name)

asyncio.run(main())
"""


def add(connection: Connection, name: str) -> None:
    connection.execute(text("INSERT INTO kept (name) VALUES (:name)"), {"name": name})


def make_table(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE kept (name TEXT)"))


def names(connection: Connection) -> list[str]:
    return list(connection.scalars(text("SELECT name FROM kept ORDER BY name")))


@pytest.mark.parametrize(("edge", "kept"), [("before", ["first"]), ("after", ["first", "second"])])
async def test_a_process_dies_at_the_edge_it_was_armed_for(
    databases: Databases, edge: str, kept: list[str]
) -> None:
    url = databases.fresh()
    db = open_database(url)
    try:
        await db.write(make_table)
        dying = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, url),
            env={**os.environ, VARIABLE: f"{name_of(add)}:{edge}:2"},
        )
        assert await dying.wait() == -signal.SIGKILL
        assert await db.read(names) == kept
    finally:
        await db.close()
