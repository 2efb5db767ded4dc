"""PostgreSQL: the same functions through `run_sync` on pooled asyncpg connections."""

import asyncio
import random
from typing import ParamSpec, TypeVar

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from remanence.db.database import Statement
from remanence.kit import json

P = ParamSpec("P")
T = TypeVar("T")

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
            connect_args={"server_settings": {"jit": "off"}, "prepared_statement_cache_size": 500},
        )
        self._snapshot = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

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
                    return await connection.run_sync(fn, *args, **kwargs)
            except DBAPIError as error:
                if attempt == MAX_TRIES - 1 or getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
                await asyncio.sleep(random.uniform(0.005, 0.02) * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def close(self) -> None:
        await self._engine.dispose()
