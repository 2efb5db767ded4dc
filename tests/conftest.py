"""Fixtures for every folder: both databases, each test with one of its own."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support.databases import Databases, PostgresDatabases, SqliteDatabases, open_postgres

from remanence.accounts.repository import ensure_defaults
from remanence.core.actor import Actor
from remanence.db.database import Database, open_database
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID

BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def sqlite_databases(tmp_path_factory: pytest.TempPathFactory) -> SqliteDatabases:
    return SqliteDatabases(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def postgres_databases() -> Iterator[PostgresDatabases]:
    yield from open_postgres()


@pytest.fixture(params=BOTH)
def databases(request: pytest.FixtureRequest) -> Databases:
    """The kind of database a test runs on; asking for it runs the test on both."""
    return request.getfixturevalue(f"{request.param}_databases")


@pytest.fixture
async def db(databases: Databases) -> AsyncIterator[Database]:
    database = open_database(databases.fresh())
    await database.write(ensure_defaults)
    yield database
    await database.close()


@pytest.fixture
def actor() -> Actor:
    return Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID)
