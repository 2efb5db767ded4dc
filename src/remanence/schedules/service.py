"""The rules of schedules, and the one who watches the clock.

An occurrence becomes a run, and the schedule moves on to its next one, in one transaction: so it runs
exactly once, whichever process is quickest and wherever one dies. The run itself is an ordinary one in the
background, which waits for its turn in the agent's history.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.schedule import MissedRuns, Schedule, check_cron, plan_due
from remanence.db.database import Database
from remanence.errors import Invalid, NotFound
from remanence.kit.clock import find_zone, utc_now
from remanence.kit.ids import new_id
from remanence.messages.images import ImageFetcher
from remanence.runs.beginning import record_run
from remanence.runs.repository import HeldRun
from remanence.schedules import repository
from remanence.schedules.schemas import OneTime, ScheduleCreate, message_request

log = logging.getLogger(__name__)

_SLACK = timedelta(minutes=1)
"""Clocks differ, and requests take their time: what is past by less is due now."""

_LOOK_S = 5.0
"""How often each process looks for what others have put into the calendar."""


class Scheduling:
    def __init__(
        self,
        db: Database,
        images: ImageFetcher,
        take_up: Callable[[HeldRun], None],
        *,
        missed_runs: MissedRuns,
        grace_s: int,
    ) -> None:
        self._db = db
        self._images = images
        self._take_up = take_up
        self._missed_runs: MissedRuns = missed_runs
        self._grace_s = grace_s
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def create(self, actor: Actor, agent_id: str, body: ScheduleCreate) -> Schedule:
        """Raises NotFound, Invalid, and BadArgument for an image that cannot be fetched."""
        agent = await self._db.read(agents.get_agent, actor, agent_id)
        now = utc_now()
        when = body.schedule
        cron = scheduled_at = None
        timezone = agent.timezone
        if isinstance(when, OneTime):
            first = scheduled_at = when.moment()
            if first < now - _SLACK:
                raise Invalid(
                    f"`scheduled_at` is {first.isoformat()}, which is past: it is {now.isoformat()}. "
                    "Give a Unix time in milliseconds that is yet to come, or send the message now."
                )
        else:
            cron, timezone = when.cron_expression, when.timezone or timezone
            if find_zone(timezone) is None:
                raise Invalid(f"{timezone!r} is no timezone; give an IANA name such as Europe/Berlin.")
            first = check_cron(cron, timezone, now)
        inputs = await self._images.embed(body.messages)
        request = body.model_dump(
            mode="json",
            exclude={"messages", "schedule", "missed_runs", "grace_s"},
            exclude_none=True,
        )
        said = [each.model_dump(mode="json", exclude_none=True) for each in inputs]
        schedule = Schedule(
            id=new_id("schedule"),
            organization_id=actor.organization_id,
            agent_id=agent.id,
            created_by_id=actor.user_id,
            request={"messages": said} | request,
            scheduled_at=scheduled_at,
            cron=cron,
            timezone=timezone,
            missed_runs=body.missed_runs or self._missed_runs,
            grace_s=self._grace_s if body.grace_s is None else body.grace_s,
            next_run_at=first,
            created_at=now,
        )
        await self._db.write(_insert, actor, schedule)
        self._news.set()
        return schedule

    # Watching the clock

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while True:
            pause_s = _LOOK_S
            try:
                now = utc_now()
                for schedule_id in await self._db.read(repository.list_due, now):
                    await self._run_due(schedule_id, now)
                ahead = await self._db.read(repository.find_next_moment, now)
                if ahead is not None:
                    pause_s = min(pause_s, max(0.0, (ahead - utc_now()).total_seconds()))
            except Exception:
                log.exception("could not look at the schedules; trying again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):  # wait_for may lose a cancellation
                    await self._news.wait()
            self._news.clear()

    async def _run_due(self, schedule_id: str, now: datetime) -> None:
        try:
            started = await self._db.write(_start_due, schedule_id, now)
        except Exception:
            log.exception("schedule %s could not be run; trying again", schedule_id)
            return
        for found in started:
            self._take_up(found)


def _insert(connection: Connection, actor: Actor, schedule: Schedule) -> None:
    agents.lock_agent(connection, actor, schedule.agent_id)  # or it outlives an agent that goes meanwhile
    repository.insert_schedule(connection, schedule)


def _start_due(connection: Connection, schedule_id: str, now: datetime) -> list[HeldRun]:
    schedule = repository.lock_due(connection, schedule_id, now)
    if schedule is None:
        return []  # another process was quicker
    actor = Actor(user_id=schedule.created_by_id, organization_id=schedule.organization_id)
    try:
        agents.get_agent(connection, actor, schedule.agent_id)
    except NotFound:
        repository.forget(connection, schedule_id)
        return []
    due = plan_due(schedule, now)
    started = [
        record_run(
            connection,
            actor,
            schedule.agent_id,
            message_request(schedule),
            {
                "run_type": "scheduled_message",
                "agent_id": schedule.agent_id,
                "source": {"schedule_id": schedule.id, "scheduled_for": each.isoformat()},
            },
        )
        for each in due.occurrences
    ]
    last = (now, started[-1].id) if started else None
    repository.note_run(connection, schedule_id, due.next_run_at, last)
    return started
