"""Runs that are cancelled: at any moment, by anybody, and what is left of them."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from inline_snapshot import snapshot
from letta_client import ConflictError
from tests.support.answers import DONE, INSERT, cancel
from tests.support.api import assert_takes_turns
from tests.support.flows import flow
from tests.support.script import Gate, fails, says
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.waiting import until_sync
from tests.support.wire import read_frames

from remanence.kit.json import JsonObject

COUNT = says("one two three four five")


@pytest.fixture(autouse=True)
def every_prompt_is_well_formed(talk: Talk) -> Iterator[None]:
    yield
    for request in talk.model.journal:
        assert_takes_turns(request.messages)


@pytest.fixture
def elsewhere(talk: Talk) -> Iterator[httpx.Client]:
    """The same user at another server on the same database."""
    with talk.tenant.elsewhere() as client:
        yield client


@contextmanager
def sent(talk: Talk, agent: JsonObject, text: str) -> Generator["Future[JsonObject]"]:
    """A blocking send that goes on beside the test."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(talk.say, agent, text)


def runs_of(talk: Talk, agent: JsonObject) -> list[JsonObject]:
    """Oldest first."""
    return talk.get("/v1/runs/", agent_id=agent["id"], order="asc")


def check_it_is_cancelled(talk: Talk, run_id: str) -> JsonObject:
    run = talk.get(f"/v1/runs/{run_id}")
    assert (run["status"], run["stop_reason"]) == ("cancelled", "cancelled")
    assert run["completed_at"] is not None
    return run


def check_it_goes_on(talk: Talk, agent: JsonObject) -> None:
    answer = talk.say(agent, "Are you there?", says("Here I am."))
    assert [message["content"] for message in answer["messages"]] == ["Here I am."]


