"""Agents in the guise of models, spoken to with OpenAI's own client."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk
from tests.support.answers import INSERT, READ, SENSOR, gated_agent
from tests.support.images import PIXEL
from tests.support.script import Gate, calls, fails, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit.json import JsonObject

TOOLS: Any = [{"type": "function", "function": SENSOR}]


@pytest.fixture
def chat(talk: Talk) -> Iterator[OpenAI]:
    with OpenAI(
        base_url=f"{talk.tenant.house.server.base_url}/v1",
        api_key="none",
        max_retries=0,
        default_headers={"user_id": talk.tenant.actor.user_id},
    ) as client:
        yield client


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def heard(talk: Talk) -> list[Any]:
    """What people have said, as the model was last given it."""
    return [each["content"] for each in talk.model.last.messages if each["role"] == "user"]


@pytest.mark.promise("chat.answer")
@pytest.mark.parametrize("kind", ["letta_v1_agent", "memgpt_v2_agent"])
def test_an_agent_answers_as_a_model_and_remembers(talk: Talk, chat: OpenAI, kind: str) -> None:
    agent = talk.agent(kind)
    line = says("Hello Eve.") if kind == "letta_v1_agent" else calls("send_message", message="Hello Eve.")
    talk.model.script(line, line)
    history: list[Any] = [{"role": "system", "content": "Be a pirate."}, user("Hi"), user("there")]
    answer = chat.chat.completions.create(model=agent["id"], messages=history, temperature=0.1)
    choice = answer.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == (
        "assistant",
        "Hello Eve.",
        "stop",
    )
    assert (answer.object, answer.model) == ("chat.completion", "gpt-4o-mini")
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    run = talk.get("/v1/runs/", agent_id=agent["id"])[0]
    assert answer.id == f"chatcmpl-{run['id']}"
    again: list[Any] = [*history, {"role": "assistant", "content": "Hello Eve."}, user("And now?")]
    chat.chat.completions.create(model=agent["id"], messages=again)
    said = [each for each in heard(talk) if '"login"' not in str(each)]
    assert [text in str(each) for each, text in zip(said, ("Hi", "there", "And now?"), strict=True)] == [
        True
    ] * 3
    assert "pirate" not in str(talk.model.last.messages)


@pytest.mark.promise("chat.stream")
@pytest.mark.parametrize("kind", ["letta_v1_agent", "memgpt_v2_agent"])
def test_an_answer_is_streamed_by_tokens_with_its_usage(talk: Talk, chat: OpenAI, kind: str) -> None:
    agent = talk.agent(kind)
    gate = Gate()
    if kind == "letta_v1_agent":
        look = says("Let me see.") + calls("conversation_search", query="figs")
        talk.model.script(look.paused(gate), says("No figs today."))
        text = "Let me see.\n\nNo figs today."
    else:
        text = "No figs today, and none tomorrow either, as far as anybody knows."
        talk.model.script(calls("send_message", message=text))
    chunks: list[ChatCompletionChunk] = []
    for chunk in chat.chat.completions.create(
        model=agent["id"], messages=[user("Figs?")], stream=True, stream_options={"include_usage": True}
    ):
        chunks.append(chunk)
        gate.open()  # the model goes on once its first words have come through
    pieces = [chunk.choices[0].delta.content for chunk in chunks[:-2]]
    assert len(pieces) > (kind == "letta_v1_agent")  # the first call that must be made comes in one piece
    assert "".join(piece or "" for piece in pieces) == text
    assert [chunk.choices[0].delta.role for chunk in chunks[:2]] == ["assistant", None]
    assert (chunks[-2].choices[0].finish_reason, chunks[-2].choices[0].delta.content) == ("stop", None)
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens > 0
    assert {(chunk.id, chunk.object) for chunk in chunks} == {(chunks[0].id, "chat.completion.chunk")}


@pytest.mark.promise("chat.stream")
def test_a_stream_ends_with_done_and_tells_no_usage_unasked(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Yes."))
    body = {"model": agent["id"], "messages": [user("Well?")], "stream": True}
    answer = talk.http.post("/v1/chat/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("\n\ndata: [DONE]\n\n")
    assert "usage" not in answer.text


@pytest.mark.promise("chat.stream")
def test_a_reader_that_leaves_takes_the_run_along(talk: Talk, chat: OpenAI) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("One two three.").paused(gate))
    stream = chat.chat.completions.create(model=agent["id"], messages=[user("Count.")], stream=True)
    assert next(iter(stream)).choices[0].delta.content
    stream.close()

    def is_cancelled() -> bool:
        return talk.get("/v1/runs/", agent_id=agent["id"])[0]["status"] == "cancelled"

    until_sync(is_cancelled)
    gate.open()


@pytest.mark.promise("chat.names")
def test_an_agent_is_found_by_name_and_a_conversation_by_id(talk: Talk, chat: OpenAI) -> None:
    ada = talk.agent(name="ada")
    talk.model.script(says("Ada."), says("Aside."))
    assert (
        chat.chat.completions.create(model="ada", messages=[user("Who?")]).choices[0].message.content
        == "Ada."
    )
    aside = talk.ask("POST", "/v1/conversations/", params={"agent_id": ada["id"]}, json={})
    said = chat.chat.completions.create(model=aside["id"], messages=[user("Psst.")])
    assert said.choices[0].message.content == "Aside."
    listed = talk.get(f"/v1/conversations/{aside['id']}/messages")
    assert [each["content"] for each in listed if each["message_type"] == "user_message"] == ["Psst."]
    talk.agent(name="ada")
    with pytest.raises(openai.BadRequestError, match="several agents"):
        chat.chat.completions.create(model="ada", messages=[user("Who?")])


@pytest.mark.promise("chat.errors")
def test_errors_are_told_as_the_client_reads_them(talk: Talk, chat: OpenAI) -> None:
    agent = talk.agent()
    with pytest.raises(openai.NotFoundError) as missing:
        chat.chat.completions.create(model="nobody", messages=[user("Hi")])
    assert (missing.value.code, missing.value.type) == ("not_found", "invalid_request_error")
    last: JsonObject = {"role": "assistant", "content": "Bye."}
    wrong: list[tuple[Any, JsonObject]] = [
        ([], {}),
        ([user("Hi"), last], {}),
        ([user([{"type": "input_audio", "input_audio": {}}])], {}),
        ([user("Hi")], {"n": 2}),
        ([user("Hi"), last, {"role": "tool", "content": "x"}], {}),
    ]
    for messages, options in wrong:
        with pytest.raises(openai.BadRequestError):
            chat.chat.completions.create(model=agent["id"], messages=messages, **options)
    refused = talk.http.post("/v1/chat/completions", json={"model": agent["id"], "messages": []}).json()
    assert refused["detail"].startswith("INVALID_ARGUMENT")
    talk.model.script(
        fails(401, {"error": {"message": "bad key"}}), fails(401, {"error": {"message": "bad key"}})
    )
    with pytest.raises(openai.AuthenticationError, match="bad key"):
        chat.chat.completions.create(model=agent["id"], messages=[user("Hi")])
    with pytest.raises(openai.APIError, match="bad key") as failed:
        list(chat.chat.completions.create(model=agent["id"], messages=[user("Hi")], stream=True))
    assert failed.value.type == "llm_authentication"
    assert len(talk.get(f"/v1/agents/{agent['id']}/messages")) == 1


@pytest.mark.promise("chat.images")
def test_images_are_seen(talk: Talk, chat: OpenAI) -> None:
    agent = talk.agent()
    talk.model.script(says("A dot."))
    url = f"data:image/png;base64,{PIXEL}"
    parts: list[Any] = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    chat.chat.completions.create(model=agent["id"], messages=[user(parts)])
    assert url in str(heard(talk))


@pytest.mark.promise("chat.tools")
@pytest.mark.parametrize("streams", [False, True])
def test_tools_of_the_client_are_called_and_answered(talk: Talk, chat: OpenAI, streams: bool) -> None:
    agent = talk.agent()
    talk.model.script(READ, says("Mild."))
    messages: list[Any] = [user("How warm is the attic?")]
    call: JsonObject
    if streams:
        chunks = list(
            chat.chat.completions.create(model=agent["id"], messages=messages, tools=TOOLS, stream=True)
        )
        assert chunks[-1].choices[0].finish_reason == "tool_calls"
        deltas = chunks[-2].choices[0].delta.tool_calls or []
        call = deltas[0].model_dump(exclude={"index"})
    else:
        choice = chat.chat.completions.create(model=agent["id"], messages=messages, tools=TOOLS).choices[0]
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
        call = (choice.message.tool_calls or [])[0].model_dump()
    assert call["function"] == {"name": "read_sensor", "arguments": '{"room": "attic"}'}
    messages += [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "21 degrees"},
    ]
    answer = chat.chat.completions.create(model=agent["id"], messages=messages, tools=TOOLS)
    assert answer.choices[0].message.content == "Mild."
    assert "21 degrees" in str(talk.model.last.messages[-1])


@pytest.mark.promise("chat.errors")
def test_a_call_that_a_person_must_approve_is_an_error_that_says_so(talk: Talk, chat: OpenAI) -> None:
    agent = gated_agent(talk)
    talk.model.script(INSERT)
    for _ in range(2):
        with pytest.raises(openai.ConflictError) as waiting:
            chat.chat.completions.create(model=agent["id"], messages=[user("I like figs.")])
        assert waiting.value.code == "pending_approval"
