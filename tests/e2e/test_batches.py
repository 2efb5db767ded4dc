"""Batches: many messages at once, worked off a few at a time as ordinary runs, whoever dies meanwhile."""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.databases import Databases
from tests.support.operations import UNKNOWN
from tests.support.receiver import Receiver
from tests.support.script import Gate, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server_process import ServerProcess
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit import json
from remanence.kit.failpoints import VARIABLE
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault

PATH = "/v1/messages/batches"
NOBODY = f"agent-{UNKNOWN['run_id'].removeprefix('run-')}"
EMPTY: JsonObject = {"requests": []}
SILENT: JsonObject = {"requests": [{"agent_id": NOBODY, "messages": []}]}
AT_ONCE = 8


def request(agent: JsonObject, text: str, **options: Any) -> JsonObject:
    return {"agent_id": agent["id"], "messages": [{"role": "user", "content": text}], **options}


def send(talk: Talk, *requests: JsonObject, **options: Any) -> JsonObject:
    return talk.ask("POST", PATH, json={"requests": list(requests), **options})


def is_over(talk: Talk, batch: JsonObject) -> Callable[[], bool]:
    return lambda: talk.get(f"{PATH}/{batch['id']}")["completed_at"] is not None


def progress(talk: Talk, batch: JsonObject) -> JsonObject:
    """Only what is not zero."""
    found = talk.get(f"{PATH}/{batch['id']}")["metadata"]["progress"]
    return {name: count for name, count in found.items() if count}


def texts(messages: list[JsonObject]) -> list[str]:
    return [message["content"][0]["text"] for message in messages]


@pytest.fixture
def calm(talk: Talk, shared_model: ScriptedModel) -> Iterator[Talk]:
    shared_model.responder = lambda _: says("Noted.")
    yield talk
    shared_model.responder = None


@pytest.mark.promise("batches.run")
def test_a_batch_is_a_job_whose_requests_are_runs_of_their_agents(calm: Talk) -> None:
    kim, lee = calm.agent(), calm.agent()
    batch = send(calm, request(kim, "One"), request(lee, "Two"), request(kim, "Three"))
    assert batch["job_type"] == "batch"
    assert batch["id"].startswith("job-")
    assert batch["status"] == "created"
    until_sync(is_over(calm, batch))
    over = calm.get(f"{PATH}/{batch['id']}")
    assert over["status"] == "completed"
    assert progress(calm, batch) == {"completed": 3}
    runs = calm.get("/v1/runs/", agent_id=kim["id"])
    assert [run["metadata"]["source"] for run in runs] == [{"batch_id": batch["id"]}] * 2
    said = [
        each["content"] for each in calm.history(kim, order="asc") if each["message_type"] != "system_message"
    ]
    assert said[-4:] == ["One", "Noted.", "Three", "Noted."]
    assert calm.get(f"/v1/jobs/{batch['id']}") == over


@pytest.mark.promise("batches.messages")
def test_the_messages_of_a_batch_are_read_page_by_page_and_by_agent(calm: Talk) -> None:
    kim, lee = calm.agent(), calm.agent()
    calm.say(kim, "Before")
    batch = send(calm, request(kim, "One"), request(lee, "Two"))
    until_sync(is_over(calm, batch))
    path = f"{PATH}/{batch['id']}/messages"
    newest_first: list[JsonObject] = calm.get(path)["messages"]
    assert sorted(texts(newest_first)) == ["Noted.", "Noted.", "One", "Two"]
    assert [each["created_at"] for each in newest_first] == sorted(
        (each["created_at"] for each in newest_first), reverse=True
    )
    of_kim = calm.get(path, agent_id=kim["id"], order="asc")["messages"]
    assert texts(of_kim) == ["One", "Noted."]
    assert of_kim[0]["role"] == "user"
    assert of_kim[0]["batch_item_id"].startswith("batch_item-")
    first = calm.get(path, limit=3)["messages"]
    rest = calm.get(path, after=first[-1]["id"])["messages"]
    assert first + rest == newest_first


@pytest.mark.promise("batches.list")
def test_batches_are_listed_newest_first_and_apart_from_other_jobs(calm: Talk) -> None:
    agent = calm.agent()
    batches = [send(calm, request(agent, text)) for text in ("One", "Two", "Three")]
    ids = [batch["id"] for batch in reversed(batches)]
    assert [each["id"] for each in calm.get(PATH)] == ids
    assert [each["id"] for each in calm.get(PATH, limit=1, after=ids[0])] == ids[1:2]
    assert [each["id"] for each in calm.get("/v1/jobs/")] == ids
    for batch in batches:
        until_sync(is_over(calm, batch))
    assert calm.get("/v1/jobs/", active=True) == calm.get("/v1/jobs/active") == []
    assert calm.http.get(f"{PATH}/{UNKNOWN['job_id']}").status_code == 404


