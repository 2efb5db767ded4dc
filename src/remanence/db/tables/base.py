"""What tables have in common: an id, an organisation, audit fields, soft delete."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, ForeignKey, MetaData, String, false
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from remanence.db.types import UtcDateTime, json_column
from remanence.kit.clock import utc_now


class Base(DeclarativeBase):
    # Named constraints: SQLite can only alter what it can name.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Identified:
    id: Mapped[str] = mapped_column(String, primary_key=True)


class Owned:
    """Belongs to an organisation; every query filters by it."""

    organization_id: Mapped[str] = mapped_column(
        String, ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False
    )


class Dated:
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=utc_now, nullable=False)
    updated_at: Mapped[datetime] = mapped_column(
        UtcDateTime, default=utc_now, onupdate=utc_now, nullable=False
    )


class Audited(Dated):
    created_by_id: Mapped[str | None] = mapped_column(String)
    last_updated_by_id: Mapped[str | None] = mapped_column(String)
    is_deleted: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)


class Projected:
    project_id: Mapped[str | None] = mapped_column(String)


class Templated:
    template_id: Mapped[str | None] = mapped_column(String)
    base_template_id: Mapped[str | None] = mapped_column(String)
    deployment_id: Mapped[str | None] = mapped_column(String)
    entity_id: Mapped[str | None] = mapped_column(String)


def json_field(*, nullable: bool = True) -> Mapped[Any]:
    return mapped_column(json_column(), nullable=nullable)
