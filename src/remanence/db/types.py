"""Column types shared by both databases."""

from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import JSON, DateTime, Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC, with its zone. SQLite keeps no zone, so it is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def json_column() -> TypeEngine[Any]:
    """JSON, and not JSONB on PostgreSQL: that would reorder keys, and the order of a tool's parameters is
    what models read."""
    return JSON(none_as_null=True)


class ValidatedJson(TypeDecorator[Any]):
    """JSON that is a core type on both ends: dumped on the way in, validated on the way out."""

    impl = JSON
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        super().__init__(none_as_null=True)
        self.kind = kind
        self._adapter: TypeAdapter[Any] | None = None

    @property
    def adapter(self) -> TypeAdapter[Any]:
        # Built on first use: validators of large unions are slow to build and start-up is counted.
        if self._adapter is None:
            self._adapter = TypeAdapter(self.kind)
        return self._adapter

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else self.adapter.dump_python(value, mode="json", exclude_unset=False)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else self.adapter.validate_python(value)
