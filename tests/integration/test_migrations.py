"""The way of a database from empty to the newest revision, and back, on both engines."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from tests.support.databases import Databases, PostgresDatabases, SqliteDatabases

from remanence.db.migrate import current_revision, downgrade, migrate, newest_revision, upgrade
from remanence.db.migrations.scope import belongs_to_us
from remanence.db.tables import Base

T = TypeVar("T")


async def run(url: str, work: Callable[[Connection], T]) -> T:
    """Runs a function in a transaction, on a connection as plain as can be."""
    if url.startswith("sqlite"):
        engine = create_engine(url)
        try:
            with engine.begin() as connection:
                return work(connection)
        finally:
            engine.dispose()
    async_engine = create_async_engine(url)
    try:
        async with async_engine.begin() as connection:
            return await connection.run_sync(work)
    finally:
        await async_engine.dispose()


def differences(connection: Connection) -> list[Any]:
    options = {"include_object": belongs_to_us, "compare_type": True, "compare_server_default": True}
    return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)


def table_names(connection: Connection) -> list[str]:
    return sorted(inspect(connection).get_table_names())


async def test_from_empty_to_the_newest_and_back(databases: Databases) -> None:
    url = databases.empty()
    assert await migrate(url)
    assert await run(url, current_revision) == newest_revision()
    await run(url, lambda connection: downgrade(connection, "base"))
    assert await run(url, table_names) == ["alembic_version"]
    assert await run(url, current_revision) is None
    assert await migrate(url)
    assert await run(url, differences) == []


async def test_at_the_newest_revision_the_schema_is_that_of_the_tables(databases: Databases) -> None:
    assert await run(databases.fresh(), differences) == []


async def test_a_database_that_is_up_to_date_is_left_alone(databases: Databases) -> None:
    url = databases.fresh()
    assert not await migrate(url)


async def test_a_database_newer_than_the_server_is_refused(databases: Databases) -> None:
    url = databases.fresh()
    await run(
        url, lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    )
    with pytest.raises(RuntimeError, match="revision 9999, newer than this server knows") as refused:
        await migrate(url)
    assert "Run a newer server" in str(refused.value)
    assert await run(url, current_revision) == "9999"


@pytest.mark.parametrize("statement", [1, 7, 30])
async def test_a_migration_cut_short_can_be_run_again(databases: Databases, statement: int) -> None:
    url = databases.empty()
    with pytest.raises(RuntimeError, match="the power fails"), power_failing_at(statement):
        await migrate(url)
    assert await run(url, current_revision) is None
    assert await migrate(url)
    assert await run(url, differences) == []


@contextmanager
def power_failing_at(statement: int) -> Generator[None]:
    """Lets the n-th statement that changes the schema fail."""
    seen = 0

    def count(_connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
        nonlocal seen
        seen += sql.lstrip().upper().startswith("CREATE")
        if seen == statement:
            raise RuntimeError("the power fails")

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", count)


@pytest.mark.postgres
async def test_two_processes_migrate_one_postgresql_at_once(postgres_databases: PostgresDatabases) -> None:
    await assert_two_processes_migrate(postgres_databases.empty())


async def test_two_processes_migrate_one_file_at_once(sqlite_databases: SqliteDatabases) -> None:
    await assert_two_processes_migrate(sqlite_databases.empty())


async def assert_two_processes_migrate(url: str) -> None:
    assert sorted(migrate_twice_at_once(url)) == [b"False", b"True"]
    assert await run(url, differences) == []


def migrate_twice_at_once(url: str) -> list[bytes]:
    """What each of two processes says: whether there was anything to do."""
    program = "import asyncio, sys; from remanence.db.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])))"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=50) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    return [out.strip() for out, _ in answers]


def path_of(url: str) -> Path:
    return Path(make_url(url).database or "")


async def half_migrated(url: str) -> Path:
    """A file at the first revision, with something in it."""

    def work(connection: Connection) -> None:
        upgrade(connection, "0001")
        connection.execute(
            text(
                "INSERT INTO organizations (id, name, created_at, updated_at) "
                "VALUES ('org-1', 'Figs', '2026-01-01', '2026-01-01')"
            )
        )

    await run(url, work)
    return path_of(url)


async def test_a_file_is_copied_aside_before_it_is_changed(sqlite_databases: SqliteDatabases) -> None:
    path = await half_migrated(url := sqlite_databases.empty())
    assert await migrate(url)
    copies = list(path.parent.glob(f"{path.name}.0001.*.backup"))
    assert len(copies) == 1
    for each, revision in ((copies[0], "0001"), (path, newest_revision())):
        assert rows(each, "SELECT version_num FROM alembic_version") == [(revision,)]
        assert rows(each, "SELECT name FROM organizations") == [("Figs",)]


async def test_the_copy_holds_what_a_reader_keeps_in_the_journal(sqlite_databases: SqliteDatabases) -> None:
    path = await half_migrated(url := sqlite_databases.empty())
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("PRAGMA journal_mode=WAL")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM organizations").fetchall()
    with sqlite3.connect(path) as writer:
        writer.execute("UPDATE organizations SET name = 'Plums'")
    writer.close()
    assert await migrate(url)
    reader.close()
    copy = next(path.parent.glob(f"{path.name}.0001.*.backup"))
    assert rows(copy, "SELECT name FROM organizations") == [("Plums",)]


async def test_a_new_file_is_not_copied(sqlite_databases: SqliteDatabases) -> None:
    url = sqlite_databases.empty()
    await migrate(url)
    assert not list(path_of(url).parent.glob(f"{path_of(url).name}*.backup"))


async def test_a_file_is_made_with_the_folders_above_it(tmp_path: Path) -> None:
    assert await migrate(f"sqlite:///{tmp_path}/some/where/new.db")
    assert (tmp_path / "some/where/new.db").exists()


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()
