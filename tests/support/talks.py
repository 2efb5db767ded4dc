"""Short ways to talk to agents whose model is scripted, and to see what was said on the wire."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
from letta_client import Letta
from tests.support.script import Line
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import Tenant
from tests.support.wire import Frame, read_frames

from remanence.kit.json import JsonObject

HUMAN = {"label": "human", "value": "Name: Eve"}
PERSONA = {"label": "persona", "value": "I am calm."}
SDK_MARK = {"x-stainless-package-version": "1.12.1"}
"""What tells the published clients from all others."""


class Talk:
    def __init__(self, tenant: Tenant, model: ScriptedModel) -> None:
        self.tenant = tenant
        self.model = model
        self.sdk: Letta = tenant.sdk
        self.http: httpx.Client = tenant.http

    def agent(self, agent_type: str = "letta_v1_agent", **options: Any) -> JsonObject:
        given: JsonObject = {"agent_type": agent_type, "memory_blocks": [HUMAN, PERSONA], **options}
        return self.tenant.agent(**given)

    def ask(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of a request that must go well."""
        response = self.http.request(method, path, **request)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", path, params=query)

    def say(self, agent: JsonObject, text: str, *lines: Line, **options: Any) -> JsonObject:
        """Says something to the agent; these lines are what its model answers."""
        self.model.script(*lines)
        return self.ask("POST", messages_path(agent), json={"input": text, **options})

    def refuse(self, agent: JsonObject, status: int, *lines: Line, **body: Any) -> JsonObject:
        """The body of an answer to a send that must fail with this status."""
        self.model.script(*lines)
        response = self.http.post(messages_path(agent), json=body)
        assert response.status_code == status, response.text
        return response.json()

    def stream(self, agent: JsonObject, text: str, *lines: Line, **options: Any) -> list[Frame]:
        """The frames of a stream, from the first to the last."""
        self.model.script(*lines)
        with self.open_stream(agent, text, **options) as response:
            return read_frames(response.read())

    @contextmanager
    def open_stream(self, agent: JsonObject, text: str, **options: Any) -> Generator[httpx.Response]:
        path = f"{messages_path(agent)}/stream"
        with self.http.stream("POST", path, json={"input": text, **options}) as response:
            assert response.status_code == 200, response.read()
            yield response

    def history(self, agent: JsonObject, **query: Any) -> list[JsonObject]:
        return self.get(messages_path(agent), **query)

    def block(self, agent: JsonObject, label: str) -> str:
        return self.get(f"/v1/agents/{agent['id']}/core-memory/blocks/{label}")["value"]

    def run_of(self, answer: JsonObject) -> JsonObject:
        """The run that a blocking answer came from."""
        return self.get(f"/v1/runs/{answer['messages'][0]['run_id']}")


def messages_path(agent: JsonObject) -> str:
    return f"/v1/agents/{agent['id']}/messages"


def kinds(messages: list[JsonObject]) -> list[str]:
    """The types of messages without the word that all of them end in."""
    return [message["message_type"].removesuffix("_message") for message in messages]


def stop_reason(answer: JsonObject) -> str:
    return answer["stop_reason"]["stop_reason"]
