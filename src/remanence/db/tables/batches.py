"""What a batch consists of."""

from typing import Any

from sqlalchemy import ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Identified, json_field


class BatchItemRow(Identified, Base):
    __tablename__ = "batch_items"
    __table_args__ = (
        Index("ix_batch_items_job_id_position", "job_id", "position"),
        Index("ix_batch_items_run_id", "run_id"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False)
    position: Mapped[int] = mapped_column(Integer, nullable=False)
    agent_id: Mapped[str] = mapped_column(String, nullable=False)
    request: Mapped[Any] = json_field(nullable=False)
    run_id: Mapped[str | None] = mapped_column(String)
    """Once it has begun."""
    status: Mapped[str | None] = mapped_column(String)
    """How it ended: completed, failed or cancelled."""
