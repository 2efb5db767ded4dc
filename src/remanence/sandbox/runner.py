"""The server's side of the sandbox: hands jobs to the zygote and gathers what comes of them.

A call always ends: with its outcome, at its time limit, when it is cancelled, or with the zygote itself. What a
tool prints is read up to a limit; one that prints without end is stopped. A few processes stand ready behind
their fences, so that a call need not wait for its own to be made; each is used once.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.sandbox import fence
from remanence.sandbox.call import PATH, Call, Ending, Job, OnCall, Outcome

Level = Literal["auto", "namespaces", "landlock", "limits"]

_ZYGOTE = Path(__file__).with_name("zygote.py")
_PROBE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from remanence.sandbox.levels import choose_level; "
    "print('\\n'.join(choose_level(sys.argv[2])))"
)
_MAX_CALLS = 64
_SPARES = 2
_START_TIMEOUT_S = 20
_END_TIMEOUT_S = 5


class SandboxUnavailable(Exception):
    """No code can be run here at all; the text says why."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    level: Level = "auto"
    has_network: bool = True
    timeout_s: float = 180
    memory_bytes: int = 1 << 30
    processes: int = 64
    open_files: int = 1024
    """Node opens all modules of a package at once."""
    file_bytes: int = 256 << 20


@dataclass(slots=True)
class _Zygote:
    process: subprocess.Popen[bytes]
    orders: socket.socket
    lifeline: int
    level: str
    reason: str
    ended: dict[int, Ending] = field(default_factory=dict[int, Ending])
    spares: list[Call] = field(default_factory=list[Call])
    """Made ahead, for calls with the usual limits; they wait for their job."""

    @property
    def keeps_spares(self) -> bool:
        """Not where the limits of a call depend on what else its user runs at that moment."""
        return self.level == "namespaces" or os.geteuid() == 0


