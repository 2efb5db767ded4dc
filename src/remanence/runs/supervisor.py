"""Owns the tasks that run agents: their turn, their lease, their end, and whoever listens.

One loop per run, one run per history at a time. Where the loop cannot say how it ended, the
supervisor does, so that every reader sees a last event and every lease is given back.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from remanence.core.event import Event, RunFinished, RunUsage
from remanence.db.database import Database
from remanence.errors import AppError, LeaseLost
from remanence.kit.ids import RunId
from remanence.kit.worker import is_surely_gone
from remanence.runs import repository
from remanence.runs.checkpoint import Checkpoint
from remanence.runs.lanes import Lanes, Ticket
from remanence.runs.plan import RunCancelled, RunPlan

log = logging.getLogger(__name__)

_RENEW_S = repository.LEASE_S / 3
_LOOK_S = 0.5
"""How often a process looks whether its runs were cancelled through another one."""
_POLL_S = 0.05
"""How often the first in line asks again for a lease that another process holds."""


@dataclass(slots=True)
class Channel:
    """What a run says, for one reader. The writer never waits for it."""

    _events: list[Event] = field(default_factory=list[Event])
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._news.set()

    async def next_batch(self) -> list[Event]:
        """All that has gathered, once there is something. The last event of all is `RunFinished`."""
        await self._news.wait()
        self._news.clear()
        events, self._events = self._events, []
        return events


class Attempt(Protocol):
    """The way of one run to its lease."""

    async def enqueue(self) -> None:
        """Puts the run and its input on record as waiting."""
        ...

    async def start(self) -> bool:
        """Tries for the lease; records the run if it is not on record yet."""
        ...


Loop = Callable[[], AsyncIterator[Event]]


class Supervisor:
    def __init__(self, db: Database, checkpoint: Checkpoint) -> None:
        self._db = db
        self._checkpoint = checkpoint
        self._lanes = Lanes()
        self._runs: dict[RunId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeper: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.revive: Callable[[repository.HeldRun], Awaitable[None]] | None = None
        """Set by the service that knows how to carry a background run on."""
        self.conclude: Callable[[repository.HeldRun], Awaitable[None]] | None = None
        """Set by the service that knows how to tell the end of one that is over."""
        self.telling: set[RunId] = set()
        """Runs that are over here, and whose end is still being told."""

    def start(self) -> None:
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self, timeout_s: float) -> None:
        """Lets what is running come to its end. What takes too long is cancelled cleanly; in the
        background it is left to the next process, from its last step on. Asked again, it is done once."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(timeout_s))
        await asyncio.shield(self._stopping)

    async def _stop(self, timeout_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        late = [task for task in self._tasks if not task.done()]
        if late:
            await self._db.write(repository.let_go, list(self._runs))
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=5)

    async def launch(self, plan: RunPlan, attempt: Attempt, loop: Loop) -> tuple[Channel, asyncio.Task[None]]:
        """Returns once the input is on disk. Raises what keeps the run from being recorded."""
        if not plan.is_patient and not self._lanes.is_free(plan.run.lane):
            open_runs = await self._db.read(repository.list_open_runs, plan.actor, plan.run.lane)
            raise repository.busy(plan.run.lane, open_runs[0] if open_runs else None)
        channel = Channel()
        recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # A run taken over has its turn already, so it stands in a line of its own.
        lane = plan.run.id if plan.is_resumed else plan.run.lane
        ticket = self._lanes.take(lane, (plan.run.created_at, plan.run.id))
        task = asyncio.create_task(self._supervise(plan, ticket, attempt, loop, channel, recorded))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A client that leaves now must not tear a half-made record apart.
        await asyncio.shield(recorded)
        return channel, task

    async def _supervise(
        self,
        plan: RunPlan,
        ticket: Ticket,
        attempt: Attempt,
        loop: Loop,
        channel: Channel,
        recorded: "asyncio.Future[None]",
    ) -> None:
        current = asyncio.current_task()
        assert current is not None
        self._runs[plan.run.id] = current
        try:
            async with ticket.held():
                if await self._await_turn(plan, ticket, attempt, recorded, channel):
                    await self._run(plan, loop, channel)
        finally:
            self._runs.pop(plan.run.id, None)

    async def _await_turn(
        self,
        plan: RunPlan,
        ticket: Ticket,
        attempt: Attempt,
        recorded: "asyncio.Future[None]",
        channel: Channel,
    ) -> bool:
        """True once the lease is ours. Whatever goes wrong before is told to whoever waits for it."""
        try:
            if ticket.must_wait:
                await attempt.enqueue()
                _settle(recorded)
                await ticket.wait()
            is_ours = await attempt.start()
            _settle(recorded)
            while not is_ours:
                await asyncio.sleep(_POLL_S)
                await ticket.step_back()
                is_ours = await attempt.start()
        except asyncio.CancelledError:
            recorded.cancel()
            await asyncio.shield(self._checkpoint.abandon(plan, "cancelled", None, 0))
            channel.put(RunFinished("cancelled", RunUsage()))
            raise
        except RunCancelled:  # through another process, while it waited
            await self._checkpoint.abandon(plan, "cancelled", None, 0)
            channel.put(RunFinished("cancelled", RunUsage()))
            return False
        except Exception as error:
            if not recorded.done():  # nothing is on disk: the request itself fails
                recorded.set_exception(error)
                return False
            if not isinstance(error, AppError):
                log.exception("run %s could not start", plan.run.id)
            known = error if isinstance(error, AppError) else AppError("The run could not start.")
            await self._close(plan, channel, time.perf_counter_ns(), known)
            return False
        return True

    async def _run(self, plan: RunPlan, loop: Loop, channel: Channel) -> None:
        began_ns = time.perf_counter_ns()
        is_finished = False
        try:
            async for event in loop():
                is_finished = isinstance(event, RunFinished)
                channel.put(event)
        except LeaseLost as error:
            if await self._db.read(repository.list_cancelled, [plan.run.id]):  # and was not waited for
                channel.put(RunFinished("cancelled", RunUsage()))
            else:
                log.warning("run %s lost its lease", plan.run.id)
                channel.put(RunFinished("error", RunUsage(), error))
        except AppError as error:
            await self._close(plan, channel, began_ns, error)
        except asyncio.CancelledError:
            if not is_finished:
                duration = time.perf_counter_ns() - began_ns
                await asyncio.shield(self._checkpoint.abandon(plan, "cancelled", None, duration))
                channel.put(RunFinished("cancelled", RunUsage()))
            raise
        except Exception:
            log.exception("run %s broke", plan.run.id)
            unforeseen = AppError(f"The run broke inside the server; the log has more under {plan.run.id}.")
            await self._close(plan, channel, began_ns, unforeseen)

    async def _close(self, plan: RunPlan, channel: Channel, began_ns: int, error: AppError) -> None:
        duration = time.perf_counter_ns() - began_ns
        try:
            await self._checkpoint.abandon(plan, "error", f"{error.code}: {error.message}", duration)
        except Exception:
            log.exception("run %s could not be closed; its lease will lapse", plan.run.id)
        channel.put(RunFinished("error", RunUsage(), error))

    def cancel(self, run_id: RunId) -> None:
        """Stops a run of this process where it is; one of another process is told by the database."""
        task = self._runs.get(run_id)
        if task is not None:
            task.cancel()

    async def _keep(self) -> None:
        """Renews what this process has, stops what was cancelled elsewhere, ends what the dead left."""
        renewed_at = float("-inf")
        while True:
            try:
                is_due = time.monotonic() - renewed_at >= _RENEW_S
                if is_due:
                    await self.sweep()
                if self._runs or self.telling:
                    run_ids = [*self._runs, *self.telling]
                    if is_due:
                        await self._db.write(repository.renew, run_ids)
                    for run_id in await self._db.read(repository.list_cancelled, run_ids):
                        self.cancel(run_id)
                if is_due:
                    renewed_at = time.monotonic()
            except Exception:
                log.exception("could not renew leases; trying again")
            await asyncio.sleep(_LOOK_S)

    async def sweep(self) -> None:
        """Ends the runs that dead processes left, carries those in the background on, and tells their ends."""
        for found in await self._db.read(repository.list_held):
            is_gone = found.has_lapsed or is_surely_gone(found.worker)
            if is_gone and found.id not in self._runs and found.id not in self.telling:
                await self._take_over(found)

    def take_up(self, found: repository.HeldRun) -> None:
        """Begins a run that this process has put on record beside another one."""
        task = asyncio.create_task(self._take_over(found))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_over(self, found: repository.HeldRun) -> None:
        if found.is_carried_on and self.revive is not None:
            log.info("carrying on run %s", found.id)
            try:
                await self.revive(found)
                return
            except (AppError, ValueError) as error:  # its agent or conversation was deleted, say
                log.warning("run %s cannot be carried on: %s", found.id, error)
        if found.is_open or found.was_cancelled or not found.is_background:
            log.info("ending run %s, whose process is gone", found.id)
            await self._db.write(repository.end_dead_run, found.id)
        if found.is_background and self.conclude is not None:
            await self.conclude(replace(found, is_open=False))


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
