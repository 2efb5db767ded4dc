"""Open links to MCP servers, one per server and set of headers, shared by all who call."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, cast

from remanence.core.mcp import MAX_TOOLS, McpServer, McpTool
from remanence.core.message import Base64Image, ImagePart, ReturnPart, TextPart
from remanence.errors import McpUnavailable
from remanence.kit import json

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

    OpenClient = Callable[[McpServer], AbstractAsyncContextManager[Client]]

log = logging.getLogger(__name__)

_CONNECT_S = 15
_START_S = 60
"""For programs: `uvx` and `npx` fetch what they start when they start it for the first time."""
_LIST_S = 20
_IDLE_S = 120
"""A link that nobody used for so long is closed; a process behind it ends with it."""
_MAX_LINKS = 64


class McpResult:
    __slots__ = ("is_error", "parts", "text")

    def __init__(self, text: str, parts: tuple[ReturnPart, ...] | None, *, is_error: bool) -> None:
        self.text = text
        self.parts = parts
        """Given where there are images."""
        self.is_error = is_error


class McpLinks:
    def __init__(self, open_client: "OpenClient", *, connect_s: float | None = None) -> None:
        self._open_client = open_client
        self._connect_s = connect_s
        self._links: dict[str, _Link] = {}

    async def list_tools(self, server: McpServer) -> list[McpTool]:
        """Raises McpUnavailable."""
        async with self._use(server, _LIST_S) as client:
            found: list[McpTool] = []
            cursor: str | None = None
            while len(found) < MAX_TOOLS:
                page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                for tool in page.tools:
                    hints = tool.annotations
                    found.append(
                        McpTool(
                            name=tool.name,
                            description=tool.description or "",
                            input_schema=tool.input_schema,
                            is_idempotent=bool(hints and (hints.read_only_hint or hints.idempotent_hint)),
                        )
                    )
                cursor = page.next_cursor
                if cursor is None:
                    break
            return found[:MAX_TOOLS]

    async def call(
        self, server: McpServer, name: str, args: json.JsonObject, *, timeout_s: float
    ) -> McpResult:
        """Raises McpUnavailable; whether the call had its effect is then not known."""
        async with self._use(server, timeout_s) as client:
            return _result(await client.call_tool(name, args, read_timeout_seconds=timeout_s))

    def drop(self, server: McpServer) -> None:
        """Whoever calls next connects anew."""
        for key in [key for key in self._links if key.startswith(server.id)]:
            self._links.pop(key).end()

    async def close(self) -> None:
        links = list(self._links.values())
        self._links.clear()
        for link in links:
            link.end()
        if links:
            await asyncio.wait([link.task for link in links], timeout=10)

    @asynccontextmanager
    async def _use(self, server: McpServer, timeout_s: float) -> "AsyncGenerator[Client]":
        key = f"{server.id}|{hash(server.model_dump_json())}"
        link = self._links.get(key)
        if link is None or link.task.done():
            self._make_room()
            link = self._links[key] = _Link(self._open_client(server))
        name = server.server_name
        connect_s = self._connect_s or (_START_S if server.mcp_server_type == "stdio" else _CONNECT_S)
        try:
            async with asyncio.timeout(connect_s):
                client = await link.client()
            async with asyncio.timeout(timeout_s), link.used():
                yield client
        except TimeoutError as error:
            self._forget(key, link)
            raise McpUnavailable(f"The MCP server {name} did not answer in time.") from error
        except asyncio.CancelledError:
            if link.task.done() and not _is_being_cancelled():
                raise McpUnavailable(f"The MCP server {name} hung up.") from None
            raise
        except McpUnavailable:
            raise
        except Exception as error:  # the SDK lets through whatever its transports raise
            self._forget(key, link)
            raise McpUnavailable(f"The MCP server {name} cannot be used: {_reason(error)}") from error

    def _forget(self, key: str, link: "_Link") -> None:
        if self._links.get(key) is link:
            del self._links[key]
        link.end()

    def _make_room(self) -> None:
        for key in [key for key, link in self._links.items() if link.task.done()]:
            del self._links[key]
        while len(self._links) >= _MAX_LINKS:
            key = min(self._links, key=lambda key: self._links[key].used_at)
            self._links.pop(key).end()


class _Link:
    """One connection, opened and closed by a task of its own, as the SDK's scopes require."""

    def __init__(self, opening: "AbstractAsyncContextManager[Client]") -> None:
        self._loop = asyncio.get_running_loop()
        self._opening = opening
        self._ready: asyncio.Future[Client] = self._loop.create_future()
        self._is_over = asyncio.Event()
        self._users = 0
        self.used_at = self._loop.time()
        self.task = asyncio.create_task(self._live())

    async def client(self) -> "Client":
        return await asyncio.shield(self._ready)

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.used_at = self._loop.time()

    def end(self) -> None:
        self._is_over.set()
        if not self._ready.done():
            self.task.cancel()

    async def _live(self) -> None:
        try:
            async with self._opening as client:
                self._ready.set_result(client)
                while not self._is_over.is_set():
                    try:
                        async with asyncio.timeout(_IDLE_S):
                            await self._is_over.wait()
                    except TimeoutError:
                        if not self._users and self._loop.time() - self.used_at >= _IDLE_S:
                            return
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(McpUnavailable(f"It cannot be reached: {_reason(error)}"))
                self._ready.exception()  # so that nobody misses it, should nobody be there to hear it
            else:
                log.info("a link to an MCP server broke: %s", _reason(error))
            if isinstance(error, asyncio.CancelledError) and self._is_over.is_set():
                raise


def _is_being_cancelled() -> bool:
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


def _reason(error: BaseException) -> str:
    """The innermost cause: anyio wraps failures in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return (str(error) or type(error).__name__)[:500]


def _result(result: "CallToolResult") -> McpResult:
    parts: list[ReturnPart] = []
    for item in result.content:
        if item.type == "text":
            parts.append(TextPart(text=item.text))
        elif item.type == "image":
            parts.append(ImagePart(source=Base64Image(media_type=item.mime_type, data=item.data)))
        else:  # sounds, links and embedded files, as the text that describes them
            parts.append(TextPart(text=item.model_dump_json(by_alias=True, exclude_none=True)))
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    if not parts and result.structured_content is not None:
        text = json.readable(result.structured_content)
    has_images = any(isinstance(part, ImagePart) for part in parts)
    return McpResult(text, tuple(parts) if has_images else None, is_error=bool(result.is_error))
