"""Cursor paging in SQL, the same for every list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from remanence.core.page import Page
from remanence.errors import NotFound

Column = InstrumentedAttribute[Any] | ColumnElement[Any]


def fetch_page(
    connection: Connection,
    statement: Select[*tuple[Any, ...]],
    page: Page,
    *,
    key: Column,
    id_column: Column,
    scope: Sequence[ColumnElement[bool]] = (),
    nulls_last: bool = False,
) -> list[Row[*tuple[Any, ...]]]:
    """The rows of `statement` on this page, in the order asked for.

    `key` is what is sorted by, `id_column` breaks ties and is what cursors name. A cursor must lie in
    `scope` (the organisation, the agent). With `nulls_last`, rows without a key come last in either order.
    Raises NotFound for a cursor that does not exist.
    """
    is_descending = page.order == "desc"
    if page.after is not None:
        cursor = _find_cursor(connection, page.after, key, id_column, scope)
        statement = statement.where(cursor.beyond(is_descending, nulls_follow=nulls_last))
    if page.before is not None:
        cursor = _find_cursor(connection, page.before, key, id_column, scope)
        statement = statement.where(cursor.beyond(not is_descending, nulls_follow=False))
    # Going back from a cursor means the nearest rows before it, so they are read backwards and turned.
    is_backwards = page.before is not None and page.after is None and not page.takes_first
    descending = is_descending != is_backwards
    order = [key.desc() if descending else key.asc(), id_column.desc() if descending else id_column.asc()]
    if nulls_last:
        order.insert(0, key.is_(None).desc() if is_backwards else key.is_(None).asc())
    statement = statement.order_by(*order)
    if page.limit is not None:
        statement = statement.limit(page.limit)
    rows = list(connection.execute(statement).all())
    return rows[::-1] if is_backwards else rows


@dataclass(frozen=True)
class _Cursor:
    """A row to start from: its id, and its value of what is sorted by."""

    id: str
    value: Any
    key: Column
    id_column: Column

    def beyond(self, is_descending: bool, *, nulls_follow: bool) -> ColumnElement[bool]:
        """The rows past it in this direction; `nulls_follow` if those without a value are the last of them."""
        tied = self.id_column < self.id if is_descending else self.id_column > self.id
        if self.value is None:
            rest = and_(self.key.is_(None), tied)
            return rest if nulls_follow else or_(self.key.is_not(None), rest)
        later = self.key < self.value if is_descending else self.key > self.value
        found = or_(later, and_(self.key == self.value, tied))
        return or_(found, self.key.is_(None)) if nulls_follow else found


def _find_cursor(
    connection: Connection, id: str, key: Column, id_column: Column, scope: Sequence[ColumnElement[bool]]
) -> _Cursor:
    row = connection.execute(select(key).where(id_column == id, *scope)).first()
    if row is None:
        raise NotFound(f"There is no {id} to start from; take the id of an item of this list.")
    return _Cursor(id, row[0], key, id_column)
