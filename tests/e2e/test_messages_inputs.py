"""What may be sent to an agent, and what is refused before its model is asked."""

from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot
from letta_client import APIStatusError
from tests.support.images import PIXEL, ImageServer
from tests.support.script import calls, says
from tests.support.talks import SDK_MARK, Talk, kinds, messages_path

from remanence.kit.json import JsonObject

HELLO = [{"role": "user", "content": "Hello"}]
BASE64_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def look_at(image: JsonObject) -> list[JsonObject]:
    return [{"role": "user", "content": [{"type": "text", "text": "Look:"}, image]}]


@pytest.mark.promise("send.sdk")
def test_the_sdk_sends_messages_and_reads_the_answer(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(calls("memory_insert", label="human", new_string="Likes figs."), says("Noted."))
    answer = talk.sdk.agents.messages.create(agent["id"], messages=[{"role": "user", "content": "Figs!"}])
    assert [message.message_type for message in answer.messages] == [
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
    ]
    assert answer.stop_reason.stop_reason == "end_turn"
    assert answer.usage.step_count == 2


@pytest.mark.promise("send.sdk")
def test_the_sdk_may_send_one_input_instead(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hello!"))
    answer = talk.sdk.agents.messages.create(agent["id"], input="Hi")
    assert [message.message_type for message in answer.messages] == ["assistant_message"]
    assert talk.model.last.last_user == "Hi"


@pytest.mark.promise("send.inputs")
def test_an_input_may_be_a_list_of_parts(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hello!"))
    parts = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    talk.ask("POST", messages_path(agent), json={"input": parts})
    assert talk.model.last.messages[-1] == {"role": "user", "content": "Hi\nthere"}


@pytest.mark.promise("send.inputs")
def test_each_input_keeps_the_otid_that_it_came_with(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hello!"))
    roles = ("system", "assistant", "user")
    inputs = [{"role": role, "content": role, "otid": f"otid-{role}"} for role in roles]
    talk.ask("POST", messages_path(agent), json={"messages": inputs})
    assert [m["otid"] for m in talk.history(agent)[1:4]] == [f"otid-{role}" for role in roles]


@pytest.mark.promise("send.inputs")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="neither"),
        pytest.param({"messages": HELLO, "input": "Hello"}, id="both"),
        pytest.param({"messages": []}, id="no messages"),
        pytest.param({"messages": [{"role": "robot", "content": "x"}]}, id="unknown role"),
        pytest.param({"messages": [{"role": "user"}]}, id="no content"),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "smell"}]}]}, id="unknown part"),
        pytest.param({"messages": HELLO, "max_steps": 0}, id="no steps"),
        pytest.param({"messages": HELLO, "include_return_message_types": ["x"]}, id="unknown type"),
        pytest.param({"messages": HELLO, "stream_tokens": True}, id="tokens without a stream"),
        pytest.param({"messages": HELLO, "include_pings": False}, id="pings without a stream"),
        pytest.param({"messages": HELLO, "background": True}, id="background without a stream"),
        pytest.param({"messages": HELLO, "streaming": True}, id="a stream for an older client"),
        pytest.param({"input": "a\x00b"}, id="NUL in a text"),
        pytest.param({"input": [{"type": "text", "text": "a\x00b"}]}, id="NUL in a part"),
        pytest.param({"messages": [{**HELLO[0], "name": "a\x00b"}]}, id="NUL in a name"),
        pytest.param({"messages": [{**HELLO[0], "otid": "a\x00b"}]}, id="NUL in an otid"),
        pytest.param({"messages": [{**HELLO[0], "sender_id": "a\x00b"}]}, id="NUL in a sender"),
    ],
)
def test_a_send_that_makes_no_sense_is_refused(talk: Talk, body: dict[str, Any]) -> None:
    agent = talk.agent()
    assert "detail" in talk.refuse(agent, 422, **body)
    assert kinds(talk.history(agent, include_err=True)) == ["system"]


