"""Work for later is done once, by one process at a time, and again where a process died of it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection, update
from tests.support.waiting import until

from remanence.core.actor import Actor
from remanence.core.job import Job
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.db.tables import JobRow
from remanence.errors import BadArgument, Conflict, LeaseLost, NotFound
from remanence.jobs import repository
from remanence.jobs.repository import Grip
from remanence.jobs.workers import Later, Task, Workers
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId, UserId, new_id
from remanence.kit.json import JsonObject
from remanence.kit.worker import this_worker

DEAD = "|".join([*this_worker().split("|")[:3], "999999999", "1"])
"""A process of this machine that is surely gone."""
OTHER = "elsewhere|boot|namespace|1|1"
"""One that cannot be seen from here."""


class Desk:
    """Somebody who has work done, and sees what becomes of it."""

    def __init__(self, db: Database, actor: Actor) -> None:
        self.db = db
        self.actor = actor
        self.workers = Workers(db)
        self.done: list[str] = []

    async def ask(self, kind: str = "sums", **payload: str) -> Job:
        job = await self.db.write(repository.enqueue, self.actor, kind, payload)
        self.workers.wake()
        return job

    async def read(self, job: Job) -> Job:
        return await self.db.read(repository.get_job, self.actor, job.id)

    async def wait(self, job: Job, status: str) -> Job:
        async def has_come_to_it() -> bool:
            return (await self.read(job)).status == status

        await until(has_come_to_it)
        return await self.read(job)

    async def take(self, worker: str) -> list[Grip]:
        return await self.db.write(repository.claim, worker, "sums", 10)

    async def lapse(self) -> None:
        """All leases are over."""

        def write(connection: Connection) -> None:
            connection.execute(update(JobRow).values(alive_until=utc_now() - timedelta(seconds=1)))

        await self.db.write(write)

    async def do(self, task: Task) -> JsonObject:
        self.done.append(task.job.payload["n"])
        return {"n": task.job.payload["n"]}


@pytest.fixture
async def desk(db: Database, actor: Actor) -> AsyncIterator[Desk]:
    desk = Desk(db, actor)
    yield desk
    await desk.workers.stop()


async def test_what_is_asked_is_done_and_told(desk: Desk) -> None:
    desk.workers.register("sums", desk.do)
    desk.workers.start()
    job = await desk.ask(n="1")
    over = await desk.wait(job, "completed")
    assert desk.done == ["1"]
    assert over.metadata == {"n": "1"}
    assert over.completed_at is not None


async def test_what_is_not_due_waits(desk: Desk) -> None:
    later = utc_now() + timedelta(hours=1)
    await desk.db.write(repository.enqueue, desk.actor, "sums", {"n": "1"}, due_at=later)
    assert await desk.take(this_worker()) == []
    assert await desk.db.read(repository.list_due_kinds) == set()


async def test_a_job_is_taken_once(desk: Desk) -> None:
    for n in range(20):
        await desk.ask(n=str(n))
    taken = await asyncio.gather(*(desk.take(worker) for worker in (this_worker(), OTHER, DEAD)))
    ids = [grip.job.id for grips in taken for grip in grips]
    assert len(ids) == len(set(ids)) == 20


async def test_one_that_was_thought_dead_writes_nothing(desk: Desk) -> None:
    await desk.ask(n="1")
    [slow] = await desk.take(OTHER)
    await desk.lapse()
    [quick] = await desk.take(this_worker())
    for write in (repository.hold, repository.save):
        with pytest.raises(LeaseLost):
            await desk.db.write(write, slow)
    with pytest.raises(LeaseLost):
        await desk.db.write(repository.finish, slow, "failed")
    assert await desk.db.write(repository.renew, [slow, quick]) == [slow]
    await desk.db.write(repository.finish, quick, "completed")
    assert (await desk.read(slow.job)).status == "completed"


async def test_what_a_dead_process_had_is_carried_on_where_it_stopped(desk: Desk) -> None:
    seen: list[JsonObject] = []

    async def go_on(task: Task) -> None:
        seen.append(task.state)

    job = await desk.ask(n="1")
    [grip] = await desk.take(DEAD)
    await desk.db.write(repository.save, grip, state={"page": 7})
    desk.workers.register("sums", go_on)
    desk.workers.start()
    await desk.wait(job, "completed")
    assert seen == [{"page": 7}]


async def test_what_kills_every_process_is_given_up(desk: Desk) -> None:
    told: list[str] = []

    async def tell(job: Job, reason: str) -> None:
        told.append(reason)

    job = await desk.ask(n="1")
    for _ in range(3):
        assert len(await desk.take(DEAD)) == 1
        await desk.db.write(repository.release, [DEAD], counts=True)
    desk.workers.register("sums", desk.do, attempts=3, on_failure=tell)
    desk.workers.start()
    over = await desk.wait(job, "failed")
    assert desk.done == []
    assert told == ["The server stopped each time it was tried."]
    assert over.metadata == {"error": told[0]}


async def test_a_failure_is_tried_again_and_a_refusal_is_not(desk: Desk) -> None:
    tries: list[int] = []

    async def stumble(task: Task) -> None:
        tries.append(task.job.tries)
        raise RuntimeError("out of luck")

    async def refuse(task: Task) -> None:
        raise BadArgument("This cannot be done.")

    desk.workers.register("sums", stumble)
    desk.workers.register("refused", refuse)
    desk.workers.start()
    again = await desk.wait(await desk.ask(n="1"), "pending")
    assert tries == [1]
    assert again.due_at > utc_now()
    over = await desk.wait(await desk.ask("refused"), "failed")
    assert over.metadata == {"error": "This cannot be done."}


async def test_a_handler_may_rest_and_go_on(desk: Desk) -> None:
    async def count(task: Task) -> JsonObject:
        turn: int = task.state.get("turn", 0)
        if turn < 3:
            raise Later(utc_now(), {"turn": turn + 1})
        return {"turns": turn}

    desk.workers.register("sums", count)
    desk.workers.start()
    assert (await desk.wait(await desk.ask(n="1"), "completed")).metadata == {"turns": 3}


async def test_cancelling_stops_whoever_is_at_it(desk: Desk) -> None:
    stopped = asyncio.Event()

    async def wait(task: Task) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    desk.workers.register("sums", wait)
    desk.workers.start()
    job = await desk.ask(n="1")
    await desk.wait(job, "running")
    await desk.db.write(repository.cancel, desk.actor, job.id)
    async with asyncio.timeout(10):
        await stopped.wait()
    assert (await desk.read(job)).status == "cancelled"
    with pytest.raises(Conflict):
        await desk.db.write(repository.cancel, desk.actor, job.id)


async def test_stopping_leaves_the_work_to_the_next(desk: Desk) -> None:
    begun = asyncio.Event()

    async def wait(task: Task) -> None:
        begun.set()
        await asyncio.Event().wait()

    desk.workers.register("sums", wait)
    desk.workers.start()
    job = await desk.ask(n="1")
    async with asyncio.timeout(10):
        await begun.wait()
    await desk.workers.stop()
    left = await desk.read(job)
    assert (left.status, left.tries) == ("pending", 0)
    desk.workers = Workers(desk.db)
    desk.workers.register("sums", desk.do)
    desk.workers.start()
    await desk.wait(job, "completed")


async def test_no_more_than_so_many_at_once(desk: Desk) -> None:
    at_work = 0
    most = 0

    async def work(task: Task) -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1

    desk.workers.register("sums", work, at_once=2)
    asked = [await desk.ask(n=str(n)) for n in range(6)]
    desk.workers.start()
    for job in asked:
        await desk.wait(job, "completed")
    assert most <= 2


async def test_others_see_nothing_of_it(desk: Desk) -> None:
    job = await desk.ask(n="1")
    stranger = Actor(user_id=UserId(new_id("user")), organization_id=OrgId(new_id("org")))
    for look in (repository.get_job, repository.cancel, repository.delete_job):
        with pytest.raises(NotFound):
            await desk.db.write(look, stranger, job.id)
    assert await desk.db.read(repository.list_jobs, stranger, Page()) == []


async def test_old_jobs_are_forgotten(desk: Desk) -> None:
    kept, dropped = await desk.ask(n="1"), await desk.ask(n="2")
    for grip in await desk.take(this_worker()):
        if grip.job.id == dropped.id:
            await desk.db.write(repository.finish, grip, "completed")
    await desk.db.write(repository.drop_old, days=-1)
    assert [job.id for job in await desk.db.read(repository.list_jobs, desk.actor, Page())] == [kept.id]
