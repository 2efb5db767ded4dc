"""The embedded models as a provider: always listed, never waited for, and honest about their state."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.local_talk import CONFIG

from remanence.errors import ModelUnavailable, NotFound
from remanence.llm.local.clients import PackageClient
from remanence.llm.local.source import LocalModels
from remanence.llm.local.weights import STANDARD

LARGE = "local/qwen2.5-coder-1.5b"
SMALL = "local/smollm2-135m"


async def no_clients(scratch: Path) -> AsyncIterator[PackageClient]:
    for client in ():
        yield client


def make_models(folder: Path) -> LocalModels:
    return LocalModels(folder, clients=no_clients)


def test_the_large_model_is_the_default_and_the_small_one_is_offered_too(tmp_path: Path) -> None:
    models = make_models(tmp_path)
    assert [info.handle for info in models.models()] == [LARGE, SMALL]
    assert models.default_handle == LARGE


def test_where_the_small_one_was_chosen_the_large_one_is_not_offered(tmp_path: Path) -> None:
    models = LocalModels(tmp_path, which="small")
    assert [info.handle for info in models.models()] == [SMALL]
    assert models.find_model("qwen2.5-coder-1.5b") is None


def test_a_configuration_made_here_is_served_here(tmp_path: Path) -> None:
    models = make_models(tmp_path)
    info = models.find_model("qwen2.5-coder-1.5b")
    assert info is not None
    assert models.serves(info.llm_config())
    assert not models.serves(CONFIG.model_copy(update={"provider_name": "openai"}))


def test_absent_weights_are_absent_and_present_ones_ready(tmp_path: Path) -> None:
    models = make_models(tmp_path)
    assert models.get_status(LARGE).state == "absent"
    with (tmp_path / STANDARD.file_name).open("wb") as file:
        file.truncate(STANDARD.size_bytes)
    assert models.get_status(LARGE).state == "ready"


def test_an_unknown_model_has_no_status(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        make_models(tmp_path).get_status("local/none")


async def test_where_the_large_file_cannot_be_had_the_small_one_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = make_models(tmp_path)
    with caplog.at_level(logging.WARNING):
        large, small = [await models.get_engine(handle.partition("/")[2]) for handle in (LARGE, SMALL)]
    assert large is small
    assert "Its place is taken by smollm2-135m" in caplog.text
    status = models.get_status(LARGE)
    assert status.state == "failed"
    assert "pip nor uv" in (status.detail or "")
    assert "smollm2-135m answers" in (status.detail or "")
    await models.close()


async def test_an_unknown_model_has_no_engine(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        await make_models(tmp_path).get_engine("none")


async def test_a_fetch_shows_its_progress_and_outlives_who_asked(tmp_path: Path) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow_clients(scratch: Path) -> AsyncIterator[PackageClient]:
        asked.set()
        await answer.wait()
        for client in ():
            yield client

    models = LocalModels(tmp_path, clients=slow_clients)
    waiting = asyncio.create_task(models.get_engine("qwen2.5-coder-1.5b"))
    await asked.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert models.get_status(LARGE).state == "fetching"
    assert models.get_status(LARGE).progress == 0
    answer.set()
    await models.get_engine("qwen2.5-coder-1.5b")
    assert models.get_status(LARGE).state == "failed"
    await models.close()


async def test_a_fetch_is_given_up_when_the_server_stops(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def endless_clients(scratch: Path) -> AsyncIterator[PackageClient]:
        asked.set()
        await asyncio.Event().wait()
        for client in ():
            yield client

    models = LocalModels(tmp_path, clients=endless_clients)
    models.start()
    await asked.wait()
    async with asyncio.timeout(5):
        await models.close()
