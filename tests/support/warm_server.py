"""Servers that are up at once: forked from a process that has loaded everything and opened nothing.

A whole start takes more than a second, of which nearly all is importing, and the tests that kill servers
start hundreds. Run as a program this is that process: each line on its input is a request, answered by one.
"""

import atexit
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from remanence.kit import json


class Forked:
    """A server's process, with what a test wants of `subprocess.Popen`."""

    def __init__(self, warm: "WarmProcess", pid: int) -> None:
        self._warm = warm
        self._code: int | None = None
        self.pid = pid

    def poll(self) -> int | None:
        if self._code is None:
            self._code = self._warm.ask({"poll": self.pid})
        return self._code

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("remanence server", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmProcess:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_server"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self._process.kill)

    def start(self, arguments: list[str], environment: Mapping[str, str], folder: Path, log: Path) -> Forked:
        request = {"arguments": arguments, "environment": dict(environment)}
        return Forked(self, self.ask(request | {"folder": str(folder), "log": str(log)}))

    def ask(self, request: dict[str, Any]) -> Any:
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.encode(request) + b"\n")
            self._process.stdin.flush()
            return json.decode(self._process.stdout.readline())


@cache
def warm_process() -> WarmProcess:
    """One for all tests of this process."""
    return WarmProcess()


def main() -> None:
    importlib.import_module("remanence.cli.server")  # loads all that a life needs

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    for line in sys.stdin:
        request = json.decode(line)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                answers.close()
                _live(**request)
        answers.write(json.encode(answer) + b"\n")


def _live(arguments: list[str], environment: dict[str, str], folder: str, log: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, place in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, place)
    from remanence.cli.main import main as command
    from remanence.kit import failpoints

    code = 1
    try:
        if point := os.environ.get(failpoints.VARIABLE):
            failpoints.arm(point)
        command(arguments)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