class Sandbox:
    def __init__(self, folder: Path, settings: SandboxSettings, *, hidden: Sequence[Path] = ()) -> None:
        self._settings = settings
        self._environments = folder / "environments"
        self._hidden = hidden
        self._zygote: _Zygote | None = None
        self._starting = asyncio.Lock()
        self._free = asyncio.Semaphore(_MAX_CALLS)
        self._next_id = 0
        self._found: tuple[str, str] | None = None
        self._usual = self._order(Job("function"), settings.timeout_s)

    @property
    def environments(self) -> Path:
        return self._environments

    @property
    def settings(self) -> SandboxSettings:
        return self._settings

    async def find_level(self) -> tuple[str, str]:
        """The level in force, and why it is not a better one. Starts nothing that stays."""
        if self._zygote is not None:
            return self._zygote.level, self._zygote.reason
        if self._found is None:
            self._found = await asyncio.to_thread(_probe, self._settings.level)
        return self._found

    @property
    def zygote_pid(self) -> int | None:
        return self._zygote.process.pid if self._zygote is not None else None

    async def settle(self) -> None:
        """Waits until nothing is left of calls that have answered already."""
        if self._zygote is not None:
            spare = [call.ended for call in self._zygote.spares]
            if under_way := [ended for ended in self._zygote.ended.values() if ended not in spare]:
                await asyncio.wait(under_way)

    async def close(self) -> None:
        if self._zygote is not None:
            zygote, self._zygote = self._zygote, None
            self._forget(zygote)
            await asyncio.to_thread(_end, zygote.process)

    async def run(
        self, job: Job, *, timeout_s: float | None = None, on_call: OnCall | None = None
    ) -> Outcome:
        """Raises SandboxUnavailable; all else that goes wrong is an outcome."""
        limit_s = min(timeout_s or self._settings.timeout_s, self._settings.timeout_s)
        await self._free.acquire()
        try:
            zygote = await self._awake()
            call = self._begin(zygote, self._order(job, limit_s))
        except BaseException:
            self._free.release()
            raise
        call.ended.add_done_callback(lambda _: self._free.release())
        try:
            async with asyncio.timeout(limit_s):
                return await call.finish(job, on_call)
        except TimeoutError:
            text = f"It was stopped after {limit_s:g} seconds, the time a call may take."
            return Outcome(False, text, None, *call.printed())
        finally:
            call.close()
            asyncio.get_running_loop().call_soon(self._make_spares, zygote)

    def _begin(self, zygote: _Zygote, order: JsonObject) -> Call:
        if order == self._usual:
            while zygote.spares:
                call = zygote.spares.pop(0)
                if not call.ended.done():
                    return call
                call.close()
        return self._new_call(zygote, order)

    def _make_spares(self, zygote: _Zygote) -> None:
        """After a call, not before it, so that whoever waits for it does not wait for this too."""
        while zygote is self._zygote and zygote.keeps_spares and len(zygote.spares) < _SPARES:
            zygote.spares.append(self._new_call(zygote, self._usual))

    def _new_call(self, zygote: _Zygote, order: JsonObject) -> Call:
        self._next_id += 1
        return Call(self._next_id, order, zygote.orders, zygote.ended)

    def _order(self, job: Job, limit_s: float) -> JsonObject:
        settings = self._settings
        limits = fence.Limits(
            memory_bytes=settings.memory_bytes,
            cpu_s=max(1, round(limit_s)),
            processes=settings.processes,
            open_files=settings.open_files,
            file_bytes=settings.file_bytes,
            network=settings.has_network or bool(job.granted),
            bounds_address_space=job.kind != "program",
        )
        return {"limits": asdict(limits), "granted": [list(each) for each in job.granted]}

    async def _awake(self) -> _Zygote:
        async with self._starting:
            if self._zygote is None:
                self._environments.mkdir(parents=True, exist_ok=True)
                self._zygote = await self._start(self._settings.level)
            return self._zygote

    async def _start(self, level: str) -> _Zygote:
        setup = fence.Setup(
            level, [str(self._environments), *_program_folders()], [str(each) for each in self._hidden]
        )
        kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        held, lifeline = os.pipe()
        process = await asyncio.to_thread(_spawn, theirs.fileno(), held, asdict(setup))
        theirs.close()
        os.close(held)
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                hello: JsonObject = json.decode(await loop.sock_recv(ours, 65536) or b"{}")
        except (TimeoutError, OSError, ValueError):
            hello = {}
        zygote = _Zygote(process, ours, lifeline, hello.get("level", ""), hello.get("reason", ""))
        if "level" not in hello:
            self._forget(zygote)
            await asyncio.to_thread(_end, process)
            lower = {"namespaces": "landlock", "landlock": "limits"}.get(hello.get("failed", ""))
            if lower is None:
                raise SandboxUnavailable("The sandbox that runs tools could not be started on this machine.")
            found = await self._start(lower)
            found.reason = found.reason or str(hello.get("reason"))
            return found
        loop.add_reader(ours.fileno(), self._on_report, zygote)
        return zygote

    def _on_report(self, zygote: _Zygote) -> None:
        try:
            report = zygote.orders.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            report = b""
        if not report:  # it is gone, and every call with it
            if self._zygote is zygote:
                self._zygote = None
            self._forget(zygote)
            asyncio.get_running_loop().run_in_executor(None, _end, zygote.process)
            return
        told = json.decode(report)
        ended = zygote.ended.pop(told["done"], None)
        if ended is not None and not ended.done():
            ended.set_result(told["code"])

    def _forget(self, zygote: _Zygote) -> None:
        if zygote.orders.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(zygote.orders.fileno())
            zygote.orders.close()
            os.close(zygote.lifeline)
        for ended in zygote.ended.values():
            if not ended.done():
                ended.set_result(None)
        zygote.ended.clear()
        while zygote.spares:
            zygote.spares.pop().close()


def _spawn(orders: int, lifeline: int, setup: JsonObject) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-X",
            "utf8",
            str(_ZYGOTE),
            str(orders),
            str(lifeline),
            json.encode_text(setup),
        ],
        pass_fds=(orders, lifeline),
        env={"PATH": PATH, "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def _probe(level: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROBE, str(_ZYGOTE.parents[2]), level],
        env={"PATH": PATH},
        capture_output=True,
        timeout=_START_TIMEOUT_S,
        check=False,
    )
    found, _, reason = done.stdout.decode().strip().partition("\n")
    return (found, reason) if found else ("limits", "the probe failed")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _program_folders() -> list[str]:
    """Where node and the like live, if not in the system's own folders."""
    found: list[str] = []
    for name in ("node", "npm", "Rscript", "java"):
        path = shutil.which(name)
        if path is not None:
            home = Path(path).resolve().parents[1]
            if not str(home).startswith(("/usr", "/bin")) and home != Path("/"):
                found.append(str(home))
    return found
