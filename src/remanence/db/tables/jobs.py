"""Work that is done later, and whose turn it is."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Dated, Identified, Owned, json_field
from remanence.db.types import UtcDateTime

_OPEN = text("completed_at IS NULL")


class JobRow(Identified, Owned, Dated, Base):
    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_organization_id_created_at", "organization_id", "created_at"),
        # The few that are still to be done, among all that ever were.
        Index("ix_jobs_due", "due_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
        Index("ix_jobs_agent_id", "agent_id"),
        Index("ix_jobs_source_id", "source_id"),
    )

    created_by_id: Mapped[str] = mapped_column(String, nullable=False)
    kind: Mapped[str] = mapped_column(String, nullable=False)
    job_type: Mapped[str] = mapped_column(String, nullable=False)
    status: Mapped[str] = mapped_column(String, nullable=False)
    agent_id: Mapped[str | None] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"))
    source_id: Mapped[str | None] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"))
    payload: Mapped[Any] = json_field(nullable=False)
    state: Mapped[Any] = json_field()
    metadata_: Mapped[Any] = json_field()
    due_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    tries: Mapped[int] = mapped_column(Integer, default=0, server_default="0", nullable=False)
    worker: Mapped[str | None] = mapped_column(String)
    """The process (`kit/worker.py`) that is at it."""
    alive_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    fence: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0", nullable=False)
    """Grows each time it is taken: a process that was thought dead cannot write with an old one."""
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    callback_url: Mapped[str | None] = mapped_column(String)
    callback_sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    callback_status_code: Mapped[int | None] = mapped_column(Integer)
    callback_error: Mapped[str | None] = mapped_column(Text)