@pytest.mark.promise("cancel.streaming")
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_cancelled_while_the_model_speaks(talk: Talk, background: bool) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(COUNT.paused(gate, after=2))
    with talk.open_stream(agent, "Count", stream_tokens=True, background=background) as response:
        gate.reached.wait_sync()
        (run_id, outcome), *others = cancel(talk, agent).items()
        frames = read_frames(response.read())
    assert (outcome, others) == ("cancelled", [])
    talk.model.last.hung_up.wait_sync(timeout_s=2)  # the provider is left alone at once
    check_it_is_cancelled(talk, run_id)
    assert [frame.kind for frame in frames] == [
        "ping",
        "assistant_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]
    assert frames[-3]["stop_reason"] == "cancelled"
    kept = talk.history(agent, order="asc")[1:]
    assert [(m["message_type"], m["content"]) for m in kept] == [
        ("user_message", "Count"),
        ("assistant_message", "one two "),
    ]
    assert {m["run_id"] for m in kept} == {run_id}
    gate.open()
    check_it_is_cancelled(talk, run_id)
    check_it_goes_on(talk, agent)
    assert talk.model.last.roles == ["system", "user", "assistant", "user"]


@pytest.mark.promise("cancel.streaming", "models.fallback")
def test_a_model_that_stepped_in_is_named_though_it_was_cut_short(talk: Talk) -> None:
    settings = {"provider_type": "openai", "fallback_models": ["openai/gpt-4o"]}
    agent = talk.agent(model_settings=settings)
    gate = Gate()
    talk.model.script(fails(401), COUNT.paused(gate, after=2))
    with talk.open_stream(agent, "Count", stream_tokens=True) as response:
        gate.reached.wait_sync()
        [run_id] = cancel(talk, agent)
        response.read()
    [step] = talk.get(f"/v1/runs/{run_id}/steps")
    assert (step["model"], step["status"]) == ("gpt-4o", "cancelled")
    gate.open()


def test_cancelled_while_the_model_speaks_a_blocking_send_is_answered_with_what_was_said(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(COUNT.paused(gate, after=3))
    with sent(talk, agent, "Count") as sending:
        gate.reached.wait_sync()
        cancel(talk, agent)
        answer = sending.result(5)
    assert stop_reason(answer) == "cancelled"
    assert [message["content"] for message in answer["messages"]] == ["one two three "]
    check_it_goes_on(talk, agent)


@pytest.mark.promise("cancel.before-words")
def test_cancelled_before_the_first_token_nothing_was_said(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(COUNT.held(gate))
    with talk.open_stream(agent, "Count", stream_tokens=True) as response:
        gate.reached.wait_sync()
        (run_id,) = cancel(talk, agent)
        frames = flow(read_frames(response.read()))
    talk.model.last.hung_up.wait_sync(timeout_s=2)
    assert frames == snapshot(["ping run-1", "stop_reason cancelled", "usage of 0 steps", "[DONE]"])
    check_it_is_cancelled(talk, run_id)
    assert kinds(talk.history(agent)) == ["system"], "the question is kept aside, to be asked again"
    assert [m["content"] for m in talk.get(f"/v1/runs/{run_id}/messages")] == ["Count"]
    check_it_goes_on(talk, agent)


@pytest.mark.promise("cancel.steps")
def test_cancelled_in_the_second_step_the_first_stands(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(INSERT, COUNT.held(gate))
    with talk.open_stream(agent, "I like figs.") as response:
        gate.reached.wait_sync()
        (run_id,) = cancel(talk, agent)
        frames = flow(read_frames(response.read()))
    assert [line.split(" ")[0] for line in frames] == [
        "ping",
        "tool_call",
        "tool_return",
        "stop_reason",
        "usage",
        "[DONE]",
    ]
    check_it_is_cancelled(talk, run_id)
    assert kinds(talk.history(agent)) == ["system", "user", "tool_call", "tool_return"]
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    steps = talk.get(f"/v1/runs/{run_id}/steps")
    assert [step["status"] for step in steps] == ["success"]
    check_it_goes_on(talk, agent)


def test_cancelled_while_a_call_is_being_written_the_call_is_dropped(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script((says("Noting. ") + INSERT).paused(gate, after=3))
    with talk.open_stream(agent, "I like figs.", stream_tokens=True) as response:
        gate.reached.wait_sync()
        cancel(talk, agent)
        assert read_frames(response.read())[-1].kind == "[DONE]"
    assert kinds(talk.history(agent)) == ["system", "user", "assistant"]
    assert talk.block(agent, "human") == "Name: Eve"
    check_it_goes_on(talk, agent)


@pytest.mark.promise("cancel.queued")
def test_cancelled_while_it_waits_for_its_turn(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("First.").held(gate))
    with sent(talk, agent, "First") as first:
        gate.reached.wait_sync()
        with talk.open_stream(agent, "Second") as second:
            waiting = runs_of(talk, agent)[1]
            assert waiting["status"] == "created"
            assert cancel(talk, agent, waiting["id"]) == {waiting["id"]: "cancelled"}
            assert flow(read_frames(second.read()))[1:] == snapshot(
                ["stop_reason cancelled", "usage of 0 steps", "[DONE]"]
            )
        check_it_is_cancelled(talk, waiting["id"])
        gate.open()
        assert first.result(5)["messages"][0]["content"] == "First."
    assert [m["content"] for m in talk.history(agent, order="asc")[1:]] == ["First", "First."]
    check_it_goes_on(talk, agent)


def test_without_ids_all_that_is_open_is_cancelled(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("First.").held(gate))
    with sent(talk, agent, "First") as first, talk.open_stream(agent, "Second") as second:
        gate.reached.wait_sync()
        until_sync(lambda: len(runs_of(talk, agent)) == 2)
        ids = [run["id"] for run in runs_of(talk, agent)]
        assert cancel(talk, agent) == dict.fromkeys(ids, "cancelled")
        assert stop_reason(first.result(5)) == "cancelled"
        assert read_frames(second.read())[-1].kind == "[DONE]"
    check_it_goes_on(talk, agent)


def test_an_async_run_is_cancelled_by_its_id(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(COUNT.paused(gate, after=2))
    run = talk.sdk.agents.messages.create_async(agent["id"], input="Count")
    gate.reached.wait_sync()
    assert talk.sdk.agents.messages.cancel(agent["id"], run_ids=[run.id]) == {run.id: "cancelled"}
    talk.model.last.hung_up.wait_sync(timeout_s=2)
    check_it_is_cancelled(talk, run.id)
    stream = talk.http.post(f"/v1/runs/{run.id}/stream")
    assert [line.split(" ")[0] for line in flow_of(stream)][-3:] == [
        "stop_reason",
        "usage_statistics",
        "[DONE]",
    ]
    check_it_goes_on(talk, agent)


def flow_of(response: httpx.Response) -> list[str]:
    return [frame.kind for frame in read_frames(response.content)]


@pytest.mark.promise("cancel.outcomes")
def test_what_is_over_stays_as_it_was(talk: Talk) -> None:
    agent = talk.agent()
    run_id = talk.say(agent, "Hello", DONE)["messages"][0]["run_id"]
    before = talk.get(f"/v1/runs/{run_id}")
    unknown = "run-11111111-1111-4111-8111-111111111111"
    assert cancel(talk, agent, run_id, unknown) == {run_id: "cancelled", unknown: "failed"}
    assert talk.get(f"/v1/runs/{run_id}") == before
    assert before["status"] == "completed"


def test_the_run_of_another_organisation_is_unknown(talk: Talk) -> None:
    stranger = talk.tenant.house.new_tenant()
    gate = Gate()
    talk.model.script(says("Mine.").held(gate))
    agent = talk.agent()
    with sent(talk, agent, "Hello") as sending:
        gate.reached.wait_sync()
        (run,) = runs_of(talk, agent)
        theirs = stranger.agent()
        response = stranger.http.post(f"{messages_path(theirs)}/cancel", json={"run_ids": [run["id"]]})
        assert response.json() == {run["id"]: "failed"}
        gate.open()
        assert stop_reason(sending.result(5)) == "end_turn"
    stranger.close()


@pytest.mark.promise("cancel.nothing")
def test_with_nothing_to_cancel_it_is_a_conflict(talk: Talk) -> None:
    agent = talk.agent()
    with pytest.raises(ConflictError):
        talk.sdk.agents.messages.cancel(agent["id"])
    talk.say(agent, "Hello", DONE)
    assert talk.http.post(f"{messages_path(agent)}/cancel").status_code == 409
    check_it_goes_on(talk, agent)


@pytest.mark.promise("cancel.elsewhere")
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_cancelled_through_another_server(talk: Talk, elsewhere: httpx.Client, background: bool) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(COUNT.paused(gate, after=2))
    with talk.open_stream(agent, "Count", stream_tokens=True, background=background) as response:
        gate.reached.wait_sync()
        answer = elsewhere.post(f"{messages_path(agent)}/cancel", json={})
        (run_id,) = answer.json()
        check_it_is_cancelled(talk, run_id)
        kinds_seen = [frame.kind for frame in read_frames(response.read())]
    talk.model.last.hung_up.wait_sync(timeout_s=2)
    assert kinds_seen[-3:] == ["stop_reason", "usage_statistics", "[DONE]"]
    check_it_is_cancelled(talk, run_id)
    assert talk.history(agent, order="asc")[-1]["content"] == "one two "
    check_it_goes_on(talk, agent)


def test_a_run_in_line_is_cancelled_through_another_server(talk: Talk, elsewhere: httpx.Client) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("First.").held(gate))
    with sent(talk, agent, "First") as first:
        gate.reached.wait_sync()
        with elsewhere.stream("POST", f"{messages_path(agent)}/stream", json={"input": "Second"}) as second:
            waiting = runs_of(talk, agent)[1]
            assert cancel(talk, agent, waiting["id"]) == {waiting["id"]: "cancelled"}
            assert flow(read_frames(second.read()))[1:] == snapshot(
                ["stop_reason cancelled", "usage of 0 steps", "[DONE]"]
            )
        gate.open()
        assert stop_reason(first.result(5)) == "end_turn"
    check_it_goes_on(talk, agent)


def test_a_request_asked_just_after_the_cancel_is_not_left_open(talk: Talk, elsewhere: httpx.Client) -> None:
    """The other server hears of it late, when the model has already written its call."""
    agent = talk.agent(
        include_base_tool_rules=False,
        tool_rules=[{"type": "requires_approval", "tool_name": "memory_insert"}],
    )
    gate = Gate()
    talk.model.script(INSERT.held(gate))
    with talk.open_stream(agent, "I like figs.") as response:
        gate.reached.wait_sync()
        (run_id,) = elsewhere.post(f"{messages_path(agent)}/cancel", json={}).json()
        gate.open()
        assert read_frames(response.read())[-1].kind == "[DONE]"
    check_it_is_cancelled(talk, run_id)
    check_it_goes_on(talk, agent)
