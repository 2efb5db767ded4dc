"""What a database shows of the promises that are kept in it (docs/architecture.md, Invariants)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError
from sqlalchemy import Connection, Select, and_, func, or_, select, text
from sqlalchemy.orm import aliased

from remanence.core.history import mend_history
from remanence.core.job import OPEN as OPEN_JOB
from remanence.core.run import RunStatus
from remanence.db.tables import (
    AgentRow,
    AgentSecretRow,
    ArchiveRow,
    ArchivesAgentsRow,
    BatchItemRow,
    BlockRow,
    BlocksAgentsRow,
    ContextMessageRow,
    ConversationRow,
    JobRow,
    LeaseRow,
    McpServerRow,
    MessageRow,
    ProviderRow,
    RunEventsRow,
    RunRow,
    SandboxVariableRow,
    ScheduleRow,
    StepRow,
    ToolJournalRow,
    ToolRow,
    ToolsAgentsRow,
)
from remanence.kit.clock import utc_now
from remanence.kit.vault import Vault
from remanence.messages.repository import load_window, message_from

_OPEN: tuple[RunStatus, ...] = ("created", "running")
_TAKEN_OVER_S = 30
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that should not be so. `mend` says what to do about it."""

    check: str
    where: str
    what: str
    mend: str


def check_soundness(connection: Connection) -> Iterator[Fault]:
    """The database's own view of its files."""
    if connection.dialect.name != "sqlite":
        return
    mend = "restore a backup"
    for (found,) in connection.execute(text("PRAGMA integrity_check(20)")):
        if found != "ok":
            yield Fault("soundness", "database", str(found), mend)
    for table, row, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
        yield Fault("soundness", f"{table} row {row}", f"refers to a row of {parent} that is gone", mend)


def check_acknowledged(connection: Connection) -> Iterator[Fault]:
    """1: what was taken up is on disk. A run that is to go on has its input."""
    said = select(MessageRow.id).where(MessageRow.run_id == RunRow.id).exists()
    for row in connection.execute(select(RunRow.id).where(RunRow.status.in_(_OPEN), ~said)):
        yield Fault("acknowledged", row.id, "is open and has no message", "cancel the run")
    told = select(RunRow.id).where(RunRow.id == MessageRow.run_id).exists()
    lost = select(MessageRow.id, MessageRow.run_id).where(MessageRow.run_id.is_not(None), ~told)
    for row in connection.execute(lost):
        yield Fault("acknowledged", row.id, f"belongs to {row.run_id}, which is gone", "restore a backup")


def check_steps(connection: Connection) -> Iterator[Fault]:
    """2: a step is saved whole. What an agent said or called has its step, and a step its run."""
    step = select(StepRow.id).where(StepRow.id == MessageRow.step_id).exists()
    half = select(MessageRow.id, MessageRow.step_id).where(
        MessageRow.step_id.is_not(None), MessageRow.role.in_(("assistant", "tool")), ~step
    )
    for row in connection.execute(half):
        yield Fault("steps", row.id, f"is of {row.step_id}, which was never saved", "restore a backup")


def check_histories(connection: Connection, lanes: Sequence[tuple[str, str]]) -> Iterator[Fault]:
    """3: every history can be read by a provider, and is made of its own agent's messages."""
    for lane, agent_id in lanes:
        mend = f"POST /v1/agents/{agent_id}/repair" + ("" if lane == agent_id else f"?conversation_id={lane}")
        try:
            window, _ = load_window(connection, lane)
        except ValidationError as error:
            yield Fault(
                "histories", lane, f"has a message that cannot be read: {error.title}", "restore a backup"
            )
            continue
        for found in mend_history(window).findings:
            where = f"{lane} {found.message_id or ''}".strip()
            yield Fault("histories", where, found.problem.replace("_", " "), mend)
        if not window or window[0].role != "system":
            yield Fault("histories", lane, "does not begin with its system message", mend)
        if any(message.agent_id != agent_id for message in window):
            yield Fault("histories", lane, "has messages of another agent in it", mend)


