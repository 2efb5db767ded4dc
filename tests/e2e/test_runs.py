"""The record of every send: runs, their steps, and all that can be asked about both."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.script import Gate, calls, fails, says
from tests.support.talks import Talk, kinds
from tests.support.wire import Scrubber, scrub

from remanence.kit.json import JsonObject

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")
NO_RUN = "run-11111111-1111-4111-8111-111111111111"
NO_STEP = "step-11111111-1111-4111-8111-111111111111"


@pytest.fixture
def agent(talk: Talk) -> JsonObject:
    return talk.agent()


@pytest.fixture
def run(talk: Talk, agent: JsonObject) -> JsonObject:
    """A run of two steps: a tool call and the answer."""
    answer = talk.say(
        agent,
        "Figs!",
        FIGS.counting(prompt=100, completion=10, cached=64),
        says("Noted.").counting(prompt=130, completion=3, reasoning=2),
    )
    return talk.run_of(answer)


def found(talk: Talk, **query: Any) -> list[str]:
    return [each["id"] for each in talk.get("/v1/runs/", **query)]


@pytest.mark.promise("runs.record")
def test_every_send_leaves_a_run(talk: Talk, run: JsonObject) -> None:
    for key in ("ttft_ns", "total_duration_ns"):
        assert run[key] > 0
    assert scrub(run | {"ttft_ns": 1, "total_duration_ns": 2}) == snapshot(
        {
            "id": "run-1",
            "status": "completed",
            "created_at": "<moment>",
            "completed_at": "<moment>",
            "agent_id": "agent-1",
            "conversation_id": None,
            "base_template_id": None,
            "background": False,
            "metadata": {"run_type": "send_message"},
            "request_config": {
                "use_assistant_message": True,
                "assistant_message_tool_name": "send_message",
                "assistant_message_tool_kwarg": "message",
                "include_return_message_types": None,
            },
            "stop_reason": "end_turn",
            "callback_url": None,
            "callback_sent_at": None,
            "callback_status_code": None,
            "callback_error": None,
            "ttft_ns": 1,
            "total_duration_ns": 2,
        }
    )
    assert talk.get(f"/v1/runs/{run['id']}") == run


@pytest.mark.promise("runs.record")
def test_the_kind_of_send_and_its_wishes_are_on_record(talk: Talk, agent: JsonObject) -> None:
    frames = talk.stream(agent, "Hi", says("Hello!"), include_return_message_types=["assistant_message"])
    streamed = talk.get(f"/v1/runs/{frames[0]['run_id']}")
    assert streamed["metadata"] == {"run_type": "send_message_streaming"}
    assert streamed["request_config"]["include_return_message_types"] == ["assistant_message"]
    assert streamed["background"] is False


@pytest.mark.promise("runs.record")
def test_the_agent_remembers_its_last_run(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    state = talk.get(f"/v1/agents/{agent['id']}")
    assert state["last_stop_reason"] == "end_turn"
    assert state["last_run_completion"] == run["completed_at"]
    assert state["last_run_duration_ms"] == run["total_duration_ns"] // 1_000_000


@pytest.mark.promise("runs.messages")
def test_the_messages_of_a_run_begin_with_its_input(talk: Talk, run: JsonObject) -> None:
    path = f"/v1/runs/{run['id']}/messages"
    listed = talk.get(path)
    assert kinds(listed) == ["user", "tool_call", "tool_return", "assistant"]
    assert kinds(talk.get(path, order="desc", limit=2)) == ["assistant", "tool_return"]
    assert kinds(talk.get(path, after=listed[1]["id"])) == ["tool_return", "assistant"]
    assert kinds(talk.get(path, before=listed[2]["id"])) == ["user", "tool_call"]


@pytest.mark.promise("runs.usage")
def test_usage_and_metrics_of_a_run(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    assert talk.get(f"/v1/runs/{run['id']}/usage") == snapshot(
        {
            "cost_usd": 3.75e-05,
            "completion_tokens": 13,
            "prompt_tokens": 230,
            "total_tokens": 243,
            "prompt_tokens_details": {
                "cached_tokens": 64,
                "cache_read_tokens": 64,
                "cache_creation_tokens": 0,
            },
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
    )
    metrics = talk.get(f"/v1/runs/{run['id']}/metrics")
    assert metrics["run_ns"] == run["total_duration_ns"]
    assert metrics["tools_used"] == [talk.tenant.tool_id("memory_insert")]
    names = Scrubber()
    assert names(metrics | {"run_start_ns": 1, "run_ns": 2}) == snapshot(
        {
            "id": "run-1",
            "organization_id": "org-1",
            "agent_id": "agent-1",
            "project_id": None,
            "run_start_ns": 1,
            "run_ns": 2,
            "num_steps": 2,
            "tools_used": ["tool-1"],
            "template_id": None,
            "base_template_id": None,
        }
    )


@pytest.mark.promise("runs.steps")
def test_the_steps_of_a_run_newest_first(talk: Talk, run: JsonObject) -> None:
    steps = talk.get(f"/v1/runs/{run['id']}/steps")
    names = Scrubber()
    endpoint = steps[0]["model_endpoint"]
    assert endpoint == talk.model.base_url
    last = steps[0] | {"model_endpoint": "<endpoint>", "request_id": "<request>", "trace_id": "<request>"}
    assert names(last) == snapshot(
        {
            "id": "step-1",
            "origin": None,
            "organization_id": "org-1",
            "provider_id": None,
            "run_id": "run-1",
            "agent_id": "agent-1",
            "provider_name": "openai",
            "provider_category": "base",
            "model": "gpt-4o-mini",
            "model_handle": "openai/gpt-4o-mini",
            "model_endpoint": "<endpoint>",
            "context_window_limit": 128000,
            "completion_tokens": 3,
            "prompt_tokens": 130,
            "total_tokens": 133,
            "cached_input_tokens": None,
            "cache_write_tokens": None,
            "reasoning_tokens": 2,
            "completion_tokens_details": {"reasoning_tokens": 2},
            "prompt_tokens_details": {"cached_tokens": 0, "cache_read_tokens": 0, "cache_creation_tokens": 0},
            "stop_reason": "end_turn",
            "tags": [],
            "tid": None,
            "trace_id": "<request>",
            "request_id": "<request>",
            "messages": [],
            "feedback": None,
            "project_id": None,
            "error_type": None,
            "error_data": None,
            "status": "success",
            "cost_usd": 2.13e-05,
        }
    )
    assert [step["stop_reason"] for step in steps] == ["end_turn", None]
    assert [step["total_tokens"] for step in steps] == [133, 110]
    assert talk.get(f"/v1/runs/{run['id']}/steps", order="asc") == steps[::-1]
    assert talk.get(f"/v1/runs/{run['id']}/steps", after=steps[0]["id"]) == steps[1:]


@pytest.mark.promise("steps.retrieve")
def test_a_step_by_itself(talk: Talk, run: JsonObject) -> None:
    answer, call = talk.get(f"/v1/runs/{run['id']}/steps")
    assert talk.get(f"/v1/steps/{answer['id']}") == answer
    assert kinds(talk.get(f"/v1/steps/{call['id']}/messages")) == ["user", "tool_call", "tool_return"]
    assert kinds(talk.get(f"/v1/steps/{answer['id']}/messages", order="desc")) == ["assistant"]
    metrics = talk.get(f"/v1/steps/{call['id']}/metrics")
    assert list(metrics) == snapshot(
        [
            "id",
            "organization_id",
            "provider_id",
            "run_id",
            "agent_id",
            "step_start_ns",
            "llm_request_start_ns",
            "llm_request_ns",
            "tool_execution_ns",
            "database_ns",
            "step_ns",
            "base_template_id",
            "template_id",
            "project_id",
        ]
    )
    assert metrics["step_ns"] >= metrics["llm_request_ns"] > 0
    assert metrics["tool_execution_ns"] > 0
    assert talk.get(f"/v1/steps/{answer['id']}/metrics")["tool_execution_ns"] is None


@pytest.mark.promise("steps.feedback")
def test_feedback_on_a_step(talk: Talk, run: JsonObject) -> None:
    step_id = talk.get(f"/v1/runs/{run['id']}/steps")[0]["id"]
    path = f"/v1/steps/{step_id}/feedback"
    given = talk.ask("PATCH", path, json={"feedback": "positive", "tags": ["helpful"]})
    assert (given["feedback"], given["tags"]) == ("positive", ["helpful"])
    assert talk.get(f"/v1/steps/{step_id}") == given
    assert talk.ask("PATCH", path, json={"feedback": None})["feedback"] is None
    assert talk.http.patch(path, json={"feedback": "so-so"}).status_code == 422
    assert talk.http.patch(f"/v1/steps/{NO_STEP}/feedback", json={"feedback": "positive"}).status_code == 404


@pytest.mark.promise("steps.list")
def test_steps_are_found_by_what_they_are(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    last, first = (step["id"] for step in talk.get(f"/v1/runs/{run['id']}/steps"))
    talk.ask("PATCH", f"/v1/steps/{last}/feedback", json={"feedback": "negative", "tags": ["slow", "dull"]})
    other = talk.agent()
    talk.say(other, "Hi", says("Hello!"), override_model="openai/gpt-4o")

    def found(**query: Any) -> list[str]:
        return [step["id"] for step in talk.get("/v1/steps/", **query)]

    assert len(found()) == 3
    assert found(agent_id=agent["id"]) == [last, first]
    assert found(agent_id=agent["id"], order="asc", limit=1) == [first]
    assert found(agent_id=agent["id"], after=last) == [first]
    assert found(model="gpt-4o-mini") == found(model="openai/gpt-4o-mini") == [last, first]
    assert found(feedback="negative") == found(has_feedback=True) == [last]
    assert last not in found(has_feedback=False)
    assert found(tags=["slow"]) == found(tags=["slow", "dull"]) == [last]
    assert found(tags=["quick"]) == []
    assert found(agent_id=agent["id"], tags=["slow"], order="asc", limit=1) == [last]
    assert found(start_date="2100-01-01T00:00:00Z") == []
    assert found(end_date="2000-01-01T00:00:00Z") == []


@pytest.mark.promise("runs.list")
def test_runs_are_found_by_what_they_are(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    talk.refuse(agent, 400, fails(400), input="Fail")
    failed = found(talk, agent_id=agent["id"])[0]
    other = talk.agent()
    cut = talk.run_of(talk.say(other, "Figs!", FIGS, max_steps=1))["id"]
    assert found(talk) == [cut, failed, run["id"]]
    assert found(talk, agent_id=agent["id"]) == [failed, run["id"]]
    assert found(talk, agent_ids=[agent["id"], other["id"]]) == [cut, failed, run["id"]]
    assert found(talk, statuses="completed") == [cut, run["id"]]
    assert found(talk, statuses=["failed", "cancelled"]) == [failed]
    assert found(talk, stop_reason="max_steps") == [cut]
    assert found(talk, stop_reason="end_turn", order="asc") == [run["id"]]
    assert found(talk, background=True) == []
    assert found(talk, background=False, limit=1) == [cut]
    assert found(talk, active=True) == []
    assert found(talk, conversation_id="conv-11111111-1111-4111-8111-111111111111") == []
    assert found(talk, ascending=True) == [run["id"], failed, cut]
    assert found(talk, after=cut) == [failed, run["id"]]
    assert found(talk, before=run["id"], limit=1) == [failed]
    assert found(talk, order="asc", after=run["id"]) == [failed, cut]


@pytest.mark.promise("runs.list")
def test_a_run_at_work_is_active(talk: Talk, agent: JsonObject) -> None:
    gate = Gate()
    talk.model.script(says("late").held(gate))
    with talk.open_stream(agent, "Hi") as response:
        gate.reached.wait_sync()
        working = talk.get("/v1/runs/", active=True, agent_id=agent["id"])
        assert [each["status"] for each in working] == ["running"]
        assert working[0]["completed_at"] is None
        assert [each["id"] for each in talk.get("/v1/runs/active")] == [working[0]["id"]]
        gate.open()
        response.read()
    assert talk.get("/v1/runs/active") == []


@pytest.mark.promise("runs.list")
@pytest.mark.parametrize("query", [{"limit": 1001}, {"limit": 0}, {"statuses": "x"}, {"stop_reason": "x"}])
def test_a_filter_that_makes_no_sense_is_refused(talk: Talk, query: JsonObject) -> None:
    assert talk.http.get("/v1/runs/", params=query).status_code == 422


@pytest.mark.promise("runs.delete")
def test_a_run_can_be_deleted_and_its_messages_stay(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    step_id = talk.get(f"/v1/runs/{run['id']}/steps")[0]["id"]
    assert talk.http.delete(f"/v1/runs/{run['id']}").status_code == 200
    assert talk.http.get(f"/v1/runs/{run['id']}").status_code == 404
    assert talk.http.delete(f"/v1/runs/{run['id']}").status_code == 404
    assert talk.http.get(f"/v1/steps/{step_id}").status_code == 404
    assert kinds(talk.history(agent)) == ["system", "user", "tool_call", "tool_return", "assistant"]
    assert kinds(talk.say(agent, "Still there?", says("Yes."))["messages"]) == ["assistant"]


@pytest.mark.promise("runs.retrieve")
@pytest.mark.parametrize("part", ["", "/messages", "/usage", "/metrics", "/steps"])
def test_an_unknown_run_is_not_found(talk: Talk, part: str) -> None:
    assert talk.http.get(f"/v1/runs/{NO_RUN}{part}").status_code == 404
    assert talk.http.get(f"/v1/runs/run-1{part}").status_code == 422


@pytest.mark.promise("steps.retrieve")
@pytest.mark.parametrize("part", ["", "/messages", "/metrics"])
def test_an_unknown_step_is_not_found(talk: Talk, part: str) -> None:
    assert talk.http.get(f"/v1/steps/{NO_STEP}{part}").status_code == 404
    assert talk.http.get(f"/v1/steps/step-1{part}").status_code == 422


@pytest.mark.promise("runs.retrieve")
def test_records_end_at_the_organisation(talk: Talk, run: JsonObject) -> None:
    step_id = talk.get(f"/v1/runs/{run['id']}/steps")[0]["id"]
    stranger = talk.tenant.house.new_tenant()
    assert stranger.http.get("/v1/runs/").json() == stranger.http.get("/v1/steps/").json() == []
    for path in (f"/v1/runs/{run['id']}", f"/v1/runs/{run['id']}/messages", f"/v1/steps/{step_id}"):
        assert stranger.http.get(path).status_code == 404
    assert stranger.http.delete(f"/v1/runs/{run['id']}").status_code == 404
    stranger.close()


@pytest.mark.promise("runs.sdk")
def test_the_sdk_reads_runs_and_steps(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    sdk = talk.sdk
    assert sdk.runs.retrieve(run["id"]).status == "completed"
    assert [each.id for each in sdk.runs.list(agent_id=agent["id"], statuses=["completed"])] == [run["id"]]
    assert next(m.message_type for m in sdk.runs.messages.list(run["id"])) == "user_message"
    assert sdk.runs.usage.retrieve(run["id"]).total_tokens == 243
    steps = list(sdk.runs.steps.list(run["id"]))
    assert len(steps) == 2
    assert [each.id for each in sdk.steps.list(agent_id=agent["id"], limit=1)] == [each.id for each in steps]
    assert sdk.steps.retrieve(steps[0].id).status == "success"
    assert sdk.steps.metrics.retrieve(steps[0].id).id == steps[0].id
    assert len(list(sdk.steps.messages.list(steps[1].id))) == 3
    assert sdk.steps.feedback.create(steps[0].id, feedback="positive").feedback == "positive"


@pytest.mark.promise("runs.gist")
def test_a_list_tells_the_gist_of_each_run_if_asked(talk: Talk, agent: JsonObject, run: JsonObject) -> None:
    (plain,) = talk.get("/v1/runs/")
    assert plain == run
    (found,) = talk.get("/v1/runs/", include_gist=True)
    cost = found["gist"].pop("cost_usd")
    assert cost is not None
    assert found["gist"] == {
        "agent_name": agent["name"],
        "said": "Figs!",
        "num_steps": 2,
        "prompt_tokens": 230,
        "cached_input_tokens": 64,
        "completion_tokens": 13,
    }
    (gist,) = [each["gist"] for each in talk.get("/v1/runs/", include_gist=True, agent_id=agent["id"])]
    assert gist["num_steps"] == 2


@pytest.mark.promise("runs.trace")
def test_the_trace_of_a_run_tells_how_long_each_step_waited_for_its_model(
    talk: Talk, run: JsonObject
) -> None:
    spans = talk.get(f"/v1/runs/{run['id']}/trace")
    models = [span for span in spans if span["name"] == "model"]
    assert len(models) == 2
    for span in models:
        assert 0 < span["attributes"]["first_token_ns"] <= span["duration_ns"]
