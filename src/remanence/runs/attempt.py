"""The way of one run to its lease: on record as waiting, then in its turn, then at work."""

from datetime import timedelta

from sqlalchemy import Connection

from remanence.agents.conversations.repository import note_message
from remanence.agents.state import Versions
from remanence.core.message import Message
from remanence.db.database import Database
from remanence.kit.clock import later_than
from remanence.kit.ids import AgentId, OrgId
from remanence.kit.worker import this_worker
from remanence.messages import repository as messages
from remanence.runs import repository
from remanence.runs.plan import AlreadyStarted, RunPlan


class LeaseAttempt:
    def __init__(self, db: Database, plan: RunPlan, *, is_recorded: bool = False) -> None:
        self._db = db
        self._plan = plan
        self._is_recorded = is_recorded
        self._grant: repository.Grant | None = None
        self.inputs: tuple[Message, ...] = plan.inputs
        """As stored; those that had to wait move behind what was said meanwhile."""

    @property
    def organization_id(self) -> OrgId:
        return self._plan.run.organization_id

    @property
    def agent_id(self) -> AgentId:
        return self._plan.run.agent_id

    @property
    def fence(self) -> int:
        assert self._grant is not None, "the lease comes before the work"
        return self._grant.fence

    @property
    def versions(self) -> Versions:
        assert self._grant is not None, "the lease comes before the work"
        return Versions(self._grant.agent_version, self._grant.window_version)

    async def enqueue(self) -> None:
        if self._is_recorded:
            return
        await self._db.write(_record_waiting, self._plan)
        self._is_recorded = True

    async def start(self) -> bool:
        self._grant, self.inputs = await self._db.write(_start, self._plan, not self._is_recorded)
        self._is_recorded = True
        return self._grant is not None


def _record_waiting(connection: Connection, plan: RunPlan) -> None:
    repository.enqueue(connection, plan.run, this_worker(), plan.request)
    _insert_inputs(connection, plan, plan.inputs)


def _insert_inputs(connection: Connection, plan: RunPlan, inputs: tuple[Message, ...]) -> None:
    known = repository.claim_otids(connection, plan.run, plan.otids)
    if known is not None:
        raise AlreadyStarted(known)  # and so the run that was just put on record is rolled back
    messages.insert_messages(connection, plan.run.organization_id, inputs)


def _start(
    connection: Connection, plan: RunPlan, is_new: bool
) -> tuple[repository.Grant | None, tuple[Message, ...]]:
    grant = repository.try_start(
        connection, plan.run, this_worker(), is_new=is_new, is_patient=plan.is_patient, request=plan.request
    )
    if plan.run.conversation_id is not None and (is_new or grant is not None):
        note_message(connection, plan.run.conversation_id)
    inputs = plan.inputs if grant is None else _after_history(connection, plan)
    if is_new:
        _insert_inputs(connection, plan, inputs)
    elif inputs is not plan.inputs:
        messages.restamp(connection, inputs)
    return grant, inputs


def _after_history(connection: Connection, plan: RunPlan) -> tuple[Message, ...]:
    """The inputs, dated anew if something was said between their arrival and their turn.

    That happens to those that waited, but also to one that found the lease free: another process may
    have saved its last step in the meantime.
    """
    if not plan.inputs:
        return ()
    last = messages.last_message_before_run(connection, plan.run.agent_id, plan.run.id)
    if last is None or last < plan.inputs[0].created_at:
        return plan.inputs
    start = later_than(last)
    return tuple(
        message.model_copy(update={"created_at": start + timedelta(microseconds=offset)})
        for offset, message in enumerate(plan.inputs)
    )
