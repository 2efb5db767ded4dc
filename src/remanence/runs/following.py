"""What a turn brings about: runs of other agents, put on record in the transaction that ends it.

So none is lost by a crash, and none begins before the reply is whole. They are background runs like any
other: each in its own agent's history, visible, cancellable, carried on by another process if need be.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState
from remanence.kit.ids import RunId, new_run_id
from remanence.kit.json import JsonObject
from remanence.messages.sending import SendRequest
from remanence.runs.beginning import record_run
from remanence.runs.plan import RunPlan
from remanence.runs.repository import HeldRun


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Something to be said to another agent, now that a turn is over."""

    agent: Agent
    request: SendRequest
    run_type: str
    told: JsonObject
    """What the record of the run says beyond that: where it came from, what it is a part of."""
    id: RunId = field(default_factory=new_run_id)


class Followers(Protocol):
    def after_turn(
        self, connection: Connection, run: RunPlan, state: AgentState, until: datetime
    ) -> list[FollowUp]:
        """What follows from a turn that came to its end at this moment; its messages are stored already."""
        ...


def record_follow_up(connection: Connection, actor: Actor, follow_up: FollowUp) -> HeldRun:
    agent_id = follow_up.agent.id
    metadata = {"run_type": follow_up.run_type, "agent_id": agent_id} | follow_up.told
    return record_run(connection, actor, agent_id, follow_up.request, metadata, run_id=follow_up.id)
