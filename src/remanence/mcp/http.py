"""HTTP to MCP servers: bounded answers, and connections only to addresses that were judged.

Loaded on first use, for its libraries take long to load.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, cast

import httpcore2
import httpx2

from remanence.errors import McpUnavailable
from remanence.kit.addresses import Judge
from remanence.kit.outside import look_up

MAX_MESSAGE_BYTES = 16 * 2**20

MakeHttp = Callable[..., httpx2.AsyncClient]
"""As the SDK calls it: headers, a timeout, a way to sign in."""


def http_factory(allows: Judge) -> MakeHttp:
    """Clients that reach what is allowed, also where a server sends them on to, as for signing in."""

    def make(
        headers: dict[str, str] | None = None, timeout: Any = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=headers,
            timeout=timeout or httpx2.Timeout(30, read=300),
            auth=auth,
            transport=_Transport(allows),
            trust_env=False,
        )

    return make


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, allows: Judge) -> None:
        super().__init__(trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False), network_backend=_Network(allows)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Limited(response.stream)
        return response


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise McpUnavailable(f"It answered with more than {MAX_MESSAGE_BYTES} bytes.")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Network(httpcore2.AsyncNetworkBackend):
    """Looks a name up once and connects to what was judged: it may mean something else a moment later."""

    def __init__(self, allows: Judge) -> None:
        self._allows = allows
        self._inner = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            places = await look_up(host, port, allows=self._allows)
        except OSError as error:
            raise httpcore2.ConnectError(f"{host} is not known: {error.strerror}") from error
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for place in places:
            try:
                return await self._inner.connect_tcp(
                    place.address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure
