"""The ways to an MCP server, each bounded: a server's output is not to fill this process's memory."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from remanence.core.mcp import McpServer
from remanence.errors import McpUnavailable
from remanence.kit.addresses import Judge

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client._transport import TransportStreams

_MAX_LINE_BYTES = 16 * 2**20
_MAX_COMPLAINT_BYTES = 400
_GRACE_S = 2
_LAST_WORDS_S = 0.2
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL", "TERM")
"""All that a server's process sees of our environment: no keys are among it."""


def open_client(
    server: McpServer, auth: "httpx2.Auth | None" = None, *, allows: Judge
) -> "AbstractAsyncContextManager[Client]":
    """A client that is connected while it is entered. The SDK is loaded here, on first use."""
    from mcp import Client

    transport = _stdio(server) if server.mcp_server_type == "stdio" else _over_http(server, auth, allows)
    # The handshake that every server knows: probing for newer ones costs older servers an error.
    return Client(transport, mode="legacy")


def _over_http(
    server: McpServer, auth: "httpx2.Auth | None", allows: Judge
) -> "AbstractAsyncContextManager[TransportStreams]":
    from remanence.mcp.http import http_factory

    make_http, url = http_factory(allows), server.server_url or ""
    if server.mcp_server_type == "streamable_http":
        return _streamable(url, make_http(server.headers, auth=auth))
    from mcp.client.sse import sse_client

    return sse_client(url, headers=server.headers, auth=auth, httpx_client_factory=make_http)


@asynccontextmanager
async def _streamable(url: str, http: "httpx2.AsyncClient") -> "AsyncGenerator[TransportStreams]":
    from mcp.client.streamable_http import streamable_http_client

    from remanence.mcp.http import MAX_MESSAGE_BYTES

    async with (
        http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


@asynccontextmanager
async def _stdio(server: McpServer) -> "AsyncGenerator[TransportStreams]":
    """A process that is asked to end, then made to, with all that it has started."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCMessage
    from pydantic import TypeAdapter, ValidationError

    command = shutil.which(server.command or "") or server.command or ""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        command,
        *server.args,
        env=environment | (server.env or {}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_MAX_LINE_BYTES,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    complaint = bytearray()
    told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, saying = anyio.create_memory_object_stream[SessionMessage](0)
    message_type: TypeAdapter[JSONRPCMessage] = TypeAdapter(JSONRPCMessage)

    async def read() -> None:
        async with told:
            with suppress(ValueError, OSError, anyio.BrokenResourceError):  # a line beyond the limit ends it
                while line := await stdout.readline():
                    with suppress(ValidationError):  # servers print all sorts of things
                        await told.send(SessionMessage(message_type.validate_json(line, by_name=False)))

    async def write() -> None:
        async with saying:
            with suppress(OSError):
                async for message in saying:
                    body = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(body.encode() + b"\n")
                    await stdin.drain()

    async def listen() -> None:
        while part := await stderr.read(4096):
            complaint.extend(part)
            del complaint[:-_MAX_COMPLAINT_BYTES]

    tasks = [asyncio.create_task(work()) for work in (read, write, listen)]
    try:
        yield heard, said
    except Exception as error:
        with suppress(TimeoutError):  # what it has to say about it may still be on its way
            await asyncio.wait_for(asyncio.shield(tasks[2]), _LAST_WORDS_S)
        if complaint:
            raise McpUnavailable(f"it ended, and printed: {complaint.decode('utf-8', 'replace')}") from error
        raise
    finally:
        for task in tasks:
            task.cancel()
        heard.close()
        said.close()
        stdin.close()
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    for order in (None, signal.SIGTERM, signal.SIGKILL):
        if order is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, order)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S if order is None else _GRACE_S / 2):
                await process.wait()
                break
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it has started may have outlived it
