"""Running the app under uvicorn: one calm block when it is up, a drained exit when it is told to stop."""

import asyncio
import gc
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from rich.console import Console
from rich.table import Table
from rich.text import Text
from uvicorn.supervisors import ChangeReload

import remanence
from remanence.app import create_app
from remanence.kit.logging import set_up_logging
from remanence.settings import Settings

# How much longer than runs other requests in flight may take to finish once we were told to stop.
_GRACE_S = 5
# Longer than clients keep idle connections, so that it is they who close first and no request is lost.
KEEP_ALIVE_S = 75
# A message makes some thousands of objects and hardly a cycle among them.
_GARBAGE_OBJECTS = 20_000


def serve(settings: Settings, sockets: list[socket.socket] | None = None) -> int:
    """Serve until told to stop; returns the exit code."""
    set_up_logging(settings.log_level, settings.log_format)
    with _stopping_is_success():
        app = create_app(settings)
        AnnouncingServer(_config(app, settings), app, settings).run(sockets)
    return 0


def serve_reloading(settings: Settings) -> int:
    """The same in a child process, which is restarted when the source changes."""
    set_up_logging(settings.log_level, settings.log_format)
    # The app is only ever built in the child; here the name merely says that it can be built anew.
    config = _config("remanence.app:create_app", settings, is_reloading=True)
    ChangeReload(config, target=partial(_serve_child, settings), sockets=[config.bind_socket()]).run()
    return 0


def _serve_child(settings: Settings, sockets: list[socket.socket] | None = None) -> None:
    serve(settings, sockets)


def _config(app: FastAPI | str, settings: Settings, is_reloading: bool = False) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="auto",  # uvloop, where it exists
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        reload=is_reloading,
        reload_dirs=[str(Path(remanence.__file__).parent)] if is_reloading else None,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(settings.drain_s + _GRACE_S),
    )


class AnnouncingServer(uvicorn.Server):
    """Says where it listens and what it runs on, once requests are accepted."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, settings: Settings) -> None:
        super().__init__(config)
        self._app = app
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        rows = [("URL", _url(self._settings.host, port)), *self._app.state.banner]
        if self._settings.password is not None and self._settings.password_was_made:
            rows.append(("Password", self._settings.password.get_secret_value()))
        _print_banner(rows)
        _watch_garbage()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams are waited for, and a run may go on for longer than that: it must end before they are cut.
        draining = asyncio.create_task(self._app.state.drain())
        await super().shutdown(sockets)
        await draining


def _watch_garbage() -> None:
    """From now on. What the start has made stays for good, and need not be looked through again and again."""
    gc.freeze()
    gc.set_threshold(_GARBAGE_OBJECTS, 20, 20)
    gc.enable()


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_banner(rows: list[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    console = Console(stderr=True, highlight=False)
    console.print()
    console.print(Text.assemble(("Remanence", "bold"), f" {remanence.__version__}"))
    console.print(table)
    console.print()


@contextmanager
def _stopping_is_success() -> Generator[None]:
    """SIGTERM and Ctrl+C end the process with code 0.

    uvicorn drains, and then raises the signal again under the handler it found; that one is ours.
    """

    def leave(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
