"""Chores that keep the database small: what is only kept for a while goes when its time is up."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from remanence.db.database import Database

log = logging.getLogger(__name__)

Chore = Callable[[Connection], None]
_EVERY_S = 3600


class Housekeeping:
    def __init__(self, db: Database, chores: Sequence[Chore]) -> None:
        self._db = db
        self._chores = chores
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep_house())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def do_chores(self) -> None:
        for chore in self._chores:
            try:
                await self._db.write(chore)
            except Exception:
                log.exception("a chore failed; it is done again in an hour")

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)  # first, so that no start is slowed down
            await self.do_chores()
