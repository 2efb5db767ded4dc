"""Runs that outlive whoever started them: asynchronous ones, streams read again from any frame, callbacks."""

import hashlib
import hmac
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from inline_snapshot import snapshot
from letta_client import NotFoundError
from tests.support.answers import INSERT
from tests.support.receiver import Receiver
from tests.support.records import age_run
from tests.support.script import Gate, fails, says
from tests.support.talks import Talk, kinds, messages_path, stop_reason
from tests.support.waiting import until_sync
from tests.support.wire import read_frames

from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault


@pytest.fixture
def elsewhere(talk: Talk) -> Iterator[httpx.Client]:
    """The same user at another server on the same database."""
    with talk.tenant.elsewhere() as client:
        yield client


def start(talk: Talk, agent: JsonObject, text: str = "Hello", **options: object) -> JsonObject:
    return talk.ask("POST", f"{messages_path(agent)}/async", json={"input": text, **options})


def ended(talk: Talk, run_id: str) -> JsonObject:
    """The run, once it is over."""
    path = f"/v1/runs/{run_id}"
    until_sync(lambda: talk.get(path)["status"] not in ("created", "running"))
    return talk.get(path)


def resume(client: httpx.Client, run_id: str, **body: object) -> bytes:
    response = client.post(f"/v1/runs/{run_id}/stream", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    return response.content


def split(stream: bytes) -> list[bytes]:
    assert stream.endswith(b"data: [DONE]\n\n")
    return [frame + b"\n\n" for frame in stream.split(b"\n\n")[:-1]]


def one_message(text: str, otid: str | None = None) -> JsonObject:
    return {"messages": [{"role": "user", "content": text, "otid": otid or str(uuid4())}]}


@pytest.mark.promise("background.async")
def test_an_async_send_gives_its_run_at_once(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(INSERT, says("Noted.").held(gate))
    run = talk.sdk.agents.messages.create_async(agent["id"], input="I like figs.")
    assert (run.status, run.background, run.completed_at) == ("created", True, None)
    assert run.metadata == {"run_type": "send_message_async"}
    gate.reached.wait_sync()
    active = {"agent_id": agent["id"], "background": True, "active": True}
    assert [each["id"] for each in talk.get("/v1/runs/", **active)] == [run.id]
    assert talk.get("/v1/runs/", **active | {"background": False}) == []
    gate.open()
    over = ended(talk, run.id)
    assert (over["status"], over["stop_reason"]) == ("completed", "end_turn")
    assert talk.get("/v1/runs/", **active) == []
    assert [each["id"] for each in talk.get("/v1/runs/", agent_id=agent["id"], background=True)] == [run.id]
    assert kinds(talk.get(f"/v1/runs/{run.id}/messages")) == ["user", "tool_call", "tool_return", "assistant"]


@pytest.mark.promise("background.resume")
@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "steps"])
def test_every_frame_is_numbered_and_the_stream_can_be_read_again_from_any(
    talk: Talk, elsewhere: httpx.Client, tokens: bool
) -> None:
    agent = talk.agent()
    talk.model.script(INSERT, says("That is noted."))
    with talk.open_stream(agent, "I like figs.", background=True, stream_tokens=tokens) as response:
        whole = response.read()
    frames = split(whole)
    for number, frame in enumerate(read_frames(whole), 1):
        if isinstance(frame.data, dict) and "seq_id" in frame.data:
            assert frame["seq_id"] == number
    run_id = read_frames(whole)[0]["run_id"]
    for client in (talk.http, elsewhere):
        for after in range(len(frames)):
            assert resume(client, run_id, starting_after=after) == b"".join(frames[after:])
    assert talk.http.post(f"/v1/runs/{run_id}/stream").content == whole, "a body is not needed"
    assert resume(talk.http, run_id, starting_after=len(frames)) == b"", "there is nothing more"


def test_the_sdk_resumes_where_it_left(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("one two three four").paused(gate, after=2))
    stream = talk.sdk.agents.messages.create(
        agent["id"], input="Count", streaming=True, stream_tokens=True, background=True
    )
    seen = [next(stream) for _ in range(3)]
    stream.close()  # the reader leaves, the run does not
    gate.open()
    last = seen[-1]
    assert last.message_type == "assistant_message"
    assert last.run_id is not None
    assert last.seq_id is not None
    rest = list(talk.sdk.runs.messages.stream(last.run_id, starting_after=last.seq_id))
    words = [event.content for event in [*seen, *rest] if event.message_type == "assistant_message"]
    assert words == ["one ", "two ", "three ", "four"]
    assert talk.history(agent, order="asc")[-1]["content"] == "one two three four"


