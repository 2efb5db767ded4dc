"""Providers of models that organisations brought themselves."""

from datetime import datetime

from sqlalchemy import Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Dated, Identified, Owned
from remanence.db.types import UtcDateTime


class ProviderRow(Identified, Owned, Dated, Base):
    """Keys are encrypted at rest."""

    __tablename__ = "providers"
    __table_args__ = (
        UniqueConstraint("organization_id", "name", name="unique_provider_name"),
        Index("ix_providers_organization_id_created_at", "organization_id", "created_at"),
    )

    name: Mapped[str] = mapped_column(String, nullable=False)
    provider_type: Mapped[str] = mapped_column(String, nullable=False)
    base_url: Mapped[str | None] = mapped_column(String)
    region: Mapped[str | None] = mapped_column(String)
    api_version: Mapped[str | None] = mapped_column(String)
    api_key_enc: Mapped[str] = mapped_column(Text, nullable=False)
    access_key_enc: Mapped[str | None] = mapped_column(Text)
    last_synced: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_by_id: Mapped[str | None] = mapped_column(String)
    last_updated_by_id: Mapped[str | None] = mapped_column(String)
