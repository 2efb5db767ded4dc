"""When the model's provider fails or a reader leaves: what the client sees and what is kept."""

import time

import pytest
from inline_snapshot import snapshot
from letta_client import APIStatusError
from tests.support.flows import flow
from tests.support.script import Gate, Line, calls, fails, hangs_up, says, sends
from tests.support.talks import Talk, kinds, messages_path
from tests.support.wire import read_frames

from remanence.kit.json import JsonObject

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")
# A pause longer than the server waits for, so that it does not try again.
BUSY = fails(429, retry_after="60")

FAILURES: dict[str, tuple[tuple[Line, ...], int, str, str, str, str]] = {
    # what the provider does: the lines; then status, type and code when blocking; stop reason and type when streamed
    "400": ((fails(400),), 400, "llm_bad_request", "INVALID_ARGUMENT", "llm_api_error", "llm_error"),
    "401": (
        (fails(401),),
        401,
        "llm_authentication",
        "UNAUTHENTICATED",
        "llm_api_error",
        "llm_authentication",
    ),
    "402": (
        (fails(402),),
        402,
        "llm_insufficient_credits",
        "PAYMENT_REQUIRED",
        "insufficient_credits",
        "llm_error",
    ),
    "429": ((BUSY,), 429, "llm_rate_limit", "RATE_LIMIT_EXCEEDED", "llm_api_error", "llm_rate_limit"),
    "500": ((fails(500),) * 3, 500, "llm_error", "INTERNAL_SERVER_ERROR", "llm_api_error", "llm_error"),
    "504": ((fails(504),) * 3, 504, "llm_timeout", "TIMEOUT", "llm_api_error", "llm_timeout"),
    "nonsense": (
        (sends("data: <html>\n\n"),),
        500,
        "llm_error",
        "INTERNAL_SERVER_ERROR",
        "invalid_llm_response",
        "llm_error",
    ),
    "too long a prompt": (
        (fails(400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),),
        400,
        "llm_error",
        "CONTEXT_WINDOW_EXCEEDED",
        "context_window_overflow_in_system_prompt",
        "context_window_overflow_in_system_prompt",
    ),
}


def runs_of(talk: Talk, agent: JsonObject) -> list[JsonObject]:
    return talk.get("/v1/runs/", agent_id=agent["id"])


@pytest.mark.promise("send.provider-errors")
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failing_provider_is_told_by_status_and_type(
    talk: Talk, failure: tuple[tuple[Line, ...], int, str, str, str, str]
) -> None:
    lines, status, error_type, code, reason, _ = failure
    agent = talk.agent()
    body = talk.refuse(agent, status, *lines, input="Hello")
    assert list(body["error"]) == ["type", "message", "detail"]
    assert body["error"]["type"] == error_type
    assert body["error"]["detail"] == f"{code}: {body['error']['message']}"
    run = runs_of(talk, agent)[0]
    assert (run["status"], run["stop_reason"]) == ("failed", reason)
    assert run["metadata"]["error"] == body["error"]["detail"]


@pytest.mark.promise("streams.errors")
# Trying again takes its time, so that one of the two that are tried again must do here.
@pytest.mark.parametrize("name", [name for name in FAILURES if name != "500"])
def test_a_failing_provider_is_told_in_the_stream(talk: Talk, name: str) -> None:
    lines, _, _, code, reason, error_type = FAILURES[name]
    agent = talk.agent()
    assert flow(talk.stream(agent, "Hello", *lines)) == [
        "ping run-1",
        f"stop_reason {reason}",
        f"error run-1: {error_type} {code}",
        "[DONE]",
    ]


@pytest.mark.promise("streams.errors")
def test_without_pings_a_failure_has_the_same_frames(talk: Talk) -> None:
    agent = talk.agent()
    assert flow(talk.stream(agent, "Hello", fails(400), include_pings=False)) == snapshot(
        ["stop_reason llm_api_error", "error run-1: llm_error INVALID_ARGUMENT", "[DONE]"]
    )


@pytest.mark.promise("streams.errors")
def test_a_reply_that_breaks_off_in_the_middle_ends_the_stream_with_an_error(talk: Talk) -> None:
    agent = talk.agent()
    frames = talk.stream(agent, "Hello", says("one two three").cut(after=2), stream_tokens=True)
    assert flow(frames) == snapshot(
        [
            "ping run-1",
            "assistant message-1/0 step-1 run-1: one |two ",
            "stop_reason llm_api_error",
            "error run-1: llm_error INTERNAL_SERVER_ERROR",
            "[DONE]",
        ]
    )
    assert kinds(talk.history(agent)) == ["system"]


