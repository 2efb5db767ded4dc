"""One call under way: what goes in, what is printed meanwhile, and what comes out."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from remanence.core.conform import as_object
from remanence.kit import json
from remanence.kit.json import JsonObject

OnCall = Callable[[str, JsonObject], Awaitable[tuple[bool, str]]]
"""Answers a call that the code makes to one of the agent's tools."""
Ending = asyncio.Future[int | None]
"""The exit code of a call; None if it is not known."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KEPT_BYTES = 256 * 1024
_DRAINED_BYTES = 16 * 1024 * 1024
_MAX_FRAME_BYTES = 16 * 1024 * 1024
_END_TIMEOUT_S = 5
_LAST_WORDS_S = 1


@dataclass(frozen=True, slots=True)
class Job:
    kind: Literal["function", "script", "program"]
    source: str = ""
    name: str = ""
    args: JsonObject = field(default_factory=dict[str, Any])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    paths: Sequence[str] = ()
    """Folders of installed packages."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Written into the scratch folder first."""
    argv: Sequence[str] = ()
    agent_state: JsonObject | None = None
    client: JsonObject | None = None
    tools: Sequence[str] = ()
    granted: Sequence[tuple[str, int]] = ()
    """Addresses and ports of this machine that the code may connect to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool
    text: str
    """What was returned, or why it failed."""
    value: Any = None
    stdout: str = ""
    stderr: str = ""


class Call:
    """One call under way."""

    def __init__(self, id: int, order: JsonObject, orders: socket.socket, endings: dict[int, Ending]) -> None:
        self._loop = asyncio.get_running_loop()
        self._orders = orders
        self._id = id
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self._too_much = self._loop.create_future()
        self._out = _Printed(self._loop, out, self._too_much)
        self._err = _Printed(self._loop, err, self._too_much)
        self.ended: Ending = self._loop.create_future()
        endings[id] = self.ended
        try:
            socket.send_fds(orders, [json.encode(order | {"start": id})], [theirs.fileno(), out_end, err_end])
        except OSError:
            self.ended.set_result(None)
        finally:
            theirs.close()
            os.close(out_end)
            os.close(err_end)

    async def finish(self, job: Job, on_call: OnCall | None) -> Outcome:
        talk = asyncio.ensure_future(self._talk(job, on_call))
        try:
            await asyncio.wait({talk, self._too_much, self.ended}, return_when=asyncio.FIRST_COMPLETED)
            if self._too_much.done():
                limit = _DRAINED_BYTES >> 20
                return Outcome(
                    False, f"It was stopped because it printed more than {limit} MiB.", None, *self.printed()
                )
            # What it still had to say is in the channel, unless somebody inside waits for an answer.
            told = await asyncio.wait_for(talk, _LAST_WORDS_S)
        except TimeoutError:
            told = None
        finally:
            talk.cancel()
        if told is None or not ("error" in told or "text" in told):
            return await self._without_outcome(job)
        if "error" in told:
            stderr = self._err.drain() + str(told.get("traceback") or "")
            return Outcome(False, str(told["error"]), None, self._out.drain(), stderr)
        return Outcome(True, str(told.get("text")), told.get("value"), *self.printed())

    async def _talk(self, job: Job, on_call: OnCall | None) -> JsonObject | None:
        """Sends the job and answers calls until there is an outcome; None if the other side ends without."""
        body = {
            key: getattr(job, key)
            for key in ("kind", "source", "name", "args", "agent_state", "client", "files")
        }
        body |= {key: list(getattr(job, key)) for key in ("paths", "argv", "tools")}
        try:
            await self._send(body | {"env": dict(job.env), "path": PATH})
            while True:
                frame = await self._receive()
                if frame is None or "call" not in frame:
                    return frame
                ok, text = (False, "No tools can be called here.")
                if on_call is not None:
                    ok, text = await on_call(str(frame["call"]), as_object(frame.get("args")))
                await self._send({"ok": ok, "text": text})
        except (OSError, ValueError):
            return None

    async def _send(self, value: JsonObject) -> None:
        data = json.encode(value)
        await self._loop.sock_sendall(self._channel, struct.pack("!I", len(data)) + data)

    async def _receive(self) -> JsonObject | None:
        head = await self._read(4)
        if head is None:
            return None
        (size,) = struct.unpack("!I", head)
        if size > _MAX_FRAME_BYTES:
            return {"error": f"It returned more than {_MAX_FRAME_BYTES >> 20} MiB.", "traceback": ""}
        body = await self._read(size)
        return as_object(json.decode(body)) if body is not None else None

    async def _read(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            more = await self._loop.sock_recv(self._channel, min(size - len(data), 1 << 18))
            if not more:
                return None
            data += more
        return bytes(data)

    async def _without_outcome(self, job: Job) -> Outcome:
        code: int | None = None
        with contextlib.suppress(TimeoutError):
            code = await asyncio.wait_for(asyncio.shield(self.ended), _END_TIMEOUT_S)
        stdout, stderr = self.printed()
        if job.kind == "program" and code == 0:
            return Outcome(True, stdout, stdout, stdout, stderr)
        return Outcome(False, _explain(code, stderr), None, stdout, stderr)

    def printed(self) -> tuple[str, str]:
        return self._out.drain(), self._err.drain()

    def close(self) -> None:
        """Whatever still runs of the call is ended; nobody waits for it."""
        for each in (self._out, self._err):
            each.close()
        self._channel.close()
        if not self._too_much.done():
            self._too_much.cancel()
        if not self.ended.done():
            with contextlib.suppress(OSError):
                self._orders.send(json.encode({"kill": self._id}))


class _Printed:
    """What one output has brought, up to a limit."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, handle: int, too_much: "asyncio.Future[None]"
    ) -> None:
        self._loop = loop
        self._handle = handle
        self._kept = bytearray()
        self._total = 0
        self._too_much = too_much
        os.set_blocking(handle, False)
        loop.add_reader(handle, self._on_more)

    def _on_more(self) -> None:
        if not self._take():
            self._loop.remove_reader(self._handle)

    def _take(self) -> bool:
        """Whether there may be more."""
        try:
            data = os.read(self._handle, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        room = _KEPT_BYTES - len(self._kept)
        if room > 0:
            self._kept += data[:room]
        self._total += len(data)
        if self._total > _DRAINED_BYTES and not self._too_much.done():
            self._too_much.set_result(None)
        return bool(data)

    def drain(self) -> str:
        """All that is there, with a note where it was cut."""
        if self._handle >= 0:
            before = -1
            while before != self._total and self._total <= _DRAINED_BYTES:
                before = self._total
                self._take()
        text = self._kept.decode("utf-8", "replace").replace("\x00", "\ufffd")
        cut = self._total - len(self._kept)
        return text if cut <= 0 else f"{text}\n[{cut} more bytes were printed and cut off.]"

    def close(self) -> None:
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1


def _explain(code: int | None, stderr: str) -> str:
    match code:
        case None:
            return "The sandbox ended in the middle of the call; what it has done so far is not known."
        case 137:
            return "It was killed: it used more processor time or memory than a call may."
        case 139 | 134 | 135 | 136 | 132:
            return "It crashed."
        case 70 | 71 if "could not be set up" in stderr:
            return stderr.strip().splitlines()[-1]
        case _:
            last = stderr.strip().splitlines()[-1:] or [""]
            return f"It ended with exit code {code} and without a return. {last[0]}".strip()
