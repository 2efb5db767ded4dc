"""Who may speak in a conversation when, and how streams of it are stopped and found again."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import httpx
import pytest
from letta_client import APIStatusError, ConflictError
from tests.support.chats import Chat, frame_kinds
from tests.support.script import Gate, says
from tests.support.talks import Talk
from tests.support.wire import Frame, read_frames

from remanence.kit.json import JsonObject


@contextmanager
def speaking(chat: Chat, *, background: bool = False) -> Generator[tuple[httpx.Response, Gate]]:
    """A stream that has begun and waits at the gate, which is open in the end."""
    gate = Gate()
    chat.talk.model.script(says("one two three").paused(gate, after=2))
    with chat.open("Count", stream_tokens=True, background=background) as response:
        try:
            gate.reached.wait_sync()
            yield response, gate
        finally:
            gate.open()
        response.read()


def running(chat: Chat) -> str:
    (run,) = chat.talk.get("/v1/runs/", active=True)
    return run["id"]


def said(frames: list[Frame]) -> str:
    return "".join(frame["content"] for frame in frames if frame.kind == "assistant_message")


@pytest.mark.parametrize("streaming", [True, False])
def test_default_is_busy_for_either_kind_of_request(talk: Talk, streaming: bool) -> None:
    agent = talk.agent()
    own = Chat.own(talk, agent)
    with speaking(own):
        refused = own.try_to("messages", input="And me?", streaming=streaming)
        assert refused.status_code == 409
        assert refused.json()["run_id"] == running(own)
        assert refused.json()["detail"].startswith("CONFLICT: ")
    assert own.texts() == ["Count", "one two three"]


def test_a_second_stream_on_a_conversation_is_refused_with_the_run_that_is_on(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    with speaking(chat) as (response, gate):
        refused = chat.try_to("messages", input="And me?")
        assert refused.status_code == 409
        assert refused.json()["run_id"] == running(chat)
        with pytest.raises(ConflictError):
            talk.sdk.conversations.messages.create(chat.id, input="And me?")
        gate.open()
        assert said(read_frames(response.read())) == "one two three"
    chat.stream("And now?", says("Yes"))
    assert chat.texts() == ["Count", "one two three", "And now?", "Yes"]


def test_blocking_sends_to_a_conversation_wait_for_their_turn(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    with ThreadPoolExecutor(1) as pool, speaking(chat) as (response, gate):
        waiting = pool.submit(chat.say, "And me?", says("And you."))
        gate.open()
        response.read()
        assert waiting.result(20)["messages"][0]["content"] == "And you."
    assert chat.texts() == ["Count", "one two three", "And me?", "And you."]


def test_conversations_of_one_agent_do_not_wait_for_each_other(talk: Talk) -> None:
    agent = talk.agent()
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    with speaking(one):
        assert two.say("Hi", says("Hello"))["messages"][0]["content"] == "Hello"
        assert talk.say(agent, "Hi", says("Hello"))["messages"][0]["content"] == "Hello"
    assert one.texts() == ["Count", "one two three"]


def test_sends_to_the_agent_wait_behind_default(talk: Talk) -> None:
    agent = talk.agent()
    with ThreadPoolExecutor(1) as pool, speaking(Chat.own(talk, agent)) as (response, gate):
        waiting = pool.submit(talk.say, agent, "And me?", says("And you."))
        gate.open()
        response.read()
        assert waiting.result(20)["messages"][0]["content"] == "And you."


# Cancelling


def test_cancelling_ends_the_stream_and_keeps_what_was_said(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    with speaking(chat) as (response, _):
        run_id = running(chat)
        assert talk.sdk.conversations.cancel(chat.id) == {run_id: "cancelled"}
        frames = read_frames(response.read())
    assert frame_kinds(frames)[-3:] == ["stop_reason", "usage_statistics", "[DONE]"]
    assert frames[-3]["stop_reason"] == "cancelled"
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "cancelled"
    assert chat.texts() == ["Count", said(frames)]
    assert chat.say("Go on", says("three"))["messages"][0]["content"] == "three"


def test_nothing_to_cancel_is_a_conflict(talk: Talk) -> None:
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    with pytest.raises(ConflictError):
        talk.sdk.conversations.cancel(chat.id)
    with pytest.raises(ConflictError):
        talk.sdk.conversations.cancel("default", agent_id=agent["id"])


def test_cancelling_a_conversation_leaves_the_others_alone(talk: Talk) -> None:
    agent = talk.agent()
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    with speaking(one) as (response, gate):
        assert two.try_to("cancel").status_code == 409
        gate.open()
        assert said(read_frames(response.read())) == "one two three"


def test_default_and_the_agent_id_cancel_the_agents_own_run(talk: Talk) -> None:
    agent = talk.agent()
    own = Chat.own(talk, agent)
    with speaking(own):
        run_id = running(own)
        assert talk.sdk.conversations.cancel("default", agent_id=agent["id"]) == {run_id: "cancelled"}
    with speaking(Chat(talk, agent["id"])):
        run_id = running(own)
        assert talk.sdk.conversations.cancel(agent["id"]) == {run_id: "cancelled"}


# Finding a stream again


def test_a_background_stream_is_found_by_run_by_message_id_and_as_the_latest(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    otid = str(uuid4())
    gate = Gate()
    talk.model.script(says("one two three").paused(gate, after=2))
    sent: JsonObject = {"messages": [{"role": "user", "content": "Count", "otid": otid}]}
    with chat.open("", background=True, stream_tokens=True, **sent) as response:
        gate.reached.wait_sync()
        run_id = running(chat)
        with talk.http.stream("POST", chat.path("/stream"), json={}) as latest:
            assert latest.status_code == 200
            gate.open()
            followed = latest.read()
        whole = response.read()
    frames = read_frames(whole)
    assert said(frames) == "one two three"
    assert frame_kinds(frames)[-3:] == ["stop_reason", "usage_statistics", "[DONE]"]
    assert _without_pings(followed) == _without_pings(whole)
    for by in ({"run_id": run_id}, {"otid": otid}):
        assert _without_pings(chat.try_to("stream", **by).content) == _without_pings(whole)
    rest = chat.try_to("stream", run_id=run_id, starting_after=frames[2]["seq_id"]).content
    assert _without_pings(rest) == _without_pings(whole)[2:]
    again = chat.stream("", background=True, stream_tokens=True, **sent)
    assert again == _without_pings(whole, keep_pings=True)
    assert chat.texts() == ["Count", "one two three"]


def test_the_sdk_follows_a_stream(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.stream("Count", says("one two"), background=True)
    (run,) = talk.get("/v1/runs/", conversation_id=chat.id)
    frames = talk.sdk.conversations.messages.stream(chat.id, extra_body={"run_id": run["id"]})
    assert [each.message_type for each in frames][-3:] == [
        "assistant_message",
        "stop_reason",
        "usage_statistics",
    ]


def test_the_stream_of_default_is_found_by_its_agent(talk: Talk) -> None:
    agent = talk.agent()
    own = Chat.own(talk, agent)
    with speaking(own, background=True) as (response, gate):
        with talk.http.stream("POST", own.path("/stream"), json={"agent_id": agent["id"]}) as latest:
            assert latest.status_code == 200
            gate.open()
            followed = latest.read()
        assert said(read_frames(response.read())) == said(read_frames(followed)) == "one two three"


def test_a_stream_that_nobody_can_find(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    chat.say("Hi", says("Hello"))
    foreground = talk.get("/v1/runs/", conversation_id=chat.id)[0]["id"]
    assert chat.try_to("stream").status_code == 400
    assert chat.try_to("stream", otid=str(uuid4())).status_code == 404
    assert chat.try_to("stream", run_id=f"run-{uuid4()}").status_code == 404
    assert chat.try_to("stream", run_id=foreground).status_code == 400
    with pytest.raises(APIStatusError) as failed:
        talk.sdk.conversations.messages.stream(chat.id)
    assert failed.value.status_code == 400


def test_runs_of_other_conversations_are_not_found_here(talk: Talk) -> None:
    agent = talk.agent()
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    otid = str(uuid4())
    one.stream("", says("Hello"), background=True, messages=[{"role": "user", "content": "Hi", "otid": otid}])
    (run,) = talk.get("/v1/runs/", conversation_id=one.id)
    assert two.try_to("stream", otid=otid).status_code == 404
    assert two.try_to("stream", run_id=run["id"]).status_code == 404
    assert two.try_to("stream").status_code == 400


def test_deleting_a_conversation_stops_what_runs_in_it(talk: Talk) -> None:
    chat = Chat.begin(talk, talk.agent())
    with speaking(chat) as (response, _):
        run_id = running(chat)
        talk.ask("DELETE", chat.path())
        frames = read_frames(response.read())
    assert frames[-1].kind == "[DONE]"
    assert talk.get(f"/v1/runs/{run_id}")["status"] == "cancelled"


def _without_pings(content: bytes, *, keep_pings: bool = False) -> list[Frame]:
    return [frame for frame in read_frames(content) if keep_pings or frame.kind != "ping"]
