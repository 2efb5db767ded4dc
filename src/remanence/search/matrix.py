"""The vectors of one owner in memory, as whole numbers from -127 to 127, compared one by one with a question.

Exact and quick enough: 100,000 take some milliseconds. What is filtered out is never compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from remanence.core.vector import Vector

_BLOCK = 50_000
"""Compared at once: other threads have their turn in between."""
_FIRST_ROOM = 16
_UNSORTED = 4096

Row = tuple[int, bytes, int | None, int | None, bytes | None, bytes | None]
"""Key, document, created at, role, conversation, vector: a row of the log (migration 0008)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which rows count. Times are microseconds; None means any."""

    start: int | None = None
    end: int | None = None
    roles: Sequence[int] | None = None
    is_own: bool = False
    """Only an agent's own history, outside all conversations."""
    conversation: bytes | None = None
    documents: Sequence[bytes] | None = None


class Matrix:
    def __init__(self, width: int) -> None:
        self.last_key = 0
        self._count = 0
        self._sorted = 0
        self._dead = 0
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._ordered: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._vectors: NDArray[np.int8] = np.zeros((_FIRST_ROOM, width), np.int8)
        self._documents: NDArray[np.uint64] = np.zeros((_FIRST_ROOM, 2), np.uint64)
        """Ids in two halves. The first half is looked up by: it is random enough."""
        self._created: NDArray[np.int64] = np.zeros(_FIRST_ROOM, np.int64)
        self._conversations: NDArray[np.int64] = np.zeros(_FIRST_ROOM, np.int64)
        self._roles: NDArray[np.int8] = np.zeros(_FIRST_ROOM, np.int8)
        self._is_alive: NDArray[np.bool_] = np.zeros(_FIRST_ROOM, np.bool_)

    @property
    def size(self) -> int:
        """In bytes."""
        columns = (
            self._vectors,
            self._documents,
            self._created,
            self._conversations,
            self._order,
            self._ordered,
        )
        return sum(column.nbytes for column in columns)

    @property
    def is_wasteful(self) -> bool:
        """More rows are gone than are there: worth loading anew."""
        return self._dead > 1000 and self._dead > self._count // 2

    def append(self, rows: Sequence[Row]) -> None:
        """Takes notice of what the log says next. What it speaks of again has a new value, or is gone."""
        if self._count:
            again = self._find(list({row[1] for row in rows}))
            self._dead += int(self._is_alive[again].sum())
            self._is_alive[again] = False
        fresh = [row for row in rows if row[5] is not None]
        self.last_key = rows[-1][0]
        if not fresh:
            return
        start, end = self._count, self._count + len(fresh)
        self._make_room(end)
        width = self._vectors.shape[1]
        self._vectors[start:end] = np.frombuffer(b"".join([row[5] or b"" for row in fresh]), np.int8).reshape(
            -1, width
        )
        self._documents[start:end] = _halves([row[1] for row in fresh])
        self._created[start:end] = [row[2] or 0 for row in fresh]
        self._roles[start:end] = [row[3] or 0 for row in fresh]
        self._conversations[start:end] = [_short(row[4]) for row in fresh]
        self._is_alive[start:end] = True
        self._count = end

    def nearest(self, question: bytes, bounds: Bounds, count: int) -> dict[bytes, float]:
        """The documents most alike, best first, with their cosines. A document counts by its best part."""
        chosen = self._choose(bounds)
        if not len(chosen):
            return {}
        scores = self._compare(question, chosen)
        wanted = min(len(chosen), count)
        while True:
            top = np.argpartition(-scores, wanted - 1)[:wanted]
            top = top[np.argsort(-scores[top], kind="stable")]
            found: dict[bytes, float] = {}
            for place in top.tolist():
                found.setdefault(self._documents[chosen[place]].tobytes(), float(scores[place]))
            if len(found) >= count or wanted == len(chosen):
                return dict(list(found.items())[:count])
            wanted = min(len(chosen), wanted * 4)  # many parts of few documents

    def similarities(self, question: bytes, documents: Sequence[bytes]) -> dict[bytes, float]:
        rows = self._find(documents)
        rows = rows[self._is_alive[rows]]
        found: dict[bytes, float] = {}
        for row, score in zip(rows.tolist(), self._compare(question, rows).tolist(), strict=True):
            document = self._documents[row].tobytes()
            found[document] = max(score, found.get(document, -1.0))
        return found

    def _make_room(self, needed: int) -> None:
        if needed <= len(self._vectors):
            return
        room = max(needed, len(self._vectors) * 3 // 2)

        def grow(values: Any) -> Any:
            larger = np.zeros((room, *values.shape[1:]), values.dtype)
            larger[: self._count] = values[: self._count]
            return larger

        self._vectors, self._documents = grow(self._vectors), grow(self._documents)
        self._created, self._roles = grow(self._created), grow(self._roles)
        self._conversations, self._is_alive = grow(self._conversations), grow(self._is_alive)

    def _find(self, documents: Sequence[bytes]) -> NDArray[np.int64]:
        """The rows of these documents, also of those that are gone."""
        if not documents or not self._count:
            return np.zeros(0, np.int64)
        if self._count - self._sorted > max(_UNSORTED, self._sorted // 8):
            self._order = np.argsort(self._documents[: self._count, 0], kind="stable")
            self._ordered = self._documents[self._order, 0]
            self._sorted = self._count
        wanted = np.unique(_halves(documents)[:, 0])
        first = np.searchsorted(self._ordered, wanted, "left")
        last = np.searchsorted(self._ordered, wanted, "right")
        spans = [self._order[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True) if b > a]
        tail = self._sorted + np.flatnonzero(np.isin(self._documents[self._sorted : self._count, 0], wanted))
        return np.concatenate([*spans, tail])

    def _choose(self, bounds: Bounds) -> NDArray[np.int64]:
        count = self._count
        mask = self._is_alive[:count].copy()
        if bounds.start is not None:
            mask &= self._created[:count] >= bounds.start
        if bounds.end is not None:
            mask &= self._created[:count] <= bounds.end
        if bounds.roles is not None:
            mask &= np.isin(self._roles[:count], list(bounds.roles))
        if bounds.is_own:
            mask &= self._conversations[:count] == 0
        if bounds.conversation is not None:
            mask &= self._conversations[:count] == _short(bounds.conversation)
        if bounds.documents is not None:
            rows = self._find(bounds.documents)
            return rows[mask[rows]]
        return np.flatnonzero(mask)

    def _compare(self, question: bytes, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of the question with these rows."""
        asked = np.frombuffer(question, np.int8).reshape(1, -1)
        scores = np.empty(len(chosen), np.float32)
        is_all = len(chosen) == self._count and bool((chosen[:-1] < chosen[1:]).all())
        for start in range(0, len(chosen), _BLOCK):
            end = min(start + _BLOCK, len(chosen))
            block = self._vectors[start:end] if is_all else self._vectors[chosen[start:end]]
            scores[start:end] = 1 - np.asarray(simsimd.cdist(asked, block, "cosine")).reshape(-1)
        return np.nan_to_num(scores)


def quantise(vector: Vector) -> bytes:
    values = np.frombuffer(vector, np.float32)
    most = float(np.abs(values).max(initial=0.0))
    return np.rint(values * (127 / most if most > 0 else 0)).astype(np.int8).tobytes()


def restore(quantised: bytes) -> Vector:
    """Of length one again, and as exact as a hundredth allows."""
    values = np.frombuffer(quantised, np.int8).astype(np.float32)
    length = float(np.linalg.norm(values))
    return Vector((values / (length or 1)).tobytes())


def _halves(documents: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(documents), np.uint64).reshape(-1, 2)


def _short(conversation: bytes | None) -> int:
    """A conversation as a number; the agent's own history is 0."""
    return int.from_bytes(conversation[:8], "little", signed=True) or 1 if conversation else 0
