"""One function, one transaction: what `Database` promises on both engines."""

import asyncio

import pytest
from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import DBAPIError

from remanence.db.database import Database
from remanence.db.tables import OrganizationRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id


def add(connection: Connection, name: str) -> None:
    now = utc_now()
    connection.execute(
        insert(OrganizationRow).values(id=new_id("org"), name=name, created_at=now, updated_at=now)
    )


def names(connection: Connection) -> set[str]:
    return set(connection.execute(select(OrganizationRow.name)).scalars())


async def test_a_failing_function_leaves_nothing_behind(db: Database) -> None:
    def add_then_fail(connection: Connection) -> None:
        add(connection, "half")
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        await db.write(add_then_fail)
    assert "half" not in await db.read(names)


async def test_a_failure_does_not_take_its_neighbours_along(db: Database) -> None:
    def fail(_connection: Connection) -> None:
        raise ValueError("mine alone")

    jobs = [db.write(add, f"org {n}") for n in range(20)]
    jobs.insert(7, db.write(fail))
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    assert sum(isinstance(outcome, ValueError) for outcome in outcomes) == 1
    assert {f"org {n}" for n in range(20)} <= await db.read(names)


async def test_a_read_sees_what_was_committed_before_it_began(db: Database) -> None:
    await db.write(add, "first")
    assert "first" in await db.read(names)


async def test_a_read_cannot_write(db: Database) -> None:
    with pytest.raises(DBAPIError, match=r"read-?only"):
        await db.read(add, "sneaky")


async def test_a_cancelled_write_still_commits_whole_or_not_at_all(db: Database) -> None:
    task = asyncio.create_task(db.write(add, "given up"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await db.write(add, "after")
    count = await db.read(lambda connection: connection.scalar(select(func.count(OrganizationRow.id))))
    assert count in (2, 3)
