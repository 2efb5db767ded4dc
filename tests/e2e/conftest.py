"""What a client sees: a real server, a scripted model behind it, the published SDK in front."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta
from tests.support.databases import Databases
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer

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
