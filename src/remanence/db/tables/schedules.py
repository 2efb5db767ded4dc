"""What is to be said to agents later: once, or again and again."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, Integer, String, text
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Dated, Identified, Owned, json_field
from remanence.db.types import UtcDateTime

_AHEAD = text("next_run_at IS NOT NULL")


class ScheduleRow(Identified, Owned, Dated, Base):
    __tablename__ = "schedules"
    __table_args__ = (
        Index("ix_schedules_agent_id_created_at", "agent_id", "created_at"),
        # Asked for every few seconds.
        Index("ix_schedules_next_run_at", "next_run_at", sqlite_where=_AHEAD, postgresql_where=_AHEAD),
    )

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    created_by_id: Mapped[str] = mapped_column(String, nullable=False)
    request: Mapped[Any] = json_field(nullable=False)
    scheduled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    cron: Mapped[str | None] = mapped_column(String)
    timezone: Mapped[str] = mapped_column(String, nullable=False)
    missed_runs: Mapped[str] = mapped_column(String, nullable=False)
    grace_s: Mapped[int] = mapped_column(Integer, nullable=False)
    next_run_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_run_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_run_id: Mapped[str | None] = mapped_column(String)
