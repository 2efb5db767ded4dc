"""One writer per history: who gets the lease, who loses it, and what becomes of those who die with it."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest
from sqlalchemy import Connection, func, insert, select, update
from tests.support.records import add_agent

from remanence.agents.state import StateStore, load_state
from remanence.core.actor import Actor
from remanence.core.agent import AgentState
from remanence.core.message import Message, Role, text_parts
from remanence.core.run import Run, Step
from remanence.db.database import Database
from remanence.db.tables import ContextMessageRow, LeaseRow, MessageRow, RunRow, StepRow
from remanence.errors import LeaseLost, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, RunId, new_message_id, new_run_id, new_step_id
from remanence.kit.worker import this_worker
from remanence.messages import repository as messages
from remanence.runs import repository
from remanence.runs.attempt import LeaseAttempt
from remanence.runs.checkpoint import Checkpoint
from remanence.runs.plan import RunPlan, StepRecord
from remanence.runs.supervisor import Supervisor
from remanence.search.ports import open_index

DEAD = "|".join((*this_worker().split("|")[:3], "999999999", "1"))
"""A process that ran here and is gone."""
ELSEWHERE = "elsewhere|boot|namespace|1|1"
"""One that cannot be seen from here."""


@dataclass
class House:
    db: Database
    actor: Actor
    agent: AgentId
    checkpoint: Checkpoint

    def plan(self, text: str = "Hello") -> RunPlan:
        now = utc_now()
        run = Run(
            id=new_run_id(), organization_id=self.actor.organization_id, agent_id=self.agent, created_at=now
        )
        step_id = new_step_id()
        said = self.message("user", text, run.id, step_id)
        return RunPlan(actor=self.actor, run=run, inputs=(said,), first_step_id=step_id, max_steps=5)

    def message(self, role: Role, text: str, run_id: RunId, step_id: str) -> Message:
        return Message.model_validate(
            {
                "id": new_message_id(),
                "agent_id": self.agent,
                "role": role,
                "content": text_parts(text),
                "created_at": utc_now(),
                "run_id": run_id,
                "step_id": step_id,
            }
        )

    async def admitted(self, plan: RunPlan) -> LeaseAttempt:
        attempt = LeaseAttempt(self.db, plan)
        assert await attempt.start()
        return attempt

    async def state(self, attempt: LeaseAttempt) -> AgentState:
        return await self.db.read(load_state, self.actor, self.agent, None, attempt.versions.window)

    def record(self, plan: RunPlan, *, is_last: bool = True) -> StepRecord:
        step_id = plan.first_step_id
        step = Step(
            id=step_id,
            organization_id=self.actor.organization_id,
            run_id=plan.run.id,
            agent_id=self.agent,
            created_at=utc_now(),
        )
        return StepRecord(
            step=step,
            inputs=plan.inputs,
            messages=(self.message("assistant", "Hi", plan.run.id, step_id),),
            edits=(),
            tools_used=(),
            stop_reason="end_turn" if is_last else None,
            ttft_ns=None,
            duration_ns=1,
        )

    async def hand_to(self, run_id: RunId, worker: str) -> None:
        """As if another process had this run."""
        await self.db.write(_set_run, run_id, worker=worker)


@pytest.fixture
async def house(db: Database, actor: Actor) -> House:
    def build(connection: Connection) -> AgentId:
        agent = add_agent(connection, actor)
        connection.execute(insert(LeaseRow), {"lane": agent, "agent_id": agent})
        return agent

    agent = await db.write(build)
    return House(db, actor, agent, Checkpoint(db, StateStore(db), open_index(db)))


def _set_run(connection: Connection, run_id: RunId, **values: object) -> None:
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(**values))


def _lapse(connection: Connection, run_id: RunId) -> None:
    """The process that has this run has said nothing for too long."""
    past = utc_now() - timedelta(seconds=1)
    connection.execute(update(LeaseRow).where(LeaseRow.holder == run_id).values(expires_at=past))
    _set_run(connection, run_id, alive_until=past)


def _lease(connection: Connection, lane: str) -> tuple[str | None, int]:
    row = connection.execute(
        select(LeaseRow.holder, LeaseRow.window_version).where(LeaseRow.lane == lane)
    ).one()
    return row.holder, row.window_version


def _run(connection: Connection, run_id: RunId) -> tuple[str, str | None]:
    row = connection.execute(select(RunRow.status, RunRow.stop_reason).where(RunRow.id == run_id)).one()
    return row.status, row.stop_reason


def _counts(connection: Connection) -> list[int]:
    """Messages, places in windows, steps."""
    tables = (MessageRow, ContextMessageRow, StepRow)
    return [connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


def _set_aside(connection: Connection, run_id: RunId) -> list[bool]:
    return [message.is_err for message in messages.list_run_messages(connection, run_id)]


async def test_a_second_run_waits_until_the_first_has_saved_its_last_step(house: House) -> None:
    first, second = house.plan("first"), house.plan("second")
    holding = await house.admitted(first)
    waiting = LeaseAttempt(house.db, second)
    assert not await waiting.start()
    assert await house.db.read(_run, second.run.id) == ("created", None)
    state = await house.state(holding)
    await house.checkpoint.save(first, state, house.record(first), fence=holding.fence)
    assert await waiting.start()
    assert (await house.db.read(_lease, house.agent))[0] == second.run.id
    assert await house.db.read(_run, first.run.id) == ("completed", "end_turn")


async def test_one_that_is_carried_on_does_not_wait_for_those_who_wait_for_it(house: House) -> None:
    """Who comes first is decided by the clock of arrival, who is admitted by the database."""
    earlier, holder = house.plan("came earlier"), house.plan("was admitted earlier")
    await house.admitted(holder)
    assert not await LeaseAttempt(house.db, earlier).start()
    carried_on = LeaseAttempt(house.db, holder, is_recorded=True)
    assert await carried_on.start()
    assert not await LeaseAttempt(house.db, earlier, is_recorded=True).start()
    await house.checkpoint.save(
        holder, await house.state(carried_on), house.record(holder), fence=carried_on.fence
    )
    assert await LeaseAttempt(house.db, earlier, is_recorded=True).start()


async def test_a_step_that_is_not_the_last_keeps_the_lease(house: House) -> None:
    plan = house.plan()
    attempt = await house.admitted(plan)
    await house.db.write(_lapse, plan.run.id)
    state = await house.state(attempt)
    await house.checkpoint.save(plan, state, house.record(plan, is_last=False), fence=attempt.fence)
    other = LeaseAttempt(house.db, house.plan())
    assert not await other.start(), "saving a step renews a lease that nobody took meanwhile"


async def test_inputs_that_waited_stand_behind_what_was_said_meanwhile(house: House) -> None:
    first, second = house.plan("first"), house.plan("second")
    holding = await house.admitted(first)
    waiting = LeaseAttempt(house.db, second)
    await waiting.start()
    record = house.record(first)
    await house.checkpoint.save(first, await house.state(holding), record, fence=holding.fence)
    assert await waiting.start()
    assert waiting.inputs[0].created_at > record.messages[-1].created_at
    (stored,) = await house.db.read(messages.list_run_messages, second.run.id)
    assert stored.created_at == waiting.inputs[0].created_at


async def test_an_input_that_came_before_the_last_answer_but_after_its_lease_stands_behind_it(
    house: House,
) -> None:
    """Written down by a client of another process, that is, while the last step was being saved here."""
    early = house.plan("early")
    first = house.plan("first")
    holding = await house.admitted(first)
    record = house.record(first)
    await house.checkpoint.save(first, await house.state(holding), record, fence=holding.fence)
    attempt = await house.admitted(early)
    assert attempt.inputs[0].created_at > record.messages[-1].created_at


async def test_the_one_who_came_first_goes_first(house: House) -> None:
    first, second, third = (house.plan(text) for text in ("first", "second", "third"))
    holding = await house.admitted(first)
    attempts = {plan.run.id: LeaseAttempt(house.db, plan) for plan in (third, second)}
    for attempt in attempts.values():
        assert not await attempt.start()
    await house.checkpoint.save(first, await house.state(holding), house.record(first), fence=holding.fence)
    assert not await attempts[third.run.id].start()
    assert await attempts[second.run.id].start()


async def test_one_that_fell_silent_in_the_line_holds_nobody_up(house: House) -> None:
    first, second, third = (house.plan(text) for text in ("first", "second", "third"))
    holding = await house.admitted(first)
    for plan in (second, third):
        assert not await LeaseAttempt(house.db, plan).start()
    await house.checkpoint.save(first, await house.state(holding), house.record(first), fence=holding.fence)
    await house.db.write(_lapse, second.run.id)
    assert await LeaseAttempt(house.db, third, is_recorded=True).start()


async def test_a_lapsed_lease_is_taken_over_and_its_run_ended(house: House) -> None:
    dead, heir = house.plan("never answered"), house.plan("next")
    await house.admitted(dead)
    await house.db.write(_lapse, dead.run.id)
    attempt = await house.admitted(heir)
    assert await house.db.read(_run, dead.run.id) == ("failed", "error")
    assert await house.db.read(_set_aside, dead.run.id) == [True]
    assert [each.message.text for each in (await house.state(attempt)).window] == []


async def test_a_step_whose_lease_was_stolen_saves_nothing(house: House) -> None:
    late, heir = house.plan("slow"), house.plan("quick")
    slow = await house.admitted(late)
    state = await house.state(slow)
    await house.db.write(_lapse, late.run.id)
    quick = await house.admitted(heir)
    before = await house.db.read(_counts), await house.db.read(_lease, house.agent)
    with pytest.raises(LeaseLost):
        await house.checkpoint.save(late, state, house.record(late), fence=slow.fence)
    assert (await house.db.read(_counts), await house.db.read(_lease, house.agent)) == before
    assert await house.db.read(_run, late.run.id) == ("failed", "error")
    await house.checkpoint.save(heir, await house.state(quick), house.record(heir), fence=quick.fence)
    assert await house.db.read(_run, heir.run.id) == ("completed", "end_turn")


async def test_an_old_fence_opens_nothing_even_to_the_same_run(house: House) -> None:
    """A background run may be carried on elsewhere under its own id while its first process still lives."""
    plan = house.plan()
    first = await house.admitted(plan)
    again = LeaseAttempt(house.db, plan, is_recorded=True)
    assert await again.start()
    state = await house.state(again)
    with pytest.raises(LeaseLost):
        await house.checkpoint.save(plan, state, house.record(plan), fence=first.fence)
    await house.checkpoint.save(plan, state, house.record(plan), fence=again.fence)


async def test_two_who_ask_at_once_do_not_both_get_it(house: House) -> None:
    plans = [house.plan(f"number {number}") for number in range(8)]
    attempts = [LeaseAttempt(house.db, plan) for plan in plans]
    granted = await asyncio.gather(*(attempt.start() for attempt in attempts))
    assert sum(granted) == 1
    holder, _ = await house.db.read(_lease, house.agent)
    assert holder == plans[granted.index(True)].run.id


async def test_renewing_keeps_a_lease_from_lapsing(house: House) -> None:
    plan, waiting = house.plan(), house.plan("waits")
    await house.admitted(plan)
    assert not await LeaseAttempt(house.db, waiting).start()
    for each in (plan, waiting):
        await house.db.write(_lapse, each.run.id)
    await house.db.write(repository.renew, [plan.run.id, waiting.run.id])
    assert not any(found.has_lapsed for found in await house.db.read(repository.list_held))
    assert not await LeaseAttempt(house.db, house.plan("also")).start()


async def test_the_sweep_ends_what_the_dead_left_and_nothing_else(house: House) -> None:
    supervisor = Supervisor(house.db, house.checkpoint)
    running, queued, living, far = (house.plan(text) for text in ("running", "queued", "living", "far"))
    await house.admitted(running)
    for plan in (queued, living, far):
        assert not await LeaseAttempt(house.db, plan).start()
    for plan, worker in ((running, DEAD), (queued, DEAD), (living, this_worker()), (far, ELSEWHERE)):
        await house.hand_to(plan.run.id, worker)
    await supervisor.sweep()
    statuses = [(await house.db.read(_run, each.run.id))[0] for each in (running, queued, living, far)]
    assert statuses == ["failed", "failed", "created", "created"]
    assert await house.db.read(_set_aside, queued.run.id) == [True]
    assert (await house.db.read(_lease, house.agent))[0] is None, "the next message need not wait"
    await house.db.write(_lapse, far.run.id)
    await supervisor.sweep()
    assert (await house.db.read(_run, far.run.id))[0] == "failed"


async def test_a_run_that_cannot_be_carried_on_is_ended_and_keeps_none_from_the_others(house: House) -> None:
    supervisor = Supervisor(house.db, house.checkpoint)
    orphan, other = house.plan("orphan"), house.plan("other")
    await house.admitted(orphan)
    assert not await LeaseAttempt(house.db, other).start()
    for plan in (orphan, other):
        await house.hand_to(plan.run.id, DEAD)
    await house.db.write(_set_run, orphan.run.id, background=True)

    async def revive(found: repository.HeldRun) -> None:
        raise NotFound(f"{found.id} was in a conversation that was deleted.")

    supervisor.revive = revive
    await supervisor.sweep()
    for plan in (orphan, other):
        assert (await house.db.read(_run, plan.run.id))[0] == "failed"


async def test_one_that_was_cancelled_and_whose_process_died_holds_nobody_up(house: House) -> None:
    plan = house.plan("cancelled")
    await house.admitted(plan)
    assert await house.db.write(repository.cancel_run, house.actor, plan.run.lane, plan.run.id)
    await house.hand_to(plan.run.id, DEAD)
    await Supervisor(house.db, house.checkpoint).sweep()
    assert (await house.db.read(_lease, house.agent))[0] is None, "the next message need not wait"
    assert await house.db.read(_run, plan.run.id) == ("cancelled", "cancelled")
    assert await house.db.read(_set_aside, plan.run.id) == [True]
    assert await house.db.read(repository.list_held) == []


async def test_only_the_end_of_a_background_run_is_left_to_be_told(house: House) -> None:
    supervisor = Supervisor(house.db, house.checkpoint)
    told: list[repository.HeldRun] = []

    async def conclude(found: repository.HeldRun) -> None:
        told.append(found)

    supervisor.conclude = conclude
    for is_background in (True, False):
        plan = house.plan()
        attempt = await house.admitted(plan)
        await house.db.write(_set_run, plan.run.id, background=is_background)
        state = await house.state(attempt)
        await house.checkpoint.save(plan, state, house.record(plan), fence=attempt.fence)
    held = await house.db.read(repository.list_held)
    assert [found.is_background for found in held] == [True]
    await supervisor.sweep()
    assert told == [], "its process lives, and will tell it"
    await house.hand_to(held[0].id, DEAD)
    supervisor.telling.add(held[0].id)
    await supervisor.sweep()
    assert told == [], "it is being told"
    supervisor.telling.clear()
    await supervisor.sweep()
    assert [(found.id, found.is_open) for found in told] == [(held[0].id, False)]


async def test_one_that_another_process_tells_is_told_by_nobody_else(house: House) -> None:
    plan = house.plan()
    await house.admitted(plan)
    await house.hand_to(plan.run.id, ELSEWHERE)
    with pytest.raises(LeaseLost):
        await house.db.write(
            repository.append_events,
            plan.run.id,
            this_worker(),
            first_seq=1,
            last_seq=1,
            frames="data: 1\n\n",
            channel="news",
        )


async def test_a_run_that_ended_is_not_ended_again(house: House) -> None:
    plan = house.plan()
    attempt = await house.admitted(plan)
    await house.checkpoint.save(plan, await house.state(attempt), house.record(plan), fence=attempt.fence)
    await house.hand_to(plan.run.id, DEAD)
    await Supervisor(house.db, house.checkpoint).sweep()
    await house.db.write(repository.end_dead_run, plan.run.id)
    assert await house.db.read(_run, plan.run.id) == ("completed", "end_turn")
    assert await house.db.read(_set_aside, plan.run.id) == [False, False]
