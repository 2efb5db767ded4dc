"""The REST API over a plain asynchronous client, for tests that send much at once or see servers die."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

Body = dict[str, Any]


class Api:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def create_agent(self, **fields: Any) -> str:
        body = {
            "model": "openai/gpt-4o-mini",
            "memory_blocks": [{"label": "human", "value": "Name: Eve", "limit": 20_000}],
            **fields,
        }
        return (await self._json("POST", "/agents/", json=body))["id"]

    async def send(self, agent_id: str, text: str) -> Body:
        return await self._json("POST", f"/agents/{agent_id}/messages", json={"input": text})

    async def ask(self, agent_id: str, text: str) -> str:
        """What the agent says to this."""
        answer = await self.send(agent_id, text)
        return spoken(answer["messages"])

    async def stream(self, agent_id: str, text: str) -> str:
        """The whole stream, as text."""
        response = await self._client.post(
            f"/agents/{agent_id}/messages/stream", json={"input": text, "stream_tokens": True}
        )
        response.raise_for_status()
        return response.text

    async def history(self, agent_id: str, *, limit: int = 1000) -> list[Body]:
        """All messages after the system message, oldest first."""
        path = f"/agents/{agent_id}/messages"
        found: list[Body] = []
        after: dict[str, str] = {}
        while len(found) < limit:
            page: list[Body] = await self._json("GET", path, params={"limit": 100, "order": "asc", **after})
            found += page
            if not page:
                break
            after = {"after": page[-1]["id"]}
        return [message for message in found if message["message_type"] != "system_message"]

    async def runs(self, agent_id: str | None = None) -> list[Body]:
        """Oldest first."""
        chosen = {"agent_id": agent_id} if agent_id else {}
        return await self._json("GET", "/runs/", params={"limit": 1000, "order": "asc", **chosen})

    async def run_messages(self, run_id: str) -> list[Body]:
        return await self._json("GET", f"/runs/{run_id}/messages", params={"limit": 1000})

    async def block(self, agent_id: str, label: str) -> str:
        return (await self._json("GET", f"/agents/{agent_id}/core-memory/blocks/{label}"))["value"]

    async def get(self, path: str, **query: Any) -> Any:
        return await self._json("GET", path, params=query)

    async def post(self, path: str, body: Body) -> Any:
        return await self._json("POST", path, json=body)

    async def is_down(self) -> bool:
        try:
            await self._client.get("/health/")
        except httpx.TransportError:
            return True
        return False

    async def _json(self, method: str, path: str, **options: Any) -> Any:
        response = await self._client.request(method, path, **options)
        assert response.status_code < 400, f"{response.status_code}: {response.text}"
        return response.json()


@asynccontextmanager
async def open_api(base_url: str, *, timeout_s: float = 50) -> AsyncGenerator[Api]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"{base_url}/v1", timeout=timeout_s, limits=limits) as client:
        yield Api(client)


def spoken(messages: Sequence[Body]) -> str:
    return " ".join(each["content"] for each in messages if each["message_type"] == "assistant_message")


def assert_well_formed(history: Sequence[Body]) -> None:
    """Each call is followed at once by its return, and there is no return without a call."""
    awaited: list[str] = []
    for message in history:
        match message["message_type"]:
            case "tool_call_message":
                assert not awaited, f"calls {awaited} were never answered"
                awaited = [message["tool_call"]["tool_call_id"]]
            case "tool_return_message":
                assert awaited == [message["tool_call_id"]], f"{awaited} were called, {message} returned"
                awaited = []
            case "reasoning_message":
                pass
            case _:
                assert not awaited, f"{message} stands between a call and its return"
    assert not awaited, f"calls {awaited} were never answered"


def assert_takes_turns(prompt: Sequence[Body]) -> None:
    """What a provider would accept: every call with its return right behind it, in order."""
    awaited: list[str] = []
    for message in prompt:
        if awaited or message["role"] == "tool":
            assert message["role"] == "tool", f"{message} stands where {awaited} should be answered"
            assert message["tool_call_id"] in awaited, f"{message} answers no call"
            awaited.remove(message["tool_call_id"])
        else:
            awaited = [call["id"] for call in message.get("tool_calls") or ()]
    assert not awaited, f"calls {awaited} were never answered"
