"""What a turn brings about: runs of other agents, put on record in the transaction that ends it.

So none is lost by a crash, and none begins before the reply is whole. They are background runs like any
other: each in its own agent's history, visible, cancellable, carried on by another process if need be.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState
from remanence.core.run import Run
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_run_id, new_step_id
from remanence.kit.json import JsonObject
from remanence.kit.worker import this_worker
from remanence.messages import repository as messages
from remanence.messages.sending import MessageCreate, SendRequest, to_messages
from remanence.runs import repository
from remanence.runs.plan import RunPlan
from remanence.runs.repository import HeldRun


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Something to be said to another agent, now that a turn is over."""

    agent: Agent
    text: str
    run_type: str
    source: JsonObject
    """Where it came from, for whoever asks why that agent did something."""


class Followers(Protocol):
    def after_turn(
        self, connection: Connection, run: RunPlan, state: AgentState, until: datetime
    ) -> list[FollowUp]:
        """What follows from a turn that came to its end at this moment; its messages are stored already."""
        ...


def record_follow_up(connection: Connection, actor: Actor, follow_up: FollowUp) -> HeldRun:
    agent = follow_up.agent
    request = SendRequest(messages=[MessageCreate(role="user", content=follow_up.text)], background=True)
    now = utc_now()
    run = Run(
        id=new_run_id(),
        organization_id=actor.organization_id,
        agent_id=agent.id,
        status="created",
        background=True,
        # A moment later, so that it never sorts before the turn that it follows.
        created_at=now + timedelta(microseconds=1),
        metadata={"run_type": follow_up.run_type, "agent_id": agent.id, "source": follow_up.source},
    )
    repository.enqueue(connection, run, this_worker(), request.kept() | {"user_id": actor.user_id})
    inputs = to_messages(
        request.inputs(),
        agent_id=agent.id,
        conversation_id=None,
        run_id=run.id,
        step_id=new_step_id(),
        start=now,
    )
    messages.insert_messages(connection, actor.organization_id, inputs)
    return HeldRun(
        run.id,
        this_worker(),
        has_lapsed=False,
        is_open=True,
        was_cancelled=False,
        is_background=True,
        is_carried_on=True,
    )
