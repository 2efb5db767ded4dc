"""Takes jobs that are due and does them: each by one process at a time, again after a crash, never unfenced.

A handler does one kind of job. It may be stopped at any moment and begin again, so it notes how far it came
with `task.save`, and writes what must not be written twice in one transaction with `repository.hold`.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.job import OPEN, Job, JobType, pause_after
from remanence.db.database import Database
from remanence.errors import AppError, LeaseLost
from remanence.jobs import repository
from remanence.jobs.repository import Grip
from remanence.kit.clock import utc_now
from remanence.kit.ids import JobId
from remanence.kit.json import JsonObject
from remanence.kit.worker import is_surely_gone, this_worker

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_SWEEP_S = 5.0


class Later(Exception):
    """Raised by a handler to rest and be called again; `state` is noted with it."""

    def __init__(self, due_at: datetime, state: JsonObject | None = None) -> None:
        super().__init__(due_at)
        self.due_at = due_at
        self.state = state


class Task:
    """A job in the hands of its handler."""

    def __init__(self, db: Database, grip: Grip) -> None:
        self._db = db
        self.grip = grip
        self.state = grip.job.state or {}
        """What was last saved."""

    @property
    def job(self) -> Job:
        return self.grip.job

    async def save(self, state: JsonObject | None = None, *, metadata: JsonObject | None = None) -> None:
        """Raises LeaseLost if the job is no longer ours: let it fly."""
        await self._db.write(repository.save, self.grip, state=state, metadata=metadata)
        if state is not None:
            self.state = state


Handler = Callable[[Task], Awaitable[JsonObject | None]]
"""Gives what is to be shown of the job when it is done. An AppError ends it; other errors are tried again."""


@dataclass(frozen=True, slots=True)
class _Trade:
    handler: Handler
    at_once: int
    attempts: int
    on_failure: Callable[[Job, str], Awaitable[None]] | None
    on_end: Callable[[Connection, Job], None] | None


class Workers:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._trades: dict[str, _Trade] = {}
        self._at_work: dict[JobId, tuple[Grip, asyncio.Task[None]]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()

    def register(
        self,
        kind: str,
        handler: Handler,
        *,
        at_once: int = 1,
        attempts: int = 5,
        on_failure: Callable[[Job, str], Awaitable[None]] | None = None,
        on_end: Callable[[Connection, Job], None] | None = None,
    ) -> None:
        """`on_failure` is told of a job that is given up, with the reason.

        `on_end` ends what a job has set going, in the transaction that cancels or deletes it.
        """
        self._trades[kind] = _Trade(handler, at_once, attempts, on_failure, on_end)

    async def cancel(self, actor: Actor, job_id: str, *, job_type: JobType | None = None) -> Job:
        """With all that it has set going. Raises NotFound and Conflict."""

        def write(connection: Connection) -> Job:
            job = repository.cancel(connection, actor, job_id, job_type=job_type)
            self._end(connection, job)
            return repository.get_job(connection, actor, job_id)

        return await self._db.write(write)

    async def delete(self, actor: Actor, job_id: str) -> Job:
        """Also one that somebody is at: it ends there, with all that it has set going. Raises NotFound."""

        def write(connection: Connection) -> Job:
            job = repository.get_job(connection, actor, job_id)
            if job.status in OPEN:
                self._end(connection, job)
            return repository.delete_job(connection, actor, job_id)

        return await self._db.write(write)

    def _end(self, connection: Connection, job: Job) -> None:
        trade = self._trades.get(job.kind)
        if trade is not None and trade.on_end is not None:
            trade.on_end(connection, job)

    def start(self) -> None:
        self._looking = asyncio.create_task(self._look(), name="jobs")
        self._renewing = asyncio.create_task(self._renew(), name="jobs kept")

    def wake(self) -> None:
        """There is something new: do not wait for the next look."""
        self._woken.set()

    async def stop(self) -> None:
        """What is at work is left to others, or to the next start."""
        if self._looking is None or self._renewing is None:
            return
        tasks = [self._looking, self._renewing, *(task for _, task in self._at_work.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._looking = self._renewing = None
        await self._db.write(repository.release, [this_worker()], counts=False)

    async def _look(self) -> None:
        while True:
            try:
                due = await self._db.read(repository.list_due_kinds)
                for kind in due & self._trades.keys():
                    await self._take(kind)
            except Exception:
                log.exception("could not look for jobs; looking again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):  # wait_for may lose a cancellation
                    await self._woken.wait()
            self._woken.clear()

    async def _take(self, kind: str) -> None:
        trade = self._trades[kind]
        busy = sum(grip.job.kind == kind for grip, _ in self._at_work.values())
        if busy >= trade.at_once:
            return
        for grip in await self._db.write(repository.claim, this_worker(), kind, trade.at_once - busy):
            task = asyncio.create_task(self._do(trade, grip), name=f"job {grip.job.id}")
            self._at_work[grip.job.id] = grip, task

    async def _do(self, trade: _Trade, grip: Grip) -> None:
        job = grip.job
        try:
            if job.tries > trade.attempts:
                await self._give_up(trade, grip, "The server stopped each time it was tried.")
                return
            shown = await trade.handler(Task(self._db, grip))
            await self._db.write(repository.finish, grip, "completed", shown)
        except LeaseLost:
            log.info("job %s was cancelled, or goes on elsewhere", job.id)
        except Later as later:
            await self._put_back(grip, later.due_at, tries=0, state=later.state)
        except AppError as error:
            await self._give_up(trade, grip, error.message)
        except Exception as error:
            log.exception("job %s (%s) failed, try %d of %d", job.id, job.kind, job.tries, trade.attempts)
            if job.tries >= trade.attempts:
                await self._give_up(trade, grip, f"It failed {job.tries} times: {error}")
            else:
                pause = timedelta(seconds=pause_after(job.tries))
                await self._put_back(grip, utc_now() + pause, tries=job.tries)
        finally:
            self._at_work.pop(job.id, None)
            self.wake()  # there is a place free

    async def _give_up(self, trade: _Trade, grip: Grip, reason: str) -> None:
        metadata = (grip.job.metadata or {}) | {"error": reason}
        with contextlib.suppress(LeaseLost):
            await self._db.write(repository.finish, grip, "failed", metadata)
            if trade.on_failure is not None:
                await trade.on_failure(grip.job, reason)

    async def _put_back(
        self, grip: Grip, due_at: datetime, *, tries: int, state: JsonObject | None = None
    ) -> None:
        with contextlib.suppress(LeaseLost):
            await self._db.write(repository.put_back, grip, due_at, tries=tries, state=state)

    async def _renew(self) -> None:
        """Keeps what is ours, stops what no longer is, and frees what dead processes had."""
        swept_at = float("-inf")
        while True:
            try:
                if time.monotonic() - swept_at >= _SWEEP_S:
                    await self._sweep()
                    swept_at = time.monotonic()
                if self._at_work:
                    grips = [grip for grip, _ in self._at_work.values()]
                    for lost in await self._db.write(repository.renew, grips):
                        grip, task = self._at_work.get(lost.job.id, (None, None))
                        if task is not None and grip is lost:
                            task.cancel()
            except Exception:
                log.exception("could not renew the hold on jobs; trying again")
            await asyncio.sleep(_LOOK_S)

    async def _sweep(self) -> None:
        gone = [worker for worker in await self._db.read(repository.list_workers) if is_surely_gone(worker)]
        if gone:
            await self._db.write(repository.release, gone, counts=True)
            self.wake()
