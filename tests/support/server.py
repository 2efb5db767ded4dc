"""The whole server on a real socket, in a thread of the test's own process."""

import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from letta_client import Letta

from remanence.app import create_app
from remanence.settings import FixedSettings

START_TIMEOUT_S = 20


class RunningServer:
    def __init__(self, database_url: str, folder: Path, **settings: Any) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        settings = {"tool_client_url": self.base_url} | settings
        fixed = FixedSettings(dir=folder, database_url=database_url, local_model="off", **settings)
        self.database_url = database_url
        config = uvicorn.Config(
            create_app(fixed),
            log_config=None,
            access_log=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def start(self) -> "RunningServer":
        self._thread.start()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.005)
        # FastAPI builds its routes at the first request, and not so that two threads could do it at once.
        httpx.get(f"{self.base_url}/v1/nowhere")
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()

    def client(self, **options: Any) -> Letta:
        return Letta(base_url=self.base_url, api_key="none", max_retries=0, **options)
