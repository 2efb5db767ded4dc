"""Cursor paging in SQL, the same for every list."""

from collections.abc import Sequence
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
    `scope` (the organisation, the agent). Raises NotFound for a cursor that does not exist.
    """
    is_descending = page.order == "desc"
    if page.after is not None:
        statement = statement.where(_beyond(connection, page.after, key, id_column, scope, is_descending))
    if page.before is not None:
        statement = statement.where(
            _beyond(connection, page.before, key, id_column, scope, not is_descending)
        )
    # Going back from a cursor means the nearest rows before it, so they are read backwards and turned.
    is_backwards = page.before is not None and page.after is None and not page.takes_first
    descending = is_descending != is_backwards
    order = [key.desc() if descending else key.asc(), id_column.desc() if descending else id_column.asc()]
    if nulls_last:
        order.insert(0, key.is_(None).asc())
    statement = statement.order_by(*order)
    if page.limit is not None:
        statement = statement.limit(page.limit)
    rows = list(connection.execute(statement).all())
    return rows[::-1] if is_backwards else rows


def _beyond(
    connection: Connection,
    cursor: str,
    key: Column,
    id_column: Column,
    scope: Sequence[ColumnElement[bool]],
    is_descending: bool,
) -> ColumnElement[bool]:
    at = connection.execute(select(key).where(id_column == cursor, *scope)).first()
    if at is None:
        raise NotFound(f"There is no {cursor} to start from; take the id of an item of this list.")
    if at[0] is None:  # sorted last: only others without a value come after it
        return and_(key.is_(None), id_column < cursor if is_descending else id_column > cursor)
    later = key < at[0] if is_descending else key > at[0]
    tied = id_column < cursor if is_descending else id_column > cursor
    return or_(later, and_(key == at[0], tied))
