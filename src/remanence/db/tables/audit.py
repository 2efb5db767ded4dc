"""Who did what. It refers to nothing, so that it outlives what it tells of."""

from datetime import datetime

from sqlalchemy import Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Identified
from remanence.db.types import UtcDateTime


class AuditRow(Identified, Base):
    __tablename__ = "audit_log"
    __table_args__ = (
        Index("ix_audit_log_created_at", "created_at"),
        Index("ix_audit_log_organization_id_created_at", "organization_id", "created_at"),
    )

    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)
    organization_id: Mapped[str | None] = mapped_column(String)
    user_id: Mapped[str | None] = mapped_column(String)
    key_id: Mapped[str | None] = mapped_column(String)
    method: Mapped[str] = mapped_column(String, nullable=False)
    route: Mapped[str] = mapped_column(String, nullable=False)
    object_id: Mapped[str | None] = mapped_column(String)
    status: Mapped[int] = mapped_column(Integer, nullable=False)
    ip: Mapped[str | None] = mapped_column(String)
    request_id: Mapped[str | None] = mapped_column(String)