@pytest.mark.promise("send.provider-errors")
def test_a_provider_that_comes_back_in_time_is_not_noticed(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Hello", hangs_up(), fails(503), says("Hi!"))
    assert answer["messages"][0]["content"] == "Hi!"
    assert answer["usage"]["step_count"] == 1


@pytest.mark.promise("send.provider-errors")
def test_the_sdk_raises_a_failure_of_the_provider(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(fails(401), fails(400))
    with pytest.raises(APIStatusError) as refused:
        talk.sdk.agents.messages.create(agent["id"], input="Hello")
    assert refused.value.status_code == 401
    stream = talk.sdk.agents.messages.create(agent["id"], input="Hello", streaming=True)
    with pytest.raises(APIStatusError):
        list(stream)


@pytest.mark.promise("send.failed-input")
def test_the_input_of_a_failed_run_is_kept_but_is_no_part_of_the_conversation(talk: Talk) -> None:
    agent = talk.agent()
    talk.refuse(agent, 400, fails(400), input="Forget me")
    run = runs_of(talk, agent)[0]
    assert kinds(talk.history(agent)) == ["system"]
    kept = talk.history(agent, include_err=True)
    assert [(m["message_type"], m["is_err"]) for m in kept] == [
        ("system_message", None),
        ("user_message", True),
    ]
    assert kept[1]["content"] == "Forget me"
    assert [m["id"] for m in talk.get(f"/v1/runs/{run['id']}/messages")] == [kept[1]["id"]]
    assert talk.get(f"/v1/agents/{agent['id']}")["message_ids"] == [kept[0]["id"]]
    talk.say(agent, "Hello", says("Hi!"))
    assert [message["role"] for message in talk.model.last.messages] == ["system", "user"]


@pytest.mark.promise("send.failed-input")
def test_what_was_saved_before_a_failure_stands(talk: Talk) -> None:
    agent = talk.agent()
    talk.refuse(agent, 400, FIGS, fails(400), input="I like figs")
    assert kinds(talk.history(agent)) == ["system", "user", "tool_call", "tool_return"]
    assert talk.block(agent, "human") == "Name: Eve\nEve likes figs."
    steps = talk.get(f"/v1/runs/{runs_of(talk, agent)[0]['id']}/steps", order="asc")
    assert [(step["status"], step["stop_reason"], step["error_type"]) for step in steps] == snapshot(
        [("success", None, None), ("failed", "llm_api_error", "ProviderRefused")]
    )
    talk.say(agent, "Well?", says("Noted."))
    assert talk.model.last.roles == ["system", "user", "assistant", "tool", "user"]


@pytest.mark.promise("streams.left")
def test_a_reader_who_leaves_takes_the_run_along_and_the_next_send_works(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("one two three").paused(gate, after=1))
    with talk.open_stream(agent, "Count", stream_tokens=True) as response:
        chunks = response.iter_bytes()
        seen = next(chunks)
        while b"one " not in seen:
            seen += next(chunks)
    talk.model.last.hung_up.wait_sync()
    run = wait_for_end(talk, read_frames(seen)[0]["run_id"])
    assert (run["status"], run["stop_reason"]) == ("cancelled", "cancelled")
    gate.open()
    answer = talk.say(agent, "Hello again", says("Hi!"))
    assert answer["messages"][0]["content"] == "Hi!"


@pytest.mark.promise("streams.left")
def test_a_reader_who_leaves_before_the_first_word_takes_the_run_along(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("late").held(gate))
    with talk.open_stream(agent, "Hello") as response:
        chunks = response.iter_bytes()
        ping = next(chunks)
        gate.reached.wait_sync()
    talk.model.last.hung_up.wait_sync()
    assert wait_for_end(talk, read_frames(ping)[0]["run_id"])["status"] == "cancelled"
    gate.open()
    assert kinds(talk.history(agent)) == ["system"]
    assert kinds(talk.say(agent, "Hello again", says("Hi!"))["messages"]) == ["assistant"]


@pytest.mark.promise("send.in-turn")
def test_sends_to_one_agent_wait_for_each_other(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("one").held(gate))
    with talk.open_stream(agent, "First", stream_tokens=True) as first:
        gate.reached.wait_sync()
        talk.model.script(says("two"))
        with talk.open_stream(agent, "Second") as second:
            assert len(talk.model.journal) == 1
            gate.open()
            assert flow(read_frames(second.read()))[1] == "assistant message-1/0 step-1 run-1: two"
        first.read()
    assert [m["content"] for m in talk.history(agent)[1:]] == ["First", "one", "Second", "two"]


@pytest.mark.promise("send.in-turn")
def test_an_agent_deleted_in_the_middle_ends_its_run(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(FIGS.held(gate))
    with talk.open_stream(agent, "Figs!") as response:
        gate.reached.wait_sync()
        assert talk.http.delete(f"/v1/agents/{agent['id']}").status_code == 200
        gate.open()
        frames = read_frames(response.read())
    assert frames[-1].kind == "[DONE]"
    assert talk.http.post(messages_path(agent), json={"input": "Hi"}).status_code == 404


def wait_for_end(talk: Talk, run_id: str) -> JsonObject:
    deadline = time.monotonic() + 10
    while True:
        run = talk.get(f"/v1/runs/{run_id}")
        if run["status"] not in ("created", "running"):
            return run
        assert time.monotonic() < deadline, f"{run_id} does not end"
        time.sleep(0.01)
