"""Servers that are up at once: forked from a process that has loaded everything and opened nothing.

A whole start takes more than a second, of which nearly all is importing; hundreds of lives want it less.
Run as a program this is that process: each line on its input is a life to begin, with the fail point that it
is armed with from the first moment on, if any.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_KEPT = ("PATH", "PYTHONPATH", "LANG", "TMPDIR")
_POINT_FILE = "fail_point"


@dataclass(frozen=True)
class Life:
    pid: int
    base_url: str
    death: "asyncio.Task[None]"
    """Done when the process is."""
    folder: Path

    def kill(self) -> None:
        """As a power cut would: nothing is said, nothing is tidied up."""
        if not self.death.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def arm(self, point: str) -> None:
        (self.folder / _POINT_FILE).write_text(point)
        if not self.death.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR1)


class WarmServers:
    """Lives on one database, one after the other."""

    def __init__(self, database_url: str, folder: Path, *, model_url: str) -> None:
        self._folder = folder
        self._environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": str(folder),
            "REMANENCE_DIR": str(folder),
            "REMANENCE_DATABASE_URL": database_url,
            "REMANENCE_LOCAL_MODEL": "off",
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": model_url,
        }
        self._process: asyncio.subprocess.Process | None = None

    @property
    def log(self) -> Path:
        return self._folder / "server.log"

    async def open(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench.chaos.warm", str(self._folder)),
                cwd=_ROOT,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )

    async def start(self, point: str = "") -> Life:
        """It takes connections at once, and answers them when it is up."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.write(f"{point}\n".encode())
        pid, port = (await self._line()).split()
        death = asyncio.create_task(self._await_death())
        return Life(int(pid), f"http://127.0.0.1:{port}", death, self._folder)

    async def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()

    async def _await_death(self) -> None:
        await self._line()

    async def _line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        if not line:
            raise RuntimeError(f"the warm process is gone; see {self.log}")
        return line


def main() -> None:
    from remanence.cli import server  # noqa: F401 - loads all that a life needs

    for line in sys.stdin:
        door = socket.create_server(("127.0.0.1", 0), backlog=1024)
        pid = os.fork()
        if pid == 0:
            _live(door, line.strip())
        print(pid, door.getsockname()[1], flush=True)
        door.close()
        os.waitpid(pid, 0)
        print("dead", flush=True)


def _live(door: socket.socket, point: str) -> None:
    from remanence.cli.server import serve
    from remanence.kit import failpoints
    from remanence.settings import Settings

    os.dup2(2, 1)
    os.close(0)
    armed = Path(sys.argv[1], _POINT_FILE)
    signal.signal(signal.SIGUSR1, lambda *_: failpoints.arm(armed.read_text()))
    if point:
        failpoints.arm(point)
    try:
        serve(Settings(), [door])
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
