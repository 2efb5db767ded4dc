"""What an operator may set about runs: which exchanges with the model are kept, and how long requests wait."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta
from sqlalchemy import text
from tests.support.databases import Databases
from tests.support.script import calls, fails, says
from tests.support.scripted_model import ScriptedModel
from tests.support.server import RunningServer
from tests.support.talks import Talk

from remanence.core.approval import EXPIRED
from remanence.db.database import open_database
from remanence.kit.clock import utc_now
from remanence.runs.repository import drop_old_traces

MODEL = "openai/gpt-4o-mini"
KEY = "sk-a-very-secret-key"


@pytest.fixture
def server(databases: Databases, tmp_path: Path, model: ScriptedModel) -> Iterator[RunningServer]:
    running = RunningServer(
        databases.fresh(),
        tmp_path,
        openai_api_key=KEY,
        openai_base_url=model.base_url,
        traces="all",
        approval_expiry_s=0.001,
    ).start()
    yield running
    running.stop()


def last_step(client: Letta, agent: Any) -> Any:
    return client.steps.list(agent_id=agent.id, order="desc").items[0]


async def age_traces(server: RunningServer) -> None:
    db = open_database(server.database_url)
    then = {"then": utc_now() - timedelta(days=2)}
    await db.write(drop_old_traces, days=1)
    await db.write(lambda on: on.execute(text("UPDATE provider_traces SET created_at = :then"), then))
    await db.close()


async def drop_traces(server: RunningServer) -> None:
    db = open_database(server.database_url)
    await db.write(drop_old_traces, days=1)
    await db.close()


@pytest.mark.promise("steps.trace")
async def test_a_trace_holds_what_was_sent_and_what_came_back_and_no_secret(
    server: RunningServer, client: Letta, model: ScriptedModel
) -> None:
    agent = client.agents.create(model=MODEL, secrets={"TOKEN": "hunter2-hunter2"})
    model.script(says("You said hunter2-hunter2."))
    client.agents.messages.create(agent.id, input="My token is hunter2-hunter2.")
    step = last_step(client, agent)
    trace = client.steps.trace.retrieve(step.id)
    assert trace is not None
    assert trace.step_id == step.id
    assert trace.request_json["model"] == "gpt-4o-mini"
    assert "My token is [secret]." in str(trace.request_json["messages"])
    assert trace.response_json["events"]
    shown = trace.to_json()
    assert "hunter2-" not in shown
    assert KEY not in shown
    await age_traces(server)
    assert client.steps.trace.retrieve(step.id) is not None
    await drop_traces(server)
    assert client.steps.trace.retrieve(step.id) is None


@pytest.mark.promise("approvals.expiry")
def test_a_request_that_nobody_answers_in_time_lets_the_next_message_pass(
    client: Letta, model: ScriptedModel
) -> None:
    agent = client.agents.create(
        model=MODEL,
        memory_blocks=[{"label": "human", "value": "Name: Eve"}],
        tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}],
    )
    model.script(calls("memory_insert", label="human", new_string="Likes figs"), says("Never mind."))
    asked = client.agents.messages.create(agent.id, input="Figs!")
    assert asked.stop_reason.stop_reason == "requires_approval"
    answer = client.agents.messages.create(agent.id, input="Are you there?")
    assert [message.message_type for message in answer.messages][-1] == "assistant_message"
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Name: Eve"
    last = model.journal[-1].messages
    assert [message["role"] for message in last[-3:]] == ["assistant", "tool", "user"]
    assert EXPIRED in last[-2]["content"]


@pytest.mark.promise("steps.trace-errors")
def test_by_default_only_failed_steps_keep_theirs(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Fine."))
    (good,) = talk.get("/v1/steps/", agent_id=agent["id"])
    assert talk.get(f"/v1/steps/{good['id']}/trace") is None
    talk.model.script(fails(400, "The key sk-test is odd."))
    talk.tenant.http.post(f"/v1/agents/{agent['id']}/messages", json={"input": "Hi again"})
    bad = talk.get("/v1/steps/", agent_id=agent["id"])[0]
    trace = talk.get(f"/v1/steps/{bad['id']}/trace")
    assert trace["request_json"]["model"] == "gpt-4o-mini"
    assert trace["response_json"] == {"body": "The key [key] is odd."}


@pytest.mark.promise("runs.trace")
def test_a_run_is_shown_as_a_tree_of_spans(talk: Talk) -> None:
    agent = talk.agent()
    run = talk.run_of(talk.say(agent, "Hi", says("Fine.")))
    (step,) = talk.get("/v1/steps/", agent_id=agent["id"])
    spans = talk.get(f"/v1/runs/{run['id']}/trace")
    assert [span["name"] for span in spans] == ["run", "step", "model", "database"]
    assert [span["parent_span_id"] for span in spans] == [None, run["id"], step["id"], step["id"]]
    assert all(span["duration_ns"] > 0 for span in spans)
    assert talk.get(f"/v1/steps/{step['id']}/metrics")["database_ns"] == spans[-1]["duration_ns"]


@pytest.mark.promise("steps.trace-ids")
def test_steps_are_found_by_the_providers_own_id(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Fine."))
    (step,) = talk.get("/v1/steps/", agent_id=agent["id"])
    assert step["trace_id"]
    assert [each["id"] for each in talk.get("/v1/steps/", trace_ids=step["trace_id"])] == [step["id"]]
    assert talk.get("/v1/steps/", trace_ids="nobody") == []
