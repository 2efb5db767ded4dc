"""The whole server in a process of its own, to be started again, told to stop, or killed."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from letta_client import Letta
from tests.support.warm_server import Forked, warm_process

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 40
_COMMAND = Path(sys.executable).with_name("remanence")
# What a process needs to run at all; everything else would be the developer's own settings.
_KEPT = ("PATH", "PYTHONPATH", "LANG", "TMPDIR")


class ServerProcess:
    """`remanence server` on a free port of 127.0.0.1, with nothing of our own environment."""

    def __init__(
        self,
        database_url: str,
        folder: Path,
        *,
        model_url: str,
        settings: Mapping[str, str] | None = None,
        is_cold: bool = False,
    ) -> None:
        """`is_cold`: a start is a whole one, interpreter and imports included."""
        self.database_url = database_url
        self._is_cold = is_cold
        self._folder = folder
        self._environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": str(folder),
            "REMANENCE_DIR": str(folder),
            "REMANENCE_DATABASE_URL": database_url,
            "REMANENCE_LOCAL_MODEL": "off",
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": model_url,
            **(settings or {}),
        }
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def start(self) -> Self:
        """Returns once it answers; it may be started again after it has ended."""
        assert not self.is_running, "already started"
        self.port = free_port()
        self._process = self._launch(["server", "--port", str(self.port)])
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._is_healthy():
            if not self.is_running:
                raise RuntimeError(f"the server ended at its start:\n{self.log}")
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not come up:\n{self.log}")
            time.sleep(0.005)
        return self

    def _launch(self, arguments: list[str]) -> subprocess.Popen[bytes] | Forked:
        if not self._is_cold:
            return warm_process().start(arguments, self._environment, self._folder, self._log)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [str(_COMMAND), *arguments],
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """As a power cut would: nothing is said, nothing is tidied up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_TIMEOUT_S)

    def ask_to_stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit code."""
        assert self._process is not None
        return self._process.wait(STOP_TIMEOUT_S)

    def stop(self) -> int:
        self.ask_to_stop()
        return self.wait()

    def client(self, **options: Any) -> Letta:
        return Letta(base_url=self.base_url, api_key="none", max_retries=0, **options)

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/health/")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
