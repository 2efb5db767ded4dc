"""Any ASGI application on a real socket, in a thread of the test's own process."""

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

START_TIMEOUT_S = 20


@contextmanager
def reserve_port() -> Generator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


@contextmanager
def serve_in_thread(app: Any, listener: socket.socket | None = None) -> Generator[str]:
    """The base address while it is entered."""
    if listener is None:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + START_TIMEOUT_S
    while not server.started:
        assert thread.is_alive(), "the application ended at its start"
        assert time.monotonic() < deadline, "the application did not start in time"
        time.sleep(0.005)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(START_TIMEOUT_S)