@pytest.mark.promise("batches.list")
def test_jobs_that_are_not_over_are_listed_oldest_first_or_as_asked(talk: Talk) -> None:
    gate, agent = Gate(), talk.agent()
    talk.model.script(says("Slowly.").paused(gate))
    ids = [send(talk, request(agent, text))["id"] for text in ("One", "Two")]
    gate.reached.wait_sync(10)
    for path, query, expected in (
        ("/v1/jobs/active", {}, ids),
        ("/v1/jobs/active", {"ascending": False}, ids[::-1]),
        ("/v1/jobs/", {"active": True}, ids[::-1]),
        ("/v1/jobs/", {"active": True, "ascending": True}, ids),
        ("/v1/jobs/", {"order": "asc", "after": ids[0]}, ids[1:]),
    ):
        assert [job["id"] for job in talk.get(path, **query)] == expected, path
    for batch_id in ids:
        talk.ask("PATCH", f"{PATH}/{batch_id}/cancel")
    gate.open()
    until_sync(lambda: talk.get("/v1/runs/active") == [])


@pytest.mark.promise("batches.refused")
@pytest.mark.parametrize(
    ("change", "status", "why"),
    [
        (EMPTY, 422, "requests"),
        ({"requests": [{"messages": [{"role": "user", "content": "x"}]}]}, 422, "agent_id"),
        ({"requests": [{"agent_id": NOBODY, "input": "x"}]}, 404, "agent"),
        ({"callback_url": "ftp://somewhere"}, 422, "http"),
        (SILENT, 422, "empty"),
    ],
)
def test_a_batch_that_cannot_be_worked_off_is_refused_whole(
    talk: Talk, change: JsonObject, status: int, why: str
) -> None:
    agent = talk.agent()
    answer = talk.http.post(PATH, json={"requests": [request(agent, "One")]} | change)
    assert answer.status_code == status, answer.text
    assert why in answer.text
    assert talk.get(PATH) == []
    assert talk.get("/v1/runs/", agent_id=agent["id"]) == []


@pytest.mark.promise("batches.refused")
def test_a_batch_has_a_largest_size(talk: Talk) -> None:
    agent = talk.agent()
    item = {"agent_id": agent["id"], "input": "x"}
    answer = talk.http.post(PATH, json={"requests": [item] * 10_001})
    assert answer.status_code == 422
    assert "10000" in answer.text


@pytest.mark.promise("batches.fair")
def test_a_few_at_a_time_and_never_two_of_one_agent(talk: Talk) -> None:
    gate = Gate()
    agents = [talk.agent() for _ in range(AT_ONCE + 2)]
    talk.model.script(*[says("Noted.").paused(gate)] * AT_ONCE)
    asked = len(talk.model.journal)
    batch = send(talk, *(request(agent, text) for text in ("One", "Two") for agent in agents))
    talk.model.arrived_sync(asked + AT_ONCE)
    until_sync(lambda: progress(talk, batch) == {"running": AT_ONCE, "waiting": AT_ONCE + 4})
    spare = agents[-1]
    assert talk.say(spare, "And me?", says("At once."))["messages"][-1]["content"] == "At once."
    busy, with_interest = agents[0], ThreadPoolExecutor(1)
    with with_interest as threads:
        talk.model.responder = lambda seen: says("Noted.")
        waiting = threads.submit(
            talk.ask, "POST", f"/v1/agents/{busy['id']}/messages", json={"input": "Me next."}
        )
        until_sync(lambda: len(talk.get("/v1/runs/", agent_id=busy["id"])) == 2)
        gate.open()
        waiting.result()
    until_sync(is_over(talk, batch), 30)
    talk.model.responder = None
    said = [
        each["content"] for each in talk.history(busy, order="asc") if each["message_type"] == "user_message"
    ]
    assert said[-3:] == ["One", "Me next.", "Two"]
    assert progress(talk, batch) == {"completed": 2 * len(agents)}


@pytest.mark.promise("batches.cancel")
@pytest.mark.parametrize("way", ["batch", "job", "deleted"])
def test_to_cancel_a_batch_reaches_what_is_under_way_and_what_waits(talk: Talk, way: str) -> None:
    gate, agent, other = Gate(), talk.agent(), talk.agent()
    talk.model.script(says("One and a half.").paused(gate))
    batch = send(talk, request(agent, "One"), request(agent, "Two"))
    gate.reached.wait_sync(10)
    if way == "deleted":
        talk.ask("DELETE", f"/v1/jobs/{batch['id']}")
        assert talk.http.get(f"{PATH}/{batch['id']}").status_code == 404
    else:
        path = f"{PATH}/{batch['id']}/cancel" if way == "batch" else f"/v1/jobs/{batch['id']}/cancel"
        assert talk.ask("PATCH", path)["status"] == "cancelled"
        assert progress(talk, batch) == {"cancelled": 2}
        assert talk.http.patch(path).status_code == 409
    until_sync(
        lambda: [run["status"] for run in talk.get("/v1/runs/", agent_id=agent["id"])] == ["cancelled"]
    )
    gate.open()
    assert talk.say(other, "Still there?", says("Yes."))["messages"][-1]["content"] == "Yes."
    assert talk.say(agent, "And you?", says("Me too."))["messages"][-1]["content"] == "Me too."