@pytest.mark.promise("send.inputs")
def test_half_a_surrogate_pair_is_refused(talk: Talk) -> None:
    agent = talk.agent()
    body = b'{"messages": [{"role": "user", "content": "\\ud800"}]}'
    response = talk.http.post(
        messages_path(agent), content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == 422, response.text


@pytest.mark.promise("send.inputs")
def test_fields_that_are_not_known_are_ignored(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(
        agent, "Hi", says("Hello!"), stream=False, enable_thinking="true", client_skills=None, later=1
    )
    assert kinds(answer["messages"]) == ["assistant"]


@pytest.mark.promise("send.not-found")
def test_an_unknown_agent_is_not_found(talk: Talk) -> None:
    response = talk.http.post(
        "/v1/agents/agent-11111111-1111-4111-8111-111111111111/messages", json={"input": "Hi"}
    )
    assert response.status_code == 404
    assert response.json()["detail"].startswith("NOT_FOUND: ")


@pytest.mark.promise("send.not-found")
def test_an_agent_of_another_organisation_is_not_found(talk: Talk) -> None:
    agent = talk.agent()
    stranger = talk.tenant.house.new_tenant()
    for path in ("", "/stream", "/preview-raw-payload"):
        response = stranger.http.post(f"{messages_path(agent)}{path}", json={"input": "Hi"})
        assert response.status_code == 404
    assert stranger.http.get(messages_path(agent)).status_code == 404
    stranger.close()


@pytest.mark.promise("send.images")
def test_an_image_given_in_full_reaches_the_model(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("A dot."))
    talk.ask("POST", messages_path(agent), json={"messages": look_at(BASE64_IMAGE)})
    assert talk.model.last.messages[-1] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        ],
    }
    assert talk.history(agent)[1]["content"] == snapshot(
        [
            {"type": "text", "text": "Look:", "signature": None},
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
                    "detail": None,
                },
            },
        ]
    )


@pytest.mark.promise("send.images")
def test_a_linked_image_is_fetched_once_and_kept(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("A dot."), says("Still a dot."))
    with ImageServer() as images:
        link = {"type": "image", "source": {"type": "url", "url": f"{images.base_url}/dot.png"}}
        talk.ask("POST", messages_path(agent), json={"messages": look_at(link)})
    talk.say(agent, "And now?")
    shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert talk.model.journal[0].messages[1]["content"][1] == shown
    assert talk.model.journal[1].messages[1]["content"][1] == shown
    assert images.served == ["/dot.png"]


@pytest.mark.promise("send.images")
@pytest.mark.parametrize("path", ["/missing.png", "/page.html", "/elsewhere.png"])
def test_a_linked_image_that_cannot_be_had_is_refused(talk: Talk, path: str) -> None:
    agent = talk.agent()
    with ImageServer() as images:
        link = {"type": "image", "source": {"type": "url", "url": f"{images.base_url}{path}"}}
        body = talk.refuse(agent, 400, messages=look_at(link))
    assert body["detail"].startswith("INVALID_ARGUMENT: ")
    assert kinds(talk.history(agent, include_err=True)) == ["system"]


@pytest.mark.promise("send.images")
@pytest.mark.parametrize("url", ["file:///etc/hosts", "http://", "http://169.254.1.1/x.png", "nonsense"])
def test_images_are_fetched_from_web_addresses_only(talk: Talk, url: str) -> None:
    agent = talk.agent()
    link = {"type": "image", "source": {"type": "url", "url": url}}
    assert talk.refuse(agent, 400, messages=look_at(link))["detail"].startswith("INVALID_ARGUMENT: ")


@pytest.mark.promise("send.override-model")
def test_another_model_may_answer_one_message(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"), override_model="openai/gpt-4o")
    talk.say(agent, "Hi", says("Hello again!"))
    assert [seen.model for seen in talk.model.journal] == ["gpt-4o", "gpt-4o-mini"]
    assert talk.get(f"/v1/agents/{agent['id']}")["model"] == "openai/gpt-4o-mini"


@pytest.mark.promise("send.override-model")
@pytest.mark.parametrize(("handle", "status"), [("gpt-4o", 400), ("openai/no-such-model", 404)])
def test_an_override_that_names_no_model_is_refused(talk: Talk, handle: str, status: int) -> None:
    agent = talk.agent()
    assert "detail" in talk.refuse(agent, status, input="Hi", override_model=handle)


@pytest.mark.promise("send.override-system")
@pytest.mark.parametrize("name", ["override_system", "system"])
def test_another_system_prompt_may_hold_for_one_message(talk: Talk, name: str) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Ahoy!"), **{name: "You are a pirate."})
    talk.say(agent, "Hi", says("Hello!"))
    assert talk.model.journal[0].system == "You are a pirate."
    assert talk.model.journal[1].system == talk.history(agent)[0]["content"]


@pytest.mark.promise("send.streaming")
def test_streaming_over_the_plain_route_is_for_sdk_clients(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("Hello!"))
    response = talk.http.post(messages_path(agent), json={"input": "Hi", "streaming": True}, headers=SDK_MARK)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


@pytest.mark.promise("send.sdk")
def test_the_sdk_raises_the_status_of_a_refusal(talk: Talk) -> None:
    with pytest.raises(APIStatusError) as refused:
        talk.sdk.agents.messages.create("agent-11111111-1111-4111-8111-111111111111", input="Hi")
    assert refused.value.status_code == 404


@pytest.mark.promise("send.not-found")
def test_a_malformed_agent_id_is_refused_with_an_example(talk: Talk) -> None:
    response: httpx.Response = talk.http.post("/v1/agents/agent-1/messages", json={"input": "Hi"})
    assert response.status_code == 422
    assert response.json()["examples"] == snapshot(["agent-123e4567-e89b-42d3-8456-426614174000"])
