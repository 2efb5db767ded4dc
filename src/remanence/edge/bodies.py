"""What a JSON body must be before any room reads it.

The standard parser accepts more than JSON: NaN, half a surrogate pair, numbers of any length. Such values
would fail later, in a database or in an answer; so they stop here, and bad input is a 422. No HTTP in it.
"""

import json as standard
import re
from typing import Any, cast

from remanence.edge.fields import check_text
from remanence.kit import json

MAX_DEPTH = 100
_LONG_NUMBER = re.compile(rb"\d{19}")


def find_fault(body: bytes) -> str | None:
    """What is wrong with a body, for people; None if it can be read and stored."""
    try:
        value = json.decode(body)
        if b"\\u0000" in body or body.count(b"[") + body.count(b"{") > MAX_DEPTH:
            _check(value, 0)
        if _LONG_NUMBER.search(body):
            _check(standard.loads(body), 0)
    except ValueError as error:
        return str(error)
    return None


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    match value:
        case str():
            check_text(value)
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                check_text(key)
                _check(item, depth + 1)
        case list():
            for item in cast("list[Any]", value):
                _check(item, depth + 1)
        case int() if not -(2**63) <= value < 2**64:
            raise ValueError(f"the number {str(value)[:40]} does not fit into 64 bits")
        case _:
            pass
