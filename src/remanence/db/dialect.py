"""What differs between the two databases, named once."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, cast, exists, func, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute
from sqlalchemy.sql.dml import Insert

from remanence.kit import json


def insert(connection: Connection, table: type[DeclarativeBase]) -> "postgresql.Insert | sqlite.Insert":
    """An insert that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def written_moment(moment: datetime) -> str:
    """As SQLAlchemy writes it for SQLite."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def as_moment(found: str | datetime) -> datetime:
    """As it comes past SQLAlchemy, from either database."""
    return found if isinstance(found, datetime) else datetime.fromisoformat(found).replace(tzinfo=UTC)


def as_list(found: str | list[Any] | None) -> list[Any]:
    """The same for a list in JSON."""
    return json.decode(found) if isinstance(found, str) else found or []


def notify(connection: Connection, channel: str, payload: str) -> None:
    """Tells other processes, once the transaction commits. SQLite has nobody to tell."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload}
        )


def insert_missing(
    connection: Connection, table: type[DeclarativeBase], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Inserts the rows that are not there yet; the others stay as they are."""
    if rows:
        statement: Insert = insert(connection, table).on_conflict_do_nothing()
        connection.execute(statement, list(rows))


def checked(column: InstrumentedAttribute[Any]) -> ColumnElement[str]:
    """The column as something to be checked and not to be looked up by.

    SQLite takes any index for selective, and would rather read all that an organisation has than the
    few rows that are wanted.
    """
    return cast(column, String).concat("")


def byte_order(connection: Connection) -> str:
    """The collation that sorts text by its characters' numbers; PostgreSQL's default asks the locale."""
    return "C" if connection.dialect.name == "postgresql" else "BINARY"


def json_list_holds(
    connection: Connection, column: InstrumentedAttribute[Any], value: str
) -> ColumnElement[bool]:
    """Whether a JSON list in a column has this text among its items."""
    if connection.dialect.name == "postgresql":
        return cast(column, postgresql.JSONB).contains([value])
    items = func.json_each(column).table_valued("value")
    return exists().where(items.c.value == value)