def list_lanes(connection: Connection) -> list[tuple[str, str]]:
    """All histories, with the agents that they are of."""
    own = connection.execute(select(AgentRow.id, AgentRow.id).where(AgentRow.is_deleted.is_(False)))
    aside = connection.execute(
        select(ConversationRow.id, ConversationRow.agent_id)
        .join(AgentRow, AgentRow.id == ConversationRow.agent_id)
        .where(ConversationRow.is_deleted.is_(False), AgentRow.is_deleted.is_(False))
    )
    return [(row[0], row[1]) for row in (*own, *aside)]


def check_messages(connection: Connection) -> Iterator[Fault]:
    """3, beyond windows: whatever was said can still be read."""
    columns = [column for column in MessageRow.__table__.columns if column.name != "organization_id"]
    statement = select(*columns).execution_options(yield_per=_BATCH)
    for row in connection.execute(statement):
        try:
            message_from(row)
        except ValidationError as error:
            yield Fault("messages", row.id, f"cannot be read: {error.errors()[0]['msg']}", "restore a backup")


def check_leases(connection: Connection, lanes: Sequence[tuple[str, str]]) -> Iterator[Fault]:
    """4: one writer per conversation."""
    known = set(connection.scalars(select(LeaseRow.lane)))
    for lane, _ in lanes:
        if lane not in known:
            yield Fault("leases", lane, "has no lease, so that no run can write to it", "restore a backup")
    running = (
        select(RunRow.lane, func.count().label("runs"))
        .where(RunRow.status == "running", RunRow.alive_until > utc_now())
        .group_by(RunRow.lane)
        .having(func.count() > 1)
    )
    for row in connection.execute(running):
        yield Fault("leases", row.lane, f"has {row.runs} runs at work at once", "cancel all but one")
    ended = (
        select(LeaseRow.lane, LeaseRow.holder)
        .outerjoin(RunRow, RunRow.id == LeaseRow.holder)
        .where(
            LeaseRow.holder.is_not(None),
            LeaseRow.expires_at < utc_now() - timedelta(seconds=_TAKEN_OVER_S),
            or_(RunRow.id.is_(None), RunRow.status.not_in(_OPEN)),
        )
    )
    for row in connection.execute(ended):
        yield Fault(
            "leases", row.lane, f"is held by {row.holder}, which is over", "send a message: it is taken over"
        )


def check_runs(connection: Connection) -> Iterator[Fault]:
    """5: a run that is not over is somebody's. 6: what was begun outside is not forgotten with its run."""
    nobodys = select(RunRow.id).where(RunRow.status.in_(_OPEN), RunRow.worker.is_(None))
    for row in connection.execute(nobodys):
        yield Fault("runs", row.id, "is open, but no process has it", "cancel the run")
    unended = select(RunRow.id).where(RunRow.status.not_in(_OPEN), RunRow.completed_at.is_(None))
    for row in connection.execute(unended):
        yield Fault("runs", row.id, "is over, but has no end", "none is needed")
    begun = (
        select(ToolJournalRow.run_id)
        .join(RunRow, RunRow.id == ToolJournalRow.run_id)
        .where(RunRow.status.not_in(_OPEN))
    )
    for row in connection.execute(begun):
        yield Fault(
            "journal", row.run_id, "is over with a call whose outcome was never told", "look at its last call"
        )


def check_later(connection: Connection) -> Iterator[Fault]:
    """5, for what is to be done later: a job that is over has its end, a batch all of its requests."""
    is_open = JobRow.status.in_(OPEN_JOB)
    odd = or_(
        and_(is_open, JobRow.completed_at.is_not(None)),
        and_(~is_open, JobRow.completed_at.is_(None), JobRow.worker.is_(None)),
    )
    for row in connection.execute(select(JobRow.id, JobRow.status).where(odd)):
        yield Fault("later", row.id, f"is {row.status}, and its end says otherwise", "delete the job")
    left = (
        select(BatchItemRow.job_id, func.count().label("items"))
        .join(JobRow, JobRow.id == BatchItemRow.job_id)
        .where(JobRow.completed_at.is_not(None), BatchItemRow.status.is_(None))
        .group_by(BatchItemRow.job_id)
    )
    for row in connection.execute(left):
        yield Fault(
            "later", row.job_id, f"is over with {row.items} requests left", "send them in another batch"
        )
    orphaned = (
        select(ScheduleRow.id)
        .join(AgentRow, AgentRow.id == ScheduleRow.agent_id)
        .where(AgentRow.is_deleted.is_(True))
    )
    for row in connection.execute(orphaned):
        yield Fault("later", row.id, "is for an agent that is gone", "none is needed: it goes when it is due")


