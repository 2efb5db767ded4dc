"""Keys that open the door, of which only digests are kept."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from remanence.core.access import Scope
from remanence.db.tables.base import Base, Dated, Identified, Owned
from remanence.db.types import UtcDateTime, ValidatedJson


class ApiKeyRow(Identified, Owned, Dated, Base):
    __tablename__ = "api_keys"
    __table_args__ = (
        Index("ix_api_keys_digest", "digest", unique=True),
        Index("ix_api_keys_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_api_keys_user_id", "user_id"),
        Index("ix_api_keys_parent_id", "parent_id"),
    )

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), nullable=False)
    kind: Mapped[str] = mapped_column(String, nullable=False)
    name: Mapped[str] = mapped_column(String, nullable=False)
    role: Mapped[str] = mapped_column(String, nullable=False)
    scopes: Mapped[tuple[Scope, ...]] = mapped_column(ValidatedJson(tuple[Scope, ...]), nullable=False)
    digest: Mapped[str] = mapped_column(String, nullable=False)
    hint: Mapped[str] = mapped_column(String, nullable=False)
    """The first letters, by which people know their keys apart."""
    hostname: Mapped[str | None] = mapped_column(String)
    requests_per_minute: Mapped[int | None] = mapped_column(Integer)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    """The key that a session was signed in with, and ends with."""
