"""A window into a list: where to start, how many, in which order."""

from typing import Literal

from remanence.core.frozen import Frozen

Order = Literal["asc", "desc"]


class Page(Frozen):
    """Cursors are ids and follow the order asked for: `after` continues it, `before` goes back."""

    before: str | None = None
    after: str | None = None
    limit: int | None = None
    order: Order = "desc"
    order_by: str = "created_at"
    takes_first: bool = False
    """The limit takes from the beginning of the order also where `before` would take the rows next to it."""
