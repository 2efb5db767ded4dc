"""The client side: keep-alive connections, and as little work per answer as possible."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

TOKEN = b'"message_type":"assistant_message"'


class Failed(Exception):
    """The server answered with an error."""


class Client:
    def __init__(self, base_url: str, session: aiohttp.ClientSession) -> None:
        self._base = f"{base_url}/v1"
        self._session = session

    async def get(self, path: str, **query: Any) -> Any:
        async with self._session.get(self._base + path, params=query) as response:
            return _checked(response.status, await response.read())

    async def fetch(self, path: str, **query: Any) -> bytes:
        """The answer as it came; to parse a long one would take longer than to make it."""
        async with self._session.get(self._base + path, params=query) as response:
            content = await response.read()
        if response.status >= 400:
            raise Failed(f"{response.status}: {content[:300]!r}")
        return content

    async def post(self, path: str, body: object) -> Any:
        return await self._send("POST", path, body)

    async def upload(self, path: str, name: str, data: bytes) -> Any:
        form = aiohttp.FormData()
        form.add_field("file", data, filename=name)
        async with self._session.post(self._base + path, data=form) as response:
            return _checked(response.status, await response.read())

    async def patch(self, path: str, body: object) -> Any:
        return await self._send("PATCH", path, body)

    async def _send(self, method: str, path: str, body: object) -> Any:
        headers = {"content-type": "application/json"}
        url = self._base + path
        async with self._session.request(method, url, data=orjson.dumps(body), headers=headers) as response:
            return _checked(response.status, await response.read())

    async def create_agent(self, model: str, **fields: Any) -> str:
        body = {
            "model": f"openai/{model}",
            "memory_blocks": [
                {"label": "human", "value": "Name: Eve."},
                {"label": "persona", "value": "I am calm and kind."},
            ],
            "tools": ["memory_rethink"],
            **fields,
        }
        return str((await self.post("/agents/", body))["id"])

    async def send(self, agent_id: str, text: str) -> Any:
        return await self.post(f"/agents/{agent_id}/messages", {"input": text})

    async def timed_send(self, agent_id: str, text: str) -> float:
        began = time.perf_counter()
        await self.send(agent_id, text)
        return time.perf_counter() - began

    async def first_bytes(self, path: str, body: object) -> bytes:
        """The beginning of a stream; the rest is left."""
        async with self._session.post(
            self._base + path, data=orjson.dumps(body), headers={"content-type": "application/json"}
        ) as response:
            return await response.content.readany()

    async def stream(self, agent_id: str, text: str, *, background: bool = False) -> tuple[float, int]:
        """Seconds to the first token, and how many tokens came."""
        began = time.perf_counter()
        first_s, tokens = 0.0, 0
        async with self._session.post(
            f"{self._base}/agents/{agent_id}/messages/stream",
            data=orjson.dumps({"input": text, "stream_tokens": True, "background": background}),
            headers={"content-type": "application/json"},
        ) as response:
            rest = b""
            while chunk := await response.content.readany():
                rest += chunk
                whole, found, rest = rest.rpartition(b"\n\n")
                if found and (count := whole.count(TOKEN)):
                    if not tokens:
                        first_s = time.perf_counter() - began
                    tokens += count
            if response.status != 200:
                raise Failed(f"{response.status}: {rest[:300]!r}")
        return first_s, tokens


def _checked(status: int, content: bytes) -> Any:
    if status >= 400:
        raise Failed(f"{status}: {content[:300]!r}")
    return orjson.loads(content)


@asynccontextmanager
async def open_client(base_url: str) -> AsyncGenerator[Client]:
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield Client(base_url, session)
