"""Turns within one process: each history serves those who want to write to it in order of arrival."""

import asyncio
from bisect import insort
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

Arrival = tuple[datetime, str]
"""When a run came, and its id: the order in which the database lets runs of all processes have their turns."""


@dataclass(order=True, slots=True)
class _Place:
    arrival: Arrival
    turn: "asyncio.Future[None]" = field(compare=False)


class Ticket:
    """A place in line, taken without waiting. Use it once."""

    def __init__(self, lanes: "Lanes", lane: str, arrival: Arrival, place: _Place | None) -> None:
        self._lanes = lanes
        self._lane = lane
        self._arrival = arrival
        self._place = place

    @property
    def must_wait(self) -> bool:
        return self._place is not None and not self._place.turn.done()

    @asynccontextmanager
    async def held(self) -> AsyncGenerator["Ticket"]:
        """Keeps the place, and passes the turn on in the end, however it ends."""
        try:
            yield self
        finally:
            self._lanes.leave(self._lane, self._place)

    async def wait(self) -> None:
        if self._place is not None:
            await self._place.turn

    async def step_back(self) -> None:
        """Lets one who came earlier go first, and waits for the turn again.

        A run that a dead process left may join the line late: the database keeps its turn for it.
        """
        place = self._lanes.swap(self._lane, self._arrival)
        if place is not None:
            self._place = place
            await place.turn


class Lanes:
    def __init__(self) -> None:
        self._waiting: dict[str, list[_Place]] = {}
        """Those in line behind the one whose turn it is; a lane without an entry is free."""

    def is_free(self, lane: str) -> bool:
        return lane not in self._waiting

    def take(self, lane: str, arrival: Arrival) -> Ticket:
        if lane not in self._waiting:
            self._waiting[lane] = []
            return Ticket(self, lane, arrival, None)
        return Ticket(self, lane, arrival, self._line_up(lane, arrival))

    def swap(self, lane: str, arrival: Arrival) -> _Place | None:
        """A new place for the one whose turn it is, if the turn went to somebody who came earlier."""
        line = [each for each in self._waiting[lane] if not each.turn.done()]
        if not line or line[0].arrival > arrival:
            return None
        self._pass_on(lane)
        return self._line_up(lane, arrival)

    def leave(self, lane: str, place: _Place | None) -> None:
        if place is None or (place.turn.done() and not place.turn.cancelled()):
            self._pass_on(lane)
            return
        place.turn.cancel()  # it gave up before its turn came
        if lane in self._waiting:
            self._waiting[lane] = [each for each in self._waiting[lane] if each is not place]

    def _line_up(self, lane: str, arrival: Arrival) -> _Place:
        place = _Place(arrival, asyncio.get_running_loop().create_future())
        insort(self._waiting[lane], place)
        return place

    def _pass_on(self, lane: str) -> None:
        line = self._waiting[lane]
        while line:
            following = line.pop(0)
            if not following.turn.done():
                following.turn.set_result(None)
                return
        del self._waiting[lane]
