"""PostgreSQL: the same functions through `run_sync` on pooled asyncpg connections."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from remanence.db.database import Statement
from remanence.kit import failpoints, json

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

POOL_SIZE = 20
MAX_TRIES = 6
_RETRYABLE = {"40001", "40P01"}
"""Serialisation failure and deadlock: the transaction did nothing and may be run again."""


class PostgresDatabase:
    def __init__(self, url: str) -> None:
        self._description = f"PostgreSQL {make_url(url).render_as_string(hide_password=True)}"
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=60,
            json_serializer=json.encode_text,
            json_deserializer=json.decode,
            query_cache_size=1500,
            # Graphs of vectors are searched on until enough is found that passes the filters.
            connect_args={
                "server_settings": {"jit": "off", "hnsw.iterative_scan": "relaxed_order"},
                "prepared_statement_cache_size": 500,
            },
        )
        self._snapshot = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

        self._listeners: list[asyncio.Task[None]] = []

    @property
    def is_sqlite(self) -> bool:
        return False

    @property
    def description(self) -> str:
        return self._description

    async def read(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._snapshot.begin() as connection:
            return await connection.run_sync(fn, *args, **kwargs)

    async def write(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(MAX_TRIES):
            try:
                async with self._engine.begin() as connection:
                    result = await connection.run_sync(fn, *args, **kwargs)
                    failpoints.reach(fn, "before")
                failpoints.reach(fn, "after")
                return result
            except DBAPIError as error:
                if attempt == MAX_TRIES - 1 or getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
                await asyncio.sleep(random.uniform(0.005, 0.02) * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def listen(self, channel: str, on_notice: Callable[[str], None]) -> None:
        self._listeners.append(asyncio.create_task(self._listen(channel, on_notice)))

    async def _listen(self, channel: str, on_notice: Callable[[str], None]) -> None:
        """Keeps one connection open for notices, and opens another when it is lost."""
        lost = asyncio.Event()

        def note_loss(_driver: object) -> None:
            lost.set()

        def pass_on(_driver: object, _pid: int, _channel: str, payload: object) -> None:
            on_notice(str(payload))

        while True:
            lost.clear()
            try:
                async with self._engine.connect() as connection:
                    raw = await connection.get_raw_connection()
                    driver: Any = raw.driver_connection
                    driver.add_termination_listener(note_loss)
                    await driver.add_listener(channel, pass_on)
                    await lost.wait()
            except (DBAPIError, OSError):
                log.warning("lost the connection for notices; trying again")
            await asyncio.sleep(1)

    async def close(self) -> None:
        for listener in self._listeners:
            listener.cancel()
        await asyncio.gather(*self._listeners, return_exceptions=True)
        await self._engine.dispose()