def check_streams(connection: Connection) -> Iterator[Fault]:
    """7: a stream can be read again from any place: its frames follow each other without a gap."""
    before = func.lag(RunEventsRow.last_seq).over(
        partition_by=RunEventsRow.run_id, order_by=RunEventsRow.last_seq
    )
    rows = select(RunEventsRow.run_id, RunEventsRow.first_seq, before.label("before")).subquery()
    gaps = select(rows.c.run_id, rows.c.first_seq).where(
        rows.c.before.is_not(None), rows.c.first_seq != rows.c.before + 1
    )
    for row in connection.execute(gaps):
        yield Fault("streams", row.run_id, f"lacks the frames before {row.first_seq}", "none: they are gone")


def check_confinement(connection: Connection) -> Iterator[Fault]:
    """What an agent holds is of its own organisation."""
    for noun, statement in _foreign_things():
        for row in connection.execute(statement):
            yield Fault(
                "confinement", row.agent_id, f"holds {noun} {row.thing} of another organisation", "detach it"
            )


def _foreign_things() -> Iterator[tuple[str, Select[str, str]]]:
    agent = aliased(AgentRow)
    for noun, link, link_id, thing in (
        ("block", BlocksAgentsRow, BlocksAgentsRow.block_id, BlockRow),
        ("tool", ToolsAgentsRow, ToolsAgentsRow.tool_id, ToolRow),
        ("archive", ArchivesAgentsRow, ArchivesAgentsRow.archive_id, ArchiveRow),
    ):
        yield (
            noun,
            (
                select(agent.id.label("agent_id"), thing.id.label("thing"))
                .join(link, link.agent_id == agent.id)
                .join(thing, thing.id == link_id)
                .where(thing.organization_id != agent.organization_id)
            ),
        )
    mine = and_(ContextMessageRow.message_id == MessageRow.id, MessageRow.agent_id == agent.id)
    yield (
        "message",
        (
            select(agent.id.label("agent_id"), MessageRow.id.label("thing"))
            .join(ContextMessageRow, ContextMessageRow.owner_id == agent.id)
            .join(MessageRow, mine)
            .where(MessageRow.organization_id != agent.organization_id)
        ),
    )


def check_memory(connection: Connection) -> Iterator[Fault]:
    """Blocks are within their limits."""
    long = select(BlockRow.id, BlockRow.limit).where(
        BlockRow.is_deleted.is_(False), func.length(BlockRow.value) > BlockRow.limit
    )
    for row in connection.execute(long):
        yield Fault(
            "memory", row.id, f"is longer than its limit of {row.limit}", "shorten it, or raise its limit"
        )


def check_secrets(connection: Connection, vault: Vault) -> Iterator[Fault]:
    """Everything that is encrypted can be read with the key of this server."""
    kept = (
        (AgentSecretRow.id, AgentSecretRow.value_enc),
        (SandboxVariableRow.id, SandboxVariableRow.value_enc),
        (ProviderRow.id, ProviderRow.api_key_enc),
        (McpServerRow.id, McpServerRow.secrets_enc),
        (McpServerRow.id, McpServerRow.oauth_enc),
    )
    for id, column in kept:
        for owner, sealed in connection.execute(select(id, column).where(column.is_not(None))):
            try:
                vault.decrypt(sealed or "")
            except ValueError:
                yield Fault(
                    "secrets", owner, "cannot be read with this key", "put the former secret.key in place"
                )
