"""Runs, their steps, and the leases that let one process at a time write to a history."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, LargeBinary, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Identified, Owned, json_field
from remanence.db.types import UtcDateTime

_HELD = text("worker IS NOT NULL")


class RunRow(Identified, Owned, Base):
    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_agent_id_created_at", "agent_id", "created_at"),
        Index("ix_runs_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_runs_lane_status", "lane", "status"),
        # The few that somebody has to see to, among all that ever were.
        Index("ix_runs_held", "alive_until", sqlite_where=_HELD, postgresql_where=_HELD),
    )

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    conversation_id: Mapped[str | None] = mapped_column(String)
    lane: Mapped[str] = mapped_column(String, nullable=False)
    """The history it writes to: the agent's own id, or the conversation's."""
    status: Mapped[str] = mapped_column(String, nullable=False)
    background: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    alive_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """While it waits or works, its process keeps this ahead of the clock."""
    worker: Mapped[str | None] = mapped_column(String)
    """The process (`kit/worker.py`) that has something left to do for it: to run it, to tell its end."""
    stop_reason: Mapped[str | None] = mapped_column(String)
    metadata_: Mapped[Any] = json_field()
    request_config: Mapped[Any] = json_field()
    request: Mapped[Any] = json_field()
    """What another process needs to carry a background run on."""
    callback_url: Mapped[str | None] = mapped_column(String)
    callback_sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    callback_status_code: Mapped[int | None] = mapped_column(Integer)
    callback_error: Mapped[str | None] = mapped_column(Text)
    ttft_ns: Mapped[int | None] = mapped_column(BigInteger)
    total_duration_ns: Mapped[int | None] = mapped_column(BigInteger)
    tools_used: Mapped[Any] = json_field()


class RunEventsRow(Base):
    """Frames of a background run's stream, numbered, a few at a time."""

    __tablename__ = "run_events"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    last_seq: Mapped[int] = mapped_column(Integer, primary_key=True)
    first_seq: Mapped[int] = mapped_column(Integer, nullable=False)
    frames: Mapped[str] = mapped_column(Text, nullable=False)


class RunOtidRow(Base):
    """Which run a client's own message id started, so that sending it again starts no other."""

    __tablename__ = "run_otids"
    __table_args__ = (Index("ix_run_otids_created_at", "created_at"),)

    lane: Mapped[str] = mapped_column(String, primary_key=True)
    otid: Mapped[str] = mapped_column(String, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)


class ToolJournalRow(Base):
    """The calls that a step has begun outside, until the step is saved."""

    __tablename__ = "tool_journal"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    entry: Mapped[str] = mapped_column(Text, nullable=False)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)


class ProviderTraceRow(Base):
    """What was sent to a provider for one step and what came back, byte by byte, packed."""

    __tablename__ = "provider_traces"
    __table_args__ = (Index("ix_provider_traces_created_at", "created_at"),)

    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    request: Mapped[bytes] = mapped_column(LargeBinary, nullable=False)
    response: Mapped[bytes] = mapped_column(LargeBinary, nullable=False)
    latency_ms: Mapped[int | None] = mapped_column(Integer)


class StepRow(Identified, Owned, Base):
    __tablename__ = "steps"
    __table_args__ = (
        Index("ix_steps_run_id", "run_id"),
        Index("ix_steps_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_steps_agent_id_created_at", "agent_id", "created_at"),
    )

    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    agent_id: Mapped[str | None] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(String, nullable=False)
    stop_reason: Mapped[str | None] = mapped_column(String)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    provider_name: Mapped[str | None] = mapped_column(String)
    provider_category: Mapped[str | None] = mapped_column(String)
    model: Mapped[str | None] = mapped_column(String)
    model_handle: Mapped[str | None] = mapped_column(String)
    model_endpoint: Mapped[str | None] = mapped_column(String)
    context_window_limit: Mapped[int | None] = mapped_column(Integer)
    prompt_tokens: Mapped[int | None] = mapped_column(Integer)
    completion_tokens: Mapped[int | None] = mapped_column(Integer)
    total_tokens: Mapped[int | None] = mapped_column(Integer)
    cached_input_tokens: Mapped[int | None] = mapped_column(Integer)
    cache_write_tokens: Mapped[int | None] = mapped_column(Integer)
    reasoning_tokens: Mapped[int | None] = mapped_column(Integer)
    cost_nanos: Mapped[int | None] = mapped_column(BigInteger)
    """Billionths of a US dollar."""
    request_id: Mapped[str | None] = mapped_column(String)
    project_id: Mapped[str | None] = mapped_column(String)
    tags: Mapped[Any] = json_field()
    feedback: Mapped[str | None] = mapped_column(String)
    error_type: Mapped[str | None] = mapped_column(String)
    error_data: Mapped[Any] = json_field()
    step_ns: Mapped[int | None] = mapped_column(BigInteger)
    llm_request_ns: Mapped[int | None] = mapped_column(BigInteger)
    first_token_ns: Mapped[int | None] = mapped_column(BigInteger)
    tool_execution_ns: Mapped[int | None] = mapped_column(BigInteger)
    database_ns: Mapped[int | None] = mapped_column(BigInteger)


class LeaseRow(Base):
    """The right to write to one history. Free when it has no holder or has lapsed."""

    __tablename__ = "leases"

    lane: Mapped[str] = mapped_column(String, primary_key=True)
    agent_id: Mapped[str] = mapped_column(
        ForeignKey("agents.id", ondelete="CASCADE"), nullable=False, index=True
    )
    holder: Mapped[str | None] = mapped_column(String)
    """The run that has it."""
    fence: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0", nullable=False)
    """Grows each time the lease is taken: a process that was thought dead cannot write with an old one."""
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    window_version: Mapped[int] = mapped_column(BigInteger, default=1, server_default="1", nullable=False)
    """Grows with each change to the window of this history; caches compare it."""
    told: Mapped[Any] = json_field()
    """What the model knows of the agent's memory (`core/memory_notes.py`); null: what the system message says."""
