"""Short ways to talk in a conversation, or in an agent's own history under its other names."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

import httpx
from tests.support.script import Line
from tests.support.talks import Talk
from tests.support.wire import Frame, read_frames

from remanence.kit.json import JsonObject


class Chat:
    def __init__(self, talk: Talk, id: str, agent_id: str | None = None) -> None:
        self.talk = talk
        self.id = id
        self._named: JsonObject = {"agent_id": agent_id} if agent_id else {}

    @classmethod
    def begin(cls, talk: Talk, agent: JsonObject, **given: Any) -> Self:
        made = talk.ask("POST", "/v1/conversations/", params={"agent_id": agent["id"]}, json=given)
        return cls(talk, made["id"])

    @classmethod
    def own(cls, talk: Talk, agent: JsonObject) -> Self:
        """The agent's own history."""
        return cls(talk, "default", agent["id"])

    def path(self, rest: str = "") -> str:
        return f"/v1/conversations/{self.id}{rest}"

    def body(self) -> JsonObject:
        return self.talk.get(self.path())

    def stream(self, text: str, *lines: Line, **options: Any) -> list[Frame]:
        self.talk.model.script(*lines)
        with self.open(text, **options) as response:
            return read_frames(response.read())

    @contextmanager
    def open(self, text: str, **options: Any) -> Generator[httpx.Response]:
        body = {"input": text} | self._named | options
        if "messages" in options:
            del body["input"]
        with self.talk.http.stream("POST", self.path("/messages"), json=body) as response:
            assert response.status_code == 200, response.read()
            yield response

    def say(self, text: str, *lines: Line, **options: Any) -> JsonObject:
        """Waits for the whole answer."""
        self.talk.model.script(*lines)
        body = {"input": text, "streaming": False} | self._named | options
        return self.talk.ask("POST", self.path("/messages"), json=body)

    def try_to(self, what: str, **body: Any) -> httpx.Response:
        """The answer to a request that may fail."""
        return self.talk.http.post(self.path(f"/{what}"), json=self._named | body)

    def fork(self, **options: Any) -> "Chat":
        params = self._named | options
        return Chat(self.talk, self.talk.ask("POST", self.path("/fork"), params=params)["id"])

    def messages(self, **query: Any) -> list[JsonObject]:
        return self.talk.get(self.path("/messages"), **(self._named | {"order": "asc"} | query))

    def texts(self, **query: Any) -> list[str]:
        """What was said, without the system message."""
        return [text_of(each) for each in self.messages(**query) if each["message_type"] != "system_message"]


def text_of(message: JsonObject) -> str:
    match message["message_type"]:
        case "tool_call_message":
            return f"{message['tool_call']['name']}()"
        case "tool_return_message":
            return f"→ {message['status']}"
        case _:
            return message["content"]


def frame_kinds(frames: list[Frame]) -> list[str]:
    return [frame.kind for frame in frames]
