"""A sandbox at a chosen level, shared by many tests: its event loop runs in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx

from remanence.sandbox.call import Job, Outcome
from remanence.sandbox.runner import Sandbox, SandboxSettings

T = TypeVar("T")
LEVELS = ("namespaces", "landlock", "limits")
WAIT_S = 40


def sandbox_names(http: httpx.Client) -> dict[str, str]:
    """The ids of a configuration and of a variable in it, made if they are not there."""
    config = http.post("/v1/sandbox-config/local/default").json()["id"]
    path = f"/v1/sandbox-config/{config}/environment-variable"
    http.post(path, json={"key": "COLOUR", "value": "green"})
    return {"sandbox_config_id": config, "env_var_id": http.get(path).json()[0]["id"]}


class SharedSandbox:
    def __init__(self, folder: Path, settings: SandboxSettings, hidden: list[Path]) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.folder = folder
        self.level = settings.level
        self.sandbox = self.do(self._make(folder, settings, hidden))

    async def _make(self, folder: Path, settings: SandboxSettings, hidden: list[Path]) -> Sandbox:
        return Sandbox(folder, settings, hidden=hidden)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_S)

    def run(self, source: str, *, timeout_s: float | None = None, **options: Any) -> Outcome:
        job = Job("function", source=source, name="attack", **options)
        return self.do(self.sandbox.run(job, timeout_s=timeout_s))

    def close(self) -> None:
        self.do(self.sandbox.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()
