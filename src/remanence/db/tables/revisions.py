"""The history of what memory holds."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, String, text
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, json_field
from remanence.db.types import UtcDateTime

_BY_RUN = text("run_id IS NOT NULL")


class RevisionRow(Base):
    """One write to a block or a passage. There are many, so that nothing is kept twice."""

    __tablename__ = "revisions"
    __table_args__ = (
        Index("ix_revisions_run_id", "run_id", sqlite_where=_BY_RUN, postgresql_where=_BY_RUN),
        {"sqlite_with_rowid": False},
    )

    subject_id: Mapped[str] = mapped_column(String, primary_key=True)
    """Of a block or a passage; whoever removes one for good removes these too."""
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    action: Mapped[str] = mapped_column(String, nullable=False)
    author_kind: Mapped[str] = mapped_column(String, nullable=False)
    author_id: Mapped[str | None] = mapped_column(String)
    run_id: Mapped[str | None] = mapped_column(String)
    message_id: Mapped[str | None] = mapped_column(String)
    tool: Mapped[str | None] = mapped_column(String)
    restored: Mapped[int | None] = mapped_column(Integer)
    chars: Mapped[int] = mapped_column(Integer, nullable=False)
    change: Mapped[Any] = json_field(nullable=False)