@pytest.mark.promise("batches.failed")
def test_what_fails_is_counted_and_the_rest_goes_on(talk: Talk) -> None:
    gate, kim = Gate(), talk.agent()
    talk.model.script(says("Slowly.").paused(gate))
    requests = [
        request(kim, "One"),
        request(kim, "Two", override_model="openai/nobody"),
        request(kim, "Three"),
    ]
    batch = send(talk, *requests)
    gate.reached.wait_sync(10)
    talk.model.script(says("Three."))
    gate.open()
    until_sync(is_over(talk, batch))
    assert talk.get(f"{PATH}/{batch['id']}")["status"] == "completed"
    assert progress(talk, batch) == {"completed": 2, "failed": 1}


@pytest.mark.promise("batches.failed")
def test_requests_to_an_agent_that_was_deleted_meanwhile_fail(talk: Talk) -> None:
    gate, gone = Gate(), talk.agent()
    talk.model.script(says("Slowly.").paused(gate))
    batch = send(talk, request(gone, "One"), request(gone, "Two"))
    gate.reached.wait_sync(10)
    talk.ask("DELETE", f"/v1/agents/{gone['id']}")
    gate.open()
    until_sync(is_over(talk, batch))
    assert progress(talk, batch) == {"completed": 1, "failed": 1}


@pytest.mark.promise("batches.run")
def test_a_batch_sent_again_with_the_same_message_ids_says_nothing_twice(calm: Talk) -> None:
    agent = calm.agent()
    message = {"role": "user", "content": "One", "otid": "mine-1"}
    batches = [send(calm, {"agent_id": agent["id"], "messages": [message]}) for _ in range(2)]
    for batch in batches:
        until_sync(is_over(calm, batch))
        assert progress(calm, batch) == {"completed": 1}
    assert len(calm.get("/v1/runs/", agent_id=agent["id"])) == 1
    assert calm.get(f"{PATH}/{batches[1]['id']}/messages") == calm.get(f"{PATH}/{batches[0]['id']}/messages")


@pytest.mark.promise("batches.callback")
def test_the_end_of_a_batch_is_told_signed(calm: Talk) -> None:
    agent = calm.agent()
    with Receiver(503) as receiver:
        batch = send(calm, request(agent, "One"), callback_url=receiver.url)
        until_sync(is_over(calm, batch))
    told = receiver.received[-1]
    assert len(receiver.received) == 2, "tried again after a 503"
    body = json.decode(told.body)
    assert body["batch_id"] == batch["id"]
    assert body["status"] == "completed"
    assert body["metadata"]["progress"]["completed"] == 1
    name, _, signature = told.headers["x-remanence-signature"].partition("=")
    assert (name, len(signature)) == ("sha256", 64)
    key = Vault.open(calm.tenant.house.folder).signing_key
    assert signature == hmac.new(key, told.body, hashlib.sha256).hexdigest()
    over = calm.get(f"{PATH}/{batch['id']}")
    assert (over["callback_url"], over["callback_status_code"]) == (receiver.url, 200)
    assert over["callback_sent_at"] is not None


@pytest.mark.promise("batches.crash")
@pytest.mark.parametrize("point", ["before:2", "after:1", "after:2"])
def test_a_server_killed_in_the_middle_begins_no_request_twice(
    databases: Databases, tmp_path: Path, model: ScriptedModel, point: str
) -> None:
    model.responder = lambda _: says("Noted.")
    url = databases.fresh()
    fatal = {VARIABLE: f"batches.service._advance:{point}", "REMANENCE_BATCH_AT_ONCE": "2"}
    dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings=fatal).start()
    with httpx.Client(base_url=dying.base_url, verify=False) as http:
        agents = [http.post("/v1/agents/", json={"model": "openai/gpt-4o-mini"}).json() for _ in range(3)]
        requests = [request(agent, text) for text in ("One", "Two") for agent in agents]
        batch = http.post(PATH, json={"requests": requests}).json()
    until_sync(lambda: not dying.is_running)
    living = ServerProcess(url, tmp_path, model_url=model.base_url).start()
    try:
        with httpx.Client(base_url=living.base_url, verify=False, timeout=20) as http:
            until_sync(lambda: http.get(f"{PATH}/{batch['id']}").json()["status"] == "completed", 30)
            for agent in agents:
                history = http.get(f"/v1/agents/{agent['id']}/messages", params={"order": "asc"}).json()
                said = [each["content"] for each in history if each["message_type"] == "user_message"]
                assert [text for text in said if text in ("One", "Two")] == ["One", "Two"]
    finally:
        living.kill()
