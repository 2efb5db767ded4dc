"""The calls of the source documents, word for word: people will paste them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta
from tests.support.databases import Databases
from tests.support.script import Line, calls, says
from tests.support.scripted_model import ScriptedModel, SeenRequest
from tests.support.server import RunningServer
from tests.support.talks import Talk, kinds

from remanence.kit import json
from remanence.kit.json import JsonObject

# The guide: what its curl calls send. The shell's way to write an apostrophe is undone.
CREATE = """{
"memory_blocks": [
{
"value": "The human's name is Bob the Builder.",
"label": "human"
},
{
"value": "My name is Sam, the all-knowing sentient AI.",
"label": "persona"
}
],
"model": "openai/gpt-4o-mini",
"context_window_limit": 16000,
"embedding": "openai/text-embedding-3-small"
}"""
MESSAGE = """{
"messages": [
{
"role": "user",
"content": "hows it going????"
}
]
}"""

# The notes: an agent on DeepSeek, given in full. The address is the scripted model's, so that nobody
# outside is asked: by a setting of the server, or written into the body.
CREATE_DEEPSEEK = """{
    "llm_config": {
        "model": "deepseek-chat",
        "model_endpoint_type": "deepseek",
        "context_window": 16384,
        "model_endpoint": "https://api.deepseek.com/v1",
        "put_inner_thoughts_in_kwargs": true
    },
    "embedding_config": {
        "embedding_model": "glm-4.6",
        "embedding_endpoint_type": "ollama",
        "embedding_dim": 1024
    },
    "memory_blocks": [
        {
            "label": "human",
            "value": "我叫小明，是产品经理"
        },
        {
            "label": "persona",
            "value": "你是 Letta，我的智能助理"
        }
    ]
}"""
RENAME = """{
    "messages": [
        {
            "role": "user",
            "content": "我不叫小明，我叫阿里巴巴"
        }
    ],
    "stream": false
}"""
JSON = {"content-type": "application/json", "user-agent": "curl/8.5.0"}


@pytest.fixture
def curl(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, headers=JSON, timeout=20, follow_redirects=True) as client:
        yield client


@pytest.fixture
def server(databases: Databases, tmp_path: Path, model: ScriptedModel) -> Iterator[RunningServer]:
    running = RunningServer(
        databases.fresh(),
        tmp_path,
        openai_api_key="sk-test",
        openai_base_url=model.base_url,
        deepseek_api_key="sk-deepseek",
        deepseek_base_url=model.base_url,
    ).start()
    yield running
    running.stop()


@pytest.mark.promise("clients.guide")
def test_the_guide_with_curl(curl: httpx.Client, model: ScriptedModel) -> None:
    created = curl.post("/v1/agents/", content=CREATE)
    assert created.status_code == 200
    agent = created.json()
    assert re.fullmatch(r"agent-[0-9a-f-]{36}", agent["id"])
    assert re.fullmatch(r"([A-Z][a-z]+){2}", agent["name"])
    assert {block["label"]: block["value"] for block in agent["blocks"]} == {
        "human": "The human's name is Bob the Builder.",
        "persona": "My name is Sam, the all-knowing sentient AI.",
    }
    assert agent["llm_config"]["context_window"] == 16000
    assert agent["embedding"] == "openai/text-embedding-3-small"

    model.script(says("It is going well, Bob!"))
    answer = curl.post(f"/v1/agents/{agent['id']}/messages", content=MESSAGE)
    assert answer.status_code == 200
    assert [message["message_type"] for message in answer.json()["messages"]] == ["assistant_message"]
    assert answer.json()["usage"]["total_tokens"] > 0
    assert "Bob the Builder" in model.last.system

    assert curl.get(f"/v1/agents/{agent['id']}").json()["name"] == agent["name"]
    assert [each["id"] for each in curl.get("/v1/agents/").json()] == [agent["id"]]
    assert curl.delete(f"/v1/agents/{agent['id']}").status_code == 200
    assert curl.get(f"/v1/agents/{agent['id']}").status_code == 404
    assert curl.get("/v1/agents/").json() == []
    model.verify()


@pytest.mark.promise("clients.guide")
def test_the_guide_in_python(server: RunningServer, model: ScriptedModel) -> None:
    model.script(says("It is going well, Bob!"))
    base_url = server.base_url

    # create a client to connect to your local Letta server
    client = Letta(base_url=base_url)

    # create an agent with two basic self-editing memory blocks
    agent_state = client.agents.create(
        memory_blocks=[
            {"label": "human", "value": "The human's name is Bob the Builder."},
            {"label": "persona", "value": "My name is Sam, the all-knowing sentient AI."},
        ],
        model="openai/gpt-4o-mini",
        context_window_limit=16000,
        embedding="openai/text-embedding-3-small",
    )

    # send a message to the agent
    response = client.agents.messages.create(
        agent_id=agent_state.id, messages=[{"role": "user", "content": "hows it going????"}]
    )
    assert response.usage.step_count == 1
    said: list[Any] = list(response.messages)
    assert [message.content for message in said] == ["It is going well, Bob!"]

    assert client.agents.retrieve(agent_state.id).id == agent_state.id
    assert [each.id for each in client.agents.list()] == [agent_state.id]
    client.agents.delete(agent_state.id)
    assert list(client.agents.list()) == []
    client.close()
    model.verify()


@pytest.mark.promise("clients.notes")
@pytest.mark.parametrize("agent_type", [None, "memgpt_v2_agent"])
@pytest.mark.parametrize("is_moved", [False, True], ids=["by setting", "by configuration"])
def test_the_notes_a_name_is_corrected_in_the_human_block(
    curl: httpx.Client, model: ScriptedModel, agent_type: str | None, is_moved: bool
) -> None:
    body: JsonObject = json.decode(CREATE_DEEPSEEK)
    if is_moved:
        body["llm_config"]["model_endpoint"] = model.base_url
    if agent_type is not None:  # the agent that the notes print is of this kind
        body["agent_type"] = agent_type
    created = curl.post("/v1/agents", json=body)
    assert created.status_code == 200, created.text
    agent = created.json()
    assert agent["llm_config"]["model"] == "deepseek-chat"
    assert agent["llm_config"]["context_window"] == 16384
    assert agent["embedding_config"]["embedding_dim"] == 1024

    model.responder = rename_when_told
    answer = curl.post(f"/v1/agents/{agent['id']}/messages", content=RENAME.encode())
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"  # `stream` is nothing that we know
    spoken = [m for m in answer.json()["messages"] if m["message_type"] == "assistant_message"]
    assert [message["content"] for message in spoken] == ["好的，阿里巴巴！"]
    block = curl.get(f"/v1/agents/{agent['id']}/core-memory/blocks/human").json()
    assert block["value"] == "我叫阿里巴巴，是产品经理"
    assert model.last.model == "deepseek-chat"
    assert model.last.headers["Authorization"] == "Bearer sk-deepseek"


def rename_when_told(seen: SeenRequest) -> Line:
    """What a sensible model does: it mends its memory, then it answers in the way it is offered."""
    if not any(each.message.startswith("我叫阿里巴巴") for each in seen.tool_returns):
        assert seen.last_user == "我不叫小明，我叫阿里巴巴"
        edit = {"label": "human", "old_string": "我叫小明", "new_string": "我叫阿里巴巴"}
        return calls("memory_replace", **edit)
    if "send_message" in seen.tool_names:
        return calls("send_message", thinking="他改了名字。", message="好的，阿里巴巴！")
    return says("好的，阿里巴巴！")


@pytest.mark.promise("clients.notes")
def test_a_configuration_in_full_needs_no_provider_in_the_settings(talk: Talk) -> None:
    body: JsonObject = json.decode(CREATE_DEEPSEEK)
    body["llm_config"]["model_endpoint"] = talk.model.base_url
    agent = talk.ask("POST", "/v1/agents/", json=body)
    assert kinds(talk.say(agent, "你好", says("你好！"))["messages"]) == ["assistant"]
    assert "Authorization" not in talk.model.last.headers  # the key of another provider stays at home
