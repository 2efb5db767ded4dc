"""`Database`: one function, one transaction, whichever database is behind it."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

P = ParamSpec("P")
T = TypeVar("T")

Statement = Callable[Concatenate[Connection, P], T]
"""A plain function over a connection. It may run more than once, so it must not touch the outside."""


class Database(Protocol):
    """Nothing can be awaited inside a transaction, because its body is not asynchronous."""

    @property
    def is_sqlite(self) -> bool: ...

    @property
    def description(self) -> str:
        """For people: where the data is, without the password."""
        ...

    async def read(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `fn` on one snapshot of the data."""
        ...

    async def write(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `fn` and commits; returns once the commit is durable."""
        ...

    async def listen(self, channel: str, on_notice: Callable[[str], None]) -> None:
        """Calls back for what other processes announce with `dialect.notify`, as long as it is open."""
        ...

    async def close(self) -> None: ...


def open_database(url: str) -> Database:
    """The engine for a normalised URL: `sqlite:///path` or `postgresql+asyncpg://…`."""
    if url.startswith("sqlite"):
        from remanence.db.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    from remanence.db.postgres import PostgresDatabase

    return PostgresDatabase(url)
