"""Messages that are sent at their time: once or by cron, exactly once each, whoever dies meanwhile."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta, UnprocessableEntityError
from sqlalchemy import Connection
from tests.support.databases import Databases
from tests.support.receiver import Receiver
from tests.support.script import Gate, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server_process import ServerProcess
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.failpoints import VARIABLE
from remanence.kit.json import JsonObject
from remanence.schedules import repository

SOON_MS = 100
SAID = [{"role": "user", "content": "Good morning."}]
NEVER = {"type": "recurring", "cron_expression": "0 0 29 2 *"}
"""Not in the lifetime of a test."""


def soon() -> JsonObject:
    return {"type": "one-time", "scheduled_at": utc_now().timestamp() * 1000 + SOON_MS}


def path_of(agent: JsonObject) -> str:
    return f"/v1/agents/{agent['id']}/schedule"


def plan(talk: Talk, agent: JsonObject, timing: JsonObject, **options: Any) -> JsonObject:
    return talk.ask("POST", path_of(agent), json={"messages": SAID, "schedule": timing, **options})


def runs_of(talk: Talk, agent: JsonObject) -> list[JsonObject]:
    return talk.get("/v1/runs/", agent_id=agent["id"], order="asc")


def are_over(talk: Talk, agent: JsonObject, count: int) -> Callable[[], bool]:
    return lambda: [run["status"] for run in runs_of(talk, agent)] == ["completed"] * count


def let_it_be(talk: Talk, agent: JsonObject, made: JsonObject, moment: datetime) -> None:
    """As if it had been due then, with no server up; now one is, and looks."""
    talk.tenant.house.write(repository.note_run, made["id"], moment, None)
    plan(talk, agent, NEVER)


@pytest.fixture
def calm(talk: Talk, shared_model: ScriptedModel) -> Iterator[Talk]:
    """A model that says the same to everything, for tests about when and not about what."""
    shared_model.responder = lambda _: says("Morning.")
    yield talk
    shared_model.responder = None


@pytest.mark.promise("schedules.once", "schedules.sdk")
def test_a_message_is_sent_once_at_its_time(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Morning, Eve."))
    at = utc_now().timestamp() * 1000 + SOON_MS
    with Receiver() as receiver:
        made = talk.sdk.agents.schedule.create(
            agent["id"],
            messages=[{"role": "user", "content": "Good morning.", "otid": "mine"}],
            schedule={"scheduled_at": at},
            callback_url=receiver.url,
            max_steps=3,
        )
        assert made.next_scheduled_at is not None
        assert abs(datetime.fromisoformat(made.next_scheduled_at).timestamp() * 1000 - at) < 1
        until_sync(lambda: len(receiver.received) == 1)
    (run,) = runs_of(talk, agent)
    assert json.decode(receiver.received[0].body)["run_id"] == run["id"]
    assert run["background"] is True
    assert run["metadata"]["run_type"] == "scheduled_message"
    assert run["metadata"]["source"]["schedule_id"] == made.id
    said = [each for each in talk.history(agent, order="asc") if each["run_id"] == run["id"]]
    assert [each["content"] for each in said] == ["Good morning.", "Morning, Eve."]
    found = talk.sdk.agents.schedule.retrieve(made.id, agent_id=agent["id"])
    assert found.next_scheduled_time is None
    assert found.agent_id == agent["id"]
    assert found.schedule.type == "one-time"
    assert abs(found.schedule.scheduled_at - at) < 1
    assert found.message.max_steps == 3
    assert found.message.messages[0].otid == "mine"
    extra = found.model_extra or {}
    assert extra["last_run_id"] == run["id"]
    assert extra["last_run_at"] is not None


@pytest.mark.promise("schedules.sdk")
def test_schedules_are_listed_page_by_page_and_deleted(talk: Talk) -> None:
    agent, sdk = talk.agent(), talk.sdk
    ids = [plan(talk, agent, NEVER)["id"] for _ in range(3)]
    first = sdk.agents.schedule.list(agent["id"], limit="2")
    assert [each.id for each in first.scheduled_messages] == ids[:0:-1]
    assert first.has_next_page
    rest = sdk.agents.schedule.list(agent["id"], limit="2", after=first.scheduled_messages[-1].id)
    assert [each.id for each in rest.scheduled_messages] == ids[:1]
    assert not rest.has_next_page
    assert rest.scheduled_messages[0].schedule.type == "recurring"
    assert sdk.agents.schedule.delete(ids[0], agent_id=agent["id"]).success
    assert talk.http.get(f"{path_of(agent)}/{ids[0]}").status_code == 404
    assert talk.http.delete(f"{path_of(agent)}/{ids[0]}").status_code == 404
    other = talk.agent()
    assert talk.http.get(f"{path_of(other)}/{ids[1]}").status_code == 404
    assert sdk.agents.schedule.list(other["id"]).scheduled_messages == []


@pytest.mark.promise("schedules.cron")
def test_a_cron_expression_goes_by_the_clock_of_the_agent_unless_told(talk: Talk) -> None:
    agent = talk.agent(timezone="Asia/Tokyo")
    nine = {"type": "recurring", "cron_expression": "0 9 * * *"}
    made = plan(talk, agent, nine)
    assert datetime.fromisoformat(made["next_scheduled_time"]).astimezone(UTC).hour == 0
    assert made["schedule"] == nine | {"timezone": "Asia/Tokyo"}
    elsewhere = plan(talk, agent, nine | {"timezone": "America/Phoenix"})
    assert datetime.fromisoformat(elsewhere["next_scheduled_time"]).astimezone(UTC).hour == 16


@pytest.mark.promise("schedules.cron")
def test_a_recurring_message_is_sent_again_and_again(calm: Talk) -> None:
    agent = calm.agent()
    made = plan(calm, agent, {"type": "recurring", "cron_expression": "0 0 1 * *"})
    for count in (1, 2):
        let_it_be(calm, agent, made, utc_now() - timedelta(seconds=1))
        until_sync(are_over(calm, agent, count))
    now = calm.get(f"{path_of(agent)}/{made['id']}")
    assert now["next_scheduled_time"] == made["next_scheduled_time"]
    assert now["last_run_id"] == runs_of(calm, agent)[-1]["id"]


@pytest.mark.promise("schedules.refused")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"schedule": {"scheduled_at": 1000.0}}, "past"),
        ({"schedule": {"scheduled_at": 1e300}}, "outside the calendar"),
        ({"schedule": {"type": "recurring", "cron_expression": "every day"}}, "five fields"),
        ({"schedule": {"type": "recurring", "cron_expression": "0 25 * * *"}}, "Bad hour"),
        ({"schedule": NEVER | {"timezone": "Mars/Olympus"}}, "IANA"),
        ({"schedule": {"type": "sometimes"}}, "recurring"),
        ({"schedule": NEVER, "messages": []}, "messages"),
        ({"schedule": NEVER, "missed_runs": "perhaps"}, "missed_runs"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_with_the_reason(
    talk: Talk, body: JsonObject, why: str
) -> None:
    agent = talk.agent()
    answer = talk.http.post(path_of(agent), json={"messages": SAID} | body)
    assert answer.status_code == 422
    assert why in answer.text
    assert talk.get(path_of(agent))["scheduled_messages"] == []


@pytest.mark.promise("schedules.refused")
def test_the_sdk_raises_what_it_knows(talk: Talk) -> None:
    with pytest.raises(UnprocessableEntityError, match="past"):
        talk.sdk.agents.schedule.create(
            talk.agent()["id"],
            messages=[{"role": "user", "content": "x"}],
            schedule={"type": "one-time", "scheduled_at": 5},
        )


@pytest.mark.promise("schedules.turn")
def test_a_due_message_waits_for_its_turn(talk: Talk) -> None:
    agent, gate = talk.agent(), Gate()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(talk.say, agent, "A long story, please.", says("Once …").paused(gate))
        gate.reached.wait_sync(10)
        talk.model.script(says("Morning."))
        plan(talk, agent, soon())
        until_sync(lambda: [run["status"] for run in runs_of(talk, agent)] == ["running", "created"])
        gate.open()
        asked.result()
    until_sync(are_over(talk, agent, 2))
    texts = [each.get("content") for each in talk.history(agent, order="asc")][-4:]
    assert texts == ["A long story, please.", "Once …", "Good morning.", "Morning."]


@pytest.mark.promise("schedules.turn")
def test_occurrences_do_not_pile_up_behind_a_run_that_takes_long(talk: Talk) -> None:
    agent, gate = talk.agent(), Gate()
    talk.model.script(says("Slowly.").paused(gate))
    made = plan(talk, agent, {"type": "recurring", "cron_expression": "* * * * *"})
    let_it_be(talk, agent, made, utc_now() - timedelta(seconds=1))
    gate.reached.wait_sync(10)
    let_it_be(talk, agent, made, utc_now() - timedelta(seconds=1))
    other = talk.agent()
    talk.model.script(says("Morning."))
    plan(talk, other, soon())
    until_sync(are_over(talk, other, 1))  # so the clock was looked at, after the other was due
    assert len(runs_of(talk, agent)) == 1
    talk.ask("DELETE", f"{path_of(agent)}/{made['id']}")
    gate.open()
    until_sync(are_over(talk, agent, 1))


@pytest.mark.promise("schedules.missed")
@pytest.mark.parametrize(("missed_runs", "count"), [("skip", 0), ("once", 1), ("all", 4)])
def test_what_was_missed_is_made_up_for_as_asked(calm: Talk, missed_runs: str, count: int) -> None:
    agent = calm.agent()
    hourly = {"type": "recurring", "cron_expression": f"{(utc_now().minute + 30) % 60} * * * *"}
    made = plan(calm, agent, hourly, missed_runs=missed_runs, grace_s=60)
    first = datetime.fromisoformat(made["next_scheduled_time"]) - timedelta(hours=4)
    let_it_be(calm, agent, made, first)
    until_sync(lambda: calm.get(f"{path_of(agent)}/{made['id']}")["next_scheduled_time"] > str(utc_now()))
    until_sync(are_over(calm, agent, count))


@pytest.mark.promise("schedules.deleted")
def test_a_schedule_goes_with_its_agent(calm: Talk) -> None:
    agent, other = calm.agent(), calm.agent()
    made = plan(calm, agent, soon())
    later = plan(calm, other, soon())
    calm.ask("DELETE", f"/v1/agents/{agent['id']}")
    assert calm.http.get(path_of(agent)).status_code == 404
    until_sync(are_over(calm, other, 1))
    assert later["next_scheduled_time"] >= made["next_scheduled_time"]
    assert runs_of(calm, agent) == []

    def is_kept(connection: Connection) -> bool:
        return made["id"] in repository.list_due(connection, utc_now() + timedelta(days=1))

    assert not calm.tenant.house.read(is_kept)


@pytest.mark.promise("schedules.replicas")
def test_two_servers_share_schedules_and_run_none_twice(calm: Talk) -> None:
    house = calm.tenant.house
    there = calm.tenant.elsewhere()
    pairs = [(agent, plan(calm, agent, NEVER)) for agent in (calm.agent() for _ in range(8))]

    def make_due(connection: Connection) -> None:
        for _, made in pairs:
            repository.note_run(connection, made["id"], utc_now() - timedelta(seconds=1), None)

    house.write(make_due)
    wake = {"messages": SAID, "schedule": NEVER}
    with ThreadPoolExecutor(2) as threads, there:
        both = [threads.submit(http.post, path_of(pairs[0][0]), json=wake) for http in (calm.http, there)]
        assert [each.result().status_code for each in both] == [201, 201]
    for agent, made in pairs:
        until_sync(are_over(calm, agent, 1))
        assert len(runs_of(calm, agent)) == 1
        assert calm.get(f"{path_of(agent)}/{made['id']}")["next_scheduled_time"] is not None


@pytest.mark.promise("schedules.crash")
@pytest.mark.parametrize("edge", ["before", "after"])
def test_a_server_killed_as_a_message_is_due_sends_it_exactly_once(
    databases: Databases, tmp_path: Path, model: ScriptedModel, edge: str
) -> None:
    model.responder = lambda _: says("Morning.")
    url = databases.fresh()
    point = {VARIABLE: f"schedules.service._start_due:{edge}:1"}
    dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings=point).start()
    client = dying.client()
    agent = client.agents.create(model="openai/gpt-4o-mini")
    client.agents.schedule.create(agent.id, messages=SAID, schedule=soon())  # pyright: ignore[reportArgumentType]  # a dict of the right shape
    until_sync(lambda: not dying.is_running)
    assert model.journal == []
    living = ServerProcess(url, tmp_path, model_url=model.base_url).start()
    try:
        _check_said_once(living.client(), agent.id)
    finally:
        living.kill()


def _check_said_once(client: Letta, agent_id: str) -> None:
    until_sync(lambda: [run.status for run in client.runs.list(agent_id=agent_id)] == ["completed"])
    said = [each for each in client.agents.messages.list(agent_id) if each.message_type == "user_message"]
    assert [each.content for each in said].count("Good morning.") == 1
