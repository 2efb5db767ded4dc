"""Turns within one process: each history serves those who want to write to it in order of arrival."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Ticket:
    """A place in line, taken without waiting. Use it once."""

    def __init__(self, lanes: "Lanes", lane: str, turn: "asyncio.Future[None] | None") -> None:
        self._lanes = lanes
        self._lane = lane
        self._turn = turn

    @property
    def must_wait(self) -> bool:
        return self._turn is not None and not self._turn.done()

    @asynccontextmanager
    async def held(self) -> AsyncGenerator["Ticket"]:
        """Keeps the place, and passes the turn on in the end, however it ends."""
        try:
            yield self
        finally:
            self._lanes.leave(self._lane, self._turn)

    async def wait(self) -> None:
        if self._turn is not None:
            await self._turn


class Lanes:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Those in line behind the one whose turn it is; a lane without an entry is free."""

    def is_free(self, lane: str) -> bool:
        return lane not in self._waiting

    def take(self, lane: str) -> Ticket:
        line = self._waiting.get(lane)
        if line is None:
            self._waiting[lane] = deque()
            return Ticket(self, lane, None)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        return Ticket(self, lane, turn)

    def leave(self, lane: str, turn: "asyncio.Future[None] | None") -> None:
        if turn is not None and (not turn.done() or turn.cancelled()):  # it gave up before its turn came
            line = self._waiting.get(lane, deque())
            if turn in line:  # whoever left before it may have passed it over already
                line.remove(turn)
            turn.cancel()
            return
        line = self._waiting[lane]
        while line:
            following = line.popleft()
            if not following.done():
                following.set_result(None)
                return
        del self._waiting[lane]
