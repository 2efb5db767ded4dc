"""Moments at which a test may have this process die, as in a power cut. Off unless one is armed.

Every commit has two, named by the function that wrote: `before` it, when all is written, and `after` it,
when it is durable and nobody has heard of it. `REMANENCE_FAIL_POINT=runs.attempt._start:before:2` in the
environment kills the process the second time it gets there; `*` stands for any name.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

VARIABLE = "REMANENCE_FAIL_POINT"
Edge = Literal["before", "after"]


@dataclass(slots=True)
class _Point:
    pattern: str
    edge: str
    hits_left: int


def _parse(text: str) -> _Point:
    pattern, edge, hits = text.split(":")
    return _Point(pattern, edge, int(hits))


_armed: _Point | None = _parse(text) if (text := os.environ.get(VARIABLE)) else None


def arm(text: str) -> None:
    """As the environment would; for a process that was forked and not started."""
    global _armed
    _armed = _parse(text)


def reach(writer: Callable[..., Any] | None, edge: Edge) -> None:
    point = _armed
    if point is None or writer is None or edge != point.edge:
        return
    if fnmatchcase(name_of(writer), point.pattern):
        point.hits_left -= 1
        if point.hits_left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def name_of(writer: Callable[..., Any]) -> str:
    """`remanence.runs.attempt`, `_start` is `runs.attempt._start`."""
    module = writer.__module__.removeprefix("remanence.")
    return f"{module}.{writer.__qualname__}".replace(".<locals>", "")
