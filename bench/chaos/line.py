"""The clients' connection: a few requests over aiohttp, which tells a dead server from a refusal."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from bench.chaos.records import Body, Broken
from remanence.kit import json

Dead = (aiohttp.ClientError, ConnectionError, TimeoutError)
"""What a client sees of a server that was killed."""


class Refused(Exception):
    """The server said no, for a reason that the campaign knows of."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Line:
    def __init__(self, base_url: str, session: aiohttp.ClientSession) -> None:
        self._base = f"{base_url}/v1"
        self._session = session

    async def get(self, path: str, **query: Any) -> Any:
        async with self._session.get(self._base + path, params=query) as response:
            return _checked(response.status, await response.read(), path)

    async def post(self, path: str, body: Body | None = None, **query: Any) -> Any:
        async with self._session.post(self._base + path, json=body or {}, params=query) as response:
            return _checked(response.status, await response.read(), path)

    async def delete(self, path: str) -> Any:
        async with self._session.delete(self._base + path) as response:
            return _checked(response.status, await response.read(), path)

    async def stream(self, path: str, body: Body) -> AsyncGenerator[bytes]:
        """Whole frames, as they come. Raises Refused; ends where the stream does."""
        async with self._session.post(self._base + path, json=body) as response:
            if response.status >= 400:
                _checked(response.status, await response.read(), path)
            rest = b""
            async for chunk in response.content.iter_any():
                *frames, rest = (rest + chunk).split(b"\n\n")
                for frame in frames:
                    yield frame + b"\n\n"


@asynccontextmanager
async def open_line(base_url: str, *, timeout_s: float = 45) -> AsyncIterator[Line]:
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield Line(base_url, session)


def _checked(status: int, content: bytes, path: str) -> Any:
    body = json.decode(content) if content else None
    if status >= 500 or status == 422:
        raise Broken(f"{path} answered {status}: {content[:500]!r}")
    if status >= 400:
        raise Refused(status, body)
    return body
