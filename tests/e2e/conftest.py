"""What a client sees: a real server, a scripted model behind it, the published SDK in front."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta
from tests.conftest import BOTH
from tests.support.databases import Databases, PostgresDatabases, SqliteDatabases
from tests.support.npm import installed_folder
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse, Tenant

MODEL = "openai/gpt-4o-mini"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    scripted = ScriptedModel.start_in_thread()
    yield scripted
    scripted.stop_thread()


@pytest.fixture
def server(databases: Databases, tmp_path: Path, model: ScriptedModel) -> Iterator[RunningServer]:
    running = RunningServer(
        databases.fresh(), tmp_path, openai_api_key="sk-test", openai_base_url=model.base_url
    ).start()
    yield running
    running.stop()


@pytest.fixture
def client(server: RunningServer) -> Letta:
    return server.client()


@pytest.fixture
def agent(client: Letta) -> Any:
    return client.agents.create(
        model=MODEL,
        memory_blocks=[
            {"label": "human", "value": "Name: Eve"},
            {"label": "persona", "value": "I am calm."},
        ],
    )


# One server per database for the tests that do not disturb each other: each has an organisation of its own.


@pytest.fixture(scope="session")
def shared_model() -> Iterator[ScriptedModel]:
    scripted = ScriptedModel.start_in_thread()
    yield scripted
    scripted.stop_thread()


@pytest.fixture(scope="session")
def sqlite_house(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[SharedHouse]:
    yield from _open_house(sqlite_databases, tmp_path_factory.mktemp("house"), shared_model)


@pytest.fixture(scope="session")
def postgres_house(
    postgres_databases: PostgresDatabases,
    tmp_path_factory: pytest.TempPathFactory,
    shared_model: ScriptedModel,
) -> Iterator[SharedHouse]:
    yield from _open_house(postgres_databases, tmp_path_factory.mktemp("house"), shared_model)


def _open_house(databases: Databases, folder: Path, model: ScriptedModel) -> Iterator[SharedHouse]:
    house = SharedHouse(databases.fresh(), folder, openai_api_key="sk-test", openai_base_url=model.base_url)
    with house:
        yield house


@pytest.fixture(params=BOTH)
def house(request: pytest.FixtureRequest) -> SharedHouse:
    """Runs the test on both databases."""
    return request.getfixturevalue(f"{request.param}_house")


@pytest.fixture
def tenant(house: SharedHouse) -> Iterator[Tenant]:
    newcomer = house.new_tenant()
    yield newcomer
    newcomer.close()


@pytest.fixture
def talk(tenant: Tenant, shared_model: ScriptedModel) -> Iterator[Talk]:
    """A tenant with a script for the model: every line of it must be played, and no other asked for."""
    shared_model.journal.clear()
    yield Talk(tenant, shared_model)
    shared_model.verify()


@pytest.fixture(scope="session")
def npm_folder() -> Path:
    return installed_folder()
