"""Which conversation works in which slot of the engine.

A slot keeps the evaluated state of the last conversation in it, so a conversation goes back to its
own slot when it can, and otherwise takes the one that was idle longest. Who waits is served in the
order of arrival.
"""

import asyncio
from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class Seat:
    """A slot, held by one request until it is given back."""

    slot: int
    is_own: bool
    """The slot still holds this conversation."""
    evicted: str | None
    """The conversation that it held instead."""


class SlotPool:
    def __init__(self, count: int) -> None:
        self._idle: dict[int, str | None] = dict.fromkeys(range(count))
        """Idle slots and their conversations, the longest idle first."""
        self._waiting: deque[tuple[str, asyncio.Future[Seat]]] = deque()
        self._busy = 0

    @property
    def is_quiet(self) -> bool:
        return self._busy == 0 and not self._waiting

    async def take(self, key: str) -> Seat:
        """Waits for a free slot; a conversation without a key is never remembered."""
        if self._idle and not self._waiting:
            return self._seat(key)
        future: asyncio.Future[Seat] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result(), None)  # it was given in the moment of the cancel
            raise

    def give_back(self, seat: Seat, key: str | None) -> None:
        """`key` is the conversation whose state is in the slot now."""
        self._busy -= 1
        self._idle[seat.slot] = key or None
        while self._waiting and self._idle:
            waiting_key, future = self._waiting.popleft()
            if not future.done():
                future.set_result(self._seat(waiting_key))

    def _seat(self, key: str) -> Seat:
        own = next((slot for slot, owner in self._idle.items() if key and owner == key), None)
        unowned = next((slot for slot, owner in self._idle.items() if owner is None), None)
        slot = own if own is not None else unowned if unowned is not None else next(iter(self._idle))
        owner = self._idle.pop(slot)
        self._busy += 1
        return Seat(slot, is_own=own is not None, evicted=owner if own is None else None)
