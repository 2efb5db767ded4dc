"""The audit log as requests meet it: they leave a line behind, and the lines are written together.

A crash loses at most the lines of the last moment; what they tell of is committed by itself. If the database
is away, lines are kept until there are too many.
"""

import asyncio
import contextlib
import logging
from collections import deque

from remanence.accounts.audit import repository
from remanence.core.audit import AuditEntry
from remanence.db.database import Database

log = logging.getLogger(__name__)

_EVERY_S = 0.5
_MOST_WAITING = 20_000
_BATCH = 500


class AuditLog:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: deque[AuditEntry] = deque()
        self._lost = 0
        self._some = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Writes what is waiting."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.flush()

    def note(self, entry: AuditEntry) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self._lost += 1
            return
        self._waiting.append(entry)
        self._some.set()

    async def flush(self) -> None:
        while self._waiting:
            batch = [self._waiting[n] for n in range(min(_BATCH, len(self._waiting)))]
            await self._db.write(repository.save_entries, batch)
            for _ in batch:
                self._waiting.popleft()
        if self._lost:
            log.error("the audit log lost %d lines: the database did not take them in time", self._lost)
            self._lost = 0

    async def _write(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            await asyncio.sleep(_EVERY_S)  # what comes meanwhile is written with it
            try:
                await self.flush()
            except Exception:
                log.exception("the audit log cannot be written; its lines are kept and tried again")
                self._some.set()
