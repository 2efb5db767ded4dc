"""What is written down on the side: calls with outside effects, and the exchange with the provider."""

from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select

from remanence.core.journal import Journal, read_journal, write_journal
from remanence.core.llm import Tape
from remanence.core.run import Step
from remanence.db.tables import ProviderTraceRow, ToolJournalRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import RunId, StepId
from remanence.runs.traces import Trace, pack


def put_journal(connection: Connection, run_id: RunId, journal: Journal) -> None:
    values = {"run_id": run_id, "entry": write_journal(journal), "created_at": utc_now()}
    strike_journal(connection, run_id)
    connection.execute(insert(ToolJournalRow), values)


def find_journal(connection: Connection, run_id: str) -> Journal | None:
    entry = connection.scalar(select(ToolJournalRow.entry).where(ToolJournalRow.run_id == run_id))
    return read_journal(entry) if entry is not None else None


def strike_journal(connection: Connection, run_id: RunId) -> None:
    connection.execute(delete(ToolJournalRow).where(ToolJournalRow.run_id == run_id))


def insert_trace(connection: Connection, step: Step, tape: Tape) -> None:
    request, response = pack(tape)
    spent_ns = step.llm_request_ns or step.step_ns
    values = {
        "step_id": step.id,
        "created_at": utc_now(),
        "request": request,
        "response": response,
        "latency_ms": spent_ns // 1_000_000 if spent_ns is not None else None,
    }
    connection.execute(insert(ProviderTraceRow), values)


def find_trace(connection: Connection, step_id: StepId) -> Trace | None:
    columns = list(ProviderTraceRow.__table__.columns)
    row = connection.execute(select(*columns).where(ProviderTraceRow.step_id == step_id)).first()
    return Trace(*row) if row is not None else None


def drop_old_traces(connection: Connection, *, days: int) -> None:
    before = utc_now() - timedelta(days=days)
    connection.execute(delete(ProviderTraceRow).where(ProviderTraceRow.created_at < before))
