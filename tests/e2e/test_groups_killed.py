"""Servers that die in the middle of a group's round: the next one carries it on."""

from pathlib import Path

import httpx
import pytest
from tests.support.api import assert_well_formed
from tests.support.databases import Databases
from tests.support.script import Gate, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server_process import ServerProcess
from tests.support.waiting import until_sync

from remanence.kit.failpoints import VARIABLE
from remanence.kit.json import JsonObject

WRITE = "runs.checkpoint.Checkpoint._write"


def found(http: httpx.Client) -> JsonObject:
    ids = [
        http.post("/v1/agents/", json={"model": "openai/gpt-4o-mini", "name": name}).json()["id"]
        for name in ("Ann", "Bob")
    ]
    body = {"agent_ids": ids, "description": "", "manager_config": {"max_turns": 3}}
    return http.post("/v1/groups/", json=body).json()


def check_round(http: httpx.Client, group: JsonObject) -> None:
    """All three turns were taken, each once and in order, and every history is well-formed."""
    path = f"/v1/groups/{group['id']}"

    def listed() -> list[tuple[str | None, str]]:
        found = http.get(f"{path}/messages", params={"limit": 50, "order": "asc"}).json()
        return [(each["name"], each["content"]) for each in found]

    until_sync(lambda: len(listed()) == 4 and http.get("/v1/runs/active").json() == [], timeout_s=40)
    assert listed() == [(None, "Go"), ("Ann", "One."), ("Bob", "Two."), ("Ann", "Three.")]
    for agent_id in group["agent_ids"]:
        assert_well_formed(http.get(f"/v1/agents/{agent_id}/messages").json())
    runs = http.get("/v1/runs/").json()
    assert {run["status"] for run in runs} == {"completed"}
    assert len(runs) == 3


@pytest.mark.promise("groups.crash")
@pytest.mark.parametrize(
    ("point", "answers"),
    [
        ("groups.rounds._begin:after:1", ["One.", "Two.", "Three."]),
        (f"{WRITE}:before:2", ["One.", "Two.", "Two.", "Three."]),
        (f"{WRITE}:after:1", ["One.", "Two.", "Three."]),
    ],
)
def test_a_round_is_carried_on_from_wherever_its_server_died(
    databases: Databases, tmp_path: Path, model: ScriptedModel, point: str, answers: list[str]
) -> None:
    url = databases.fresh()
    model.script(*(says(answer) for answer in answers))
    dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings={VARIABLE: point})
    living = ServerProcess(url, tmp_path, model_url=model.base_url)
    try:
        dying.start()
        with httpx.Client(base_url=dying.base_url, verify=False) as http:
            group = found(http)
            with pytest.raises(httpx.HTTPError):
                http.post(f"/v1/groups/{group['id']}/messages", json={"input": "Go"}, timeout=30)
        dying.wait()
        living.start()
        with httpx.Client(base_url=living.base_url, verify=False) as http:
            check_round(http, group)
    finally:
        dying.kill()
        living.kill()
    model.verify()


@pytest.mark.promise("groups.crash")
def test_a_round_goes_on_at_another_replica_when_its_own_is_killed(
    databases: Databases, tmp_path: Path, model: ScriptedModel
) -> None:
    url = databases.fresh()
    gate = Gate()
    model.script(says("One."), says("Lost.").held(gate), says("Two."), says("Three."))
    first = ServerProcess(url, tmp_path, model_url=model.base_url)
    second = ServerProcess(url, tmp_path, model_url=model.base_url)
    try:
        first.start()
        second.start()
        with httpx.Client(base_url=first.base_url, verify=False) as http:
            group = found(http)
            http.post(f"/v1/groups/{group['id']}/messages/async", json={"input": "Go"}).raise_for_status()
        gate.reached.wait_sync()
        first.kill()
        gate.open()
        with httpx.Client(base_url=second.base_url, verify=False) as http:
            check_round(http, group)
    finally:
        first.kill()
        second.kill()
    model.verify()