@pytest.mark.promise("background.follow")
def test_a_run_is_followed_live_from_another_server(talk: Talk, elsewhere: httpx.Client) -> None:
    agent = talk.agent()
    gates = [Gate(), Gate()]
    talk.model.script(says("one two three four").paused(gates[0], after=1).paused(gates[1], after=3))
    run = start(talk, agent, "Count", stream_tokens=True)
    gates[0].reached.wait_sync()
    with elsewhere.stream("POST", f"/v1/runs/{run['id']}/stream", json={}) as response:
        chunks = response.iter_bytes()
        seen = b""
        while b'"one "' not in seen:
            seen += next(chunks)
        assert b'"two "' not in seen
        gates[0].open()
        while b'"three "' not in seen:
            seen += next(chunks)
        assert b'"four"' not in seen
        gates[1].open()
        seen += b"".join(chunks)
    assert seen == resume(talk.http, run["id"])
    assert [frame["content"] for frame in read_frames(seen) if frame.kind == "assistant_message"] == [
        "one ",
        "two ",
        "three ",
        "four",
    ]


def test_pings_can_be_left_out(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hi."), says("Hi."))
    for has_pings in (True, False):
        with talk.open_stream(agent, "Hello", background=True, include_pings=has_pings) as response:
            frames = read_frames(response.read())
        assert (frames[0].kind == "ping") == has_pings
        assert frames[0]["seq_id"] == 1


@pytest.mark.promise("background.foreground")
def test_a_run_in_the_foreground_cannot_be_resumed(talk: Talk) -> None:
    agent = talk.agent()
    run_id = talk.say(agent, "Hello", says("Hi."))["messages"][0]["run_id"]
    response = talk.http.post(f"/v1/runs/{run_id}/stream", json={"starting_after": 0})
    assert response.status_code == 400
    assert response.json()["detail"].startswith("INVALID_ARGUMENT: ")


def test_an_unknown_run_cannot_be_resumed(talk: Talk) -> None:
    with pytest.raises(NotFoundError):
        talk.sdk.runs.messages.stream("run-11111111-1111-4111-8111-111111111111")


@pytest.mark.promise("background.expiry")
def test_a_stream_is_gone_after_three_hours_its_messages_are_not(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hi."))
    run = start(talk, agent)
    ended(talk, run["id"])
    talk.tenant.house.write(age_run, run["id"], timedelta(hours=2, minutes=59))
    assert resume(talk.http, run["id"]).endswith(b"[DONE]\n\n")
    talk.tenant.house.write(age_run, run["id"], timedelta(minutes=2))
    response = talk.http.post(f"/v1/runs/{run['id']}/stream", json={})
    assert response.status_code == 410
    assert kinds(talk.get(f"/v1/runs/{run['id']}/messages")) == ["user", "assistant"]


@pytest.mark.promise("background.failure")
def test_a_failing_provider_ends_the_stream_with_an_error_and_done(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(INSERT, fails(400))
    with talk.open_stream(agent, "I like figs.", background=True) as response:
        whole = response.read()
    frames = read_frames(whole)
    assert [frame.kind for frame in frames] == snapshot(
        ["ping", "tool_call_message", "tool_return_message", "stop_reason", "error_message", "[DONE]"]
    )
    error = frames[-2]
    assert (error.event, error["error_type"], error["seq_id"]) == ("error", "llm_error", 5)
    run = ended(talk, frames[0]["run_id"])
    assert (run["status"], run["stop_reason"]) == ("failed", "llm_api_error")
    assert run["metadata"]["error"] == error["detail"]
    assert resume(talk.http, run["id"], starting_after=3) == b"".join(split(whole)[3:])


# Messages sent again, known by the ids that their client gave them


def test_a_background_send_sent_again_is_the_same_stream(talk: Talk, elsewhere: httpx.Client) -> None:
    agent = talk.agent()
    body = one_message("Hello") | {"background": True, "stream_tokens": True}
    talk.model.script(says("Hi there."))
    first = talk.http.post(f"{messages_path(agent)}/stream", json=body).content
    assert talk.http.post(f"{messages_path(agent)}/stream", json=body).content == first
    assert elsewhere.post(f"{messages_path(agent)}/stream", json=body).content == first
    assert kinds(talk.history(agent)) == ["system", "user", "assistant"]


@pytest.mark.promise("background.otids")
def test_a_blocking_send_sent_again_is_the_same_answer(talk: Talk, elsewhere: httpx.Client) -> None:
    agent = talk.agent()
    body = one_message("I like figs.")
    talk.model.script(INSERT, says("Noted."))
    first = talk.ask("POST", messages_path(agent), json=body)
    for client in (talk.http, elsewhere):
        again = client.post(messages_path(agent), json=body).json()
        assert again["messages"] == first["messages"]
        assert again["stop_reason"] == first["stop_reason"]
        assert again["usage"]["total_tokens"] == first["usage"]["total_tokens"]
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."


def test_an_async_send_sent_again_is_the_same_run(talk: Talk) -> None:
    agent = talk.agent()
    body = one_message("Hello")
    talk.model.script(says("Hi."))
    ids = {talk.ask("POST", f"{messages_path(agent)}/async", json=body)["id"] for _ in range(3)}
    assert len(ids) == 1
    ended(talk, ids.pop())


def test_a_send_sent_again_while_it_runs_waits_for_the_one_answer(
    talk: Talk, elsewhere: httpx.Client
) -> None:
    agent = talk.agent()
    gate = Gate()
    body = one_message("Hello")
    talk.model.script(says("Hi.").held(gate))
    with talk.http.stream("POST", f"{messages_path(agent)}/stream", json=body) as first:
        gate.reached.wait_sync()
        with elsewhere.stream("POST", f"{messages_path(agent)}/stream", json=body) as again:
            gate.open()
            second = [frame.kind for frame in read_frames(again.read())]
        assert [frame.kind for frame in read_frames(first.read())] == second
    assert second == ["ping", "assistant_message", "stop_reason", "usage_statistics", "[DONE]"]
    assert len(talk.model.journal) == 1


def test_after_a_failure_or_a_cancel_the_same_message_starts_anew(talk: Talk) -> None:
    agent = talk.agent()
    body = one_message("Hello")
    talk.refuse(agent, 400, fails(400), **body)
    gate = Gate()
    talk.model.script(says("Hi.").held(gate))
    run = talk.ask("POST", f"{messages_path(agent)}/async", json=body)
    gate.reached.wait_sync()
    talk.ask("POST", f"{messages_path(agent)}/cancel", json={"run_ids": [run["id"]]})
    talk.model.script(says("Hi at last."))
    answer = talk.ask("POST", messages_path(agent), json=body)
    assert answer["messages"][0]["content"] == "Hi at last."
    assert kinds(talk.history(agent)) == ["system", "user", "assistant"]


# Callbacks


@pytest.mark.promise("background.callback")
@pytest.mark.parametrize("statuses", [(), (500,)], ids=["heard", "heard at the second try"])
def test_a_callback_tells_of_the_end_and_is_signed(talk: Talk, statuses: tuple[int, ...]) -> None:
    agent = talk.agent()
    talk.model.script(says("Hi."))
    with Receiver(*statuses) as receiver:
        run = start(talk, agent, callback_url=receiver.url)
        until_sync(lambda: len(receiver.received) == len(statuses) + 1)
        until_sync(lambda: talk.get(f"/v1/runs/{run['id']}")["callback_sent_at"] is not None)
    told = receiver.received[-1]
    over = talk.get(f"/v1/runs/{run['id']}")
    body = json.decode(told.body)
    assert list(body) == ["run_id", "status", "completed_at", "metadata"]
    assert (body["run_id"], body["status"]) == (run["id"], "completed")
    assert body["metadata"] == over["metadata"]
    key = Vault.open(talk.tenant.house.folder).signing_key
    signature = hmac.new(key, told.body, hashlib.sha256).hexdigest()
    assert told.headers["x-remanence-signature"] == f"sha256={signature}"
    assert (over["callback_status_code"], over["callback_error"]) == (200, None)


def test_a_callback_that_nobody_hears_is_noted(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hi."), fails(400))
    with Receiver(404) as receiver:
        run = start(talk, agent, callback_url=receiver.url)
        until_sync(lambda: talk.get(f"/v1/runs/{run['id']}")["callback_status_code"] == 404)
        failing = start(talk, agent, callback_url=receiver.url)
        until_sync(lambda: len(receiver.received) == 2)
    assert json.decode(receiver.received[1].body)["status"] == "failed"
    assert stop_reason({"stop_reason": ended(talk, failing["id"])}) == "llm_api_error"
