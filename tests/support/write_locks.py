"""Keeps a server from committing, so that it can be caught in the middle of a transaction."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from tests.support.waiting import until

_WAITING = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


class HeldWrites:
    """While it is held, admissions and checkpoints begin but cannot end."""

    def __init__(self, watcher: AsyncConnection | None) -> None:
        self._watcher = watcher

    async def someone_waits(self, timeout_s: float = 20) -> None:
        """Returns when a server stands before the lock. SQLite tells nobody who waits, so there it returns at once."""
        watcher = self._watcher
        if watcher is None:
            return

        async def is_waiting() -> bool:
            return (await watcher.execute(_WAITING)).scalar_one() > 0

        await until(is_waiting, timeout_s)


@asynccontextmanager
async def hold_writes(database_url: str) -> AsyncGenerator[HeldWrites]:
    if database_url.startswith("sqlite"):
        with closing(sqlite3.connect(make_url(database_url).database or "", isolation_level=None)) as holder:
            holder.execute("PRAGMA busy_timeout=10000")
            holder.execute("BEGIN IMMEDIATE")
            yield HeldWrites(None)
            holder.execute("ROLLBACK")
        return
    engine = create_async_engine(database_url)
    try:
        async with (
            engine.connect() as holder,
            engine.execution_options(isolation_level="AUTOCOMMIT").connect() as watcher,
        ):
            await holder.execute(text("LOCK TABLE leases IN SHARE ROW EXCLUSIVE MODE"))
            yield HeldWrites(watcher)
            await holder.rollback()
    finally:
        await engine.dispose()
