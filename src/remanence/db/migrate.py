"""Brings a database to the newest revision, at start or by command.

Alembic takes half a second to import, so it is loaded only when there is something to do.
"""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from remanence.kit.clock import utc_now

log = logging.getLogger(__name__)

_ADVISORY_LOCK = 0x52454D41
_VERSIONS = Path(__file__).parent / "migrations" / "versions"


def newest_revision() -> str:
    """Revisions are numbered, so the newest file is the head."""
    return max(path.stem.split("_")[0] for path in _VERSIONS.glob("[0-9]*.py"))


async def migrate(url: str, revision: str | None = None) -> bool:
    """Upgrades to the newest revision, or to this one, if needed; true if it did.

    Several processes may call this at once.
    """
    wanted = revision or newest_revision()
    if url.startswith("sqlite"):
        return await asyncio.to_thread(_migrate_sqlite, url, wanted)
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_migrate_postgres, wanted)
    finally:
        await engine.dispose()


def current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def upgrade(connection: Connection, revision: str = "head") -> None:
    _alembic(connection, "upgrade", revision)


def downgrade(connection: Connection, revision: str) -> None:
    _alembic(connection, "downgrade", revision)


def _alembic(connection: Connection, direction: str, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    getattr(command, direction)(config, revision)


def _migrate_sqlite(url: str, wanted: str) -> bool:
    path = Path(make_url(url).database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The driver would commit each change of the schema by itself, and half a migration cannot be run again.
    engine = create_engine(url, connect_args={"timeout": 60, "isolation_level": None})
    try:
        with _file_lock(path.with_name(path.name + ".migrate-lock")), engine.connect() as connection:
            current = current_revision(connection)
            _refuse_newer(current)
            if current is not None and current >= wanted:
                return False
            if current is not None:
                _copy_aside(connection, path, current)
            # Here and not when threads open it: the switch to WAL fails at once if another connection is busy.
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")  # tables are rebuilt to be altered
            connection.commit()
            with connection.begin():
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                upgrade(connection, wanted)
            return True
    finally:
        engine.dispose()


def _copy_aside(connection: Connection, path: Path, revision: str) -> None:
    copy = path.with_name(f"{path.name}.{revision}.{utc_now():%Y%m%d-%H%M%S}.backup")
    # The database's own way to copy itself, with what other processes still keep in the journal.
    connection.exec_driver_sql("VACUUM INTO ?", (str(copy),))
    connection.commit()
    log.info("copied the database aside to %s before migrating", copy)


@contextmanager
def _file_lock(path: Path) -> Generator[None]:
    import fcntl

    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _migrate_postgres(connection: Connection, wanted: str) -> bool:
    # The lock belongs to the session, so replicas that start together go through here one by one.
    connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
    connection.commit()
    try:
        current = current_revision(connection)
        connection.commit()
        _refuse_newer(current)
        if current is not None and current >= wanted:
            return False
        with connection.begin():
            upgrade(connection, wanted)
        return True
    finally:
        connection.rollback()
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _ADVISORY_LOCK})
        connection.commit()


def _refuse_newer(current: str | None) -> None:
    if current is not None and current > newest_revision():
        raise RuntimeError(
            f"This database is at revision {current}, newer than this server knows ({newest_revision()}). "
            "Run a newer server, or restore the copy that was made before the upgrade."
        )
