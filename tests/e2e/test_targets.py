"""A server that others reach does not reach inside for them: not by links, callbacks or models' addresses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import SqliteDatabases
from tests.support.images import PIXEL, ImageServer
from tests.support.receiver import Receiver
from tests.support.script import says
from tests.support.scripted_model import ScriptedModel
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse
from tests.support.waiting import until_sync

pytestmark = pytest.mark.promise("doors.targets")


@pytest.fixture
def talk(sqlite_databases: SqliteDatabases, tmp_path: Path, model: ScriptedModel) -> Iterator[Talk]:
    """With a server that may not lead its users inside, except to the model that its operator has named."""
    house = SharedHouse(
        sqlite_databases.fresh(),
        tmp_path,
        openai_api_key="sk-test",
        openai_base_url=model.base_url,
        reach_private="off",
    )
    with house:
        tenant = house.new_tenant()
        yield Talk(tenant, model)
        tenant.close()


def inside(url: str) -> list[str]:
    """The same place by a number, by a name, and by the number in another spelling."""
    return [url, url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "[::ffff:127.0.0.1]")]


def picture(url: str) -> dict[str, Any]:
    link = {"type": "image", "source": {"type": "url", "url": url}}
    return {"messages": [{"role": "user", "content": [link]}]}


def test_a_linked_image_inside_is_not_fetched(talk: Talk) -> None:
    agent = talk.agent()
    with ImageServer() as images:
        for url in inside(f"{images.base_url}/dot.png"):
            refused = talk.refuse(agent, 400, **picture(url))
            assert "inside this network" in refused["detail"], url
    assert images.served == []
    talk.model.script(says("A dot."))
    talk.ask("POST", f"/v1/agents/{agent['id']}/messages", json=picture(f"data:image/png;base64,{PIXEL}"))


def test_a_callback_inside_is_not_made(talk: Talk) -> None:
    agent = talk.agent()
    with Receiver() as receiver:
        for url in inside(receiver.url):
            talk.model.script(says("Hi."))
            run = talk.ask(
                "POST",
                f"/v1/agents/{agent['id']}/messages/async",
                json={"input": "Hello", "callback_url": url},
            )
            until_sync(lambda at=f"/v1/runs/{run['id']}": talk.get(at)["callback_sent_at"] is not None)
            told = talk.get(f"/v1/runs/{run['id']}")
            assert (told["status"], told["callback_status_code"]) == ("completed", None)
            assert "inside this network" in told["callback_error"], url
    assert receiver.received == []


def test_an_address_in_a_configuration_leads_to_no_model_inside(talk: Talk) -> None:
    asked = ScriptedModel.start_in_thread()
    try:
        config = talk.agent()["llm_config"] | {"handle": None, "provider_category": None}
        for url in inside(asked.base_url):
            agent = talk.agent(model=None, llm_config=config | {"model_endpoint": url})
            refused = talk.refuse(agent, 400, input="Hello")
            assert "inside this network" in refused["error"]["message"], url
        assert asked.journal == []
    finally:
        asked.stop_thread()


def test_the_operators_own_model_may_be_inside(talk: Talk) -> None:
    agent = talk.agent()
    config = agent["llm_config"] | {"handle": None, "provider_category": None}
    talk.say(agent, "Hello", says("Hi."))
    talk.say(talk.agent(model=None, llm_config=config), "Hello", says("Hi."))
