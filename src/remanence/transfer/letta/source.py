"""The tables of the retired server, as far as they are there: versions differ in what they have.

Nothing is taken for granted but names: a table or a column that is missing is empty, and one that nobody
here has heard of is not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import JSON, Connection, Text, cast, column, func, select, table, text
from sqlalchemy.types import NullType

from remanence.kit.json import JsonObject

Columns = Mapping[str, str]
"""Names, with the database's word for the type of each."""

_COLUMNS = text("""
SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns AS c
JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
""")
_BATCH = 500


@dataclass(slots=True)
class LettaTables:
    """Which tables there are. `select` reads from one, whichever of its names it has."""

    columns: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @classmethod
    def find(cls, connection: Connection) -> "LettaTables":
        found: dict[str, dict[str, str]] = {}
        for name, column_name, kind in connection.execute(_COLUMNS):
            found.setdefault(name, {})[column_name] = kind
        return cls(found)

    def has(self, name: str, *columns: str) -> bool:
        return all(each in self.columns.get(name, ()) for each in columns) and name in self.columns

    def count(self, connection: Connection, name: str) -> int:
        if name not in self.columns:
            return 0
        statement = select(func.count()).select_from(table(name))
        if "is_deleted" in self.columns[name]:
            statement = statement.where(column("is_deleted").is_not(True))
        return connection.scalar(statement) or 0

    def rows(
        self,
        connection: Connection,
        name: str,
        *,
        order: Sequence[str] = ("created_at", "id"),
        without: Sequence[str] = (),
        after: str | None = None,
        limit: int | None = None,
        **equal: str,
    ) -> Iterator[JsonObject]:
        """Rows that are not deleted and have these values, as plain dictionaries; `after` is an id."""
        known = {each: kind for each, kind in self.columns.get(name, {}).items() if each not in without}
        if not known or not equal.keys() <= known.keys():
            return
        wanted = [_readable(each, kind) for each, kind in known.items()]
        statement = select(*wanted).select_from(table(name))
        for key, value in equal.items():
            statement = statement.where(column(key) == value)
        if "is_deleted" in known:
            statement = statement.where(column("is_deleted").is_not(True))
        if after is not None:
            statement = statement.where(column("id", Text) > after)
        statement = statement.order_by(*(column(each, Text) for each in order if each in known)).limit(limit)
        for row in connection.execute(statement.execution_options(yield_per=_BATCH)):
            yield {name.lstrip("_"): value for name, value in row._mapping.items()}  # pyright: ignore[reportPrivateUsage] its public name


def _readable(name: str, kind: str) -> Any:
    if kind in ("json", "jsonb"):
        return column(name, JSON)
    if kind in ("USER-DEFINED", "ARRAY"):  # enumerations, vectors
        return cast(column(name), Text).label(name)
    return column(name, NullType)
