"""Identities: the people and things on whose behalf agents act."""

from typing import TYPE_CHECKING, Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, json_field

if TYPE_CHECKING:
    from remanence.db.tables.agents import AgentRow


class IdentityRow(Identified, Owned, Audited, Projected, Base):
    __tablename__ = "identities"
    __table_args__ = (
        UniqueConstraint(
            "identifier_key",
            "project_id",
            "organization_id",
            name="unique_identifier_key_project_id_organization_id",
            postgresql_nulls_not_distinct=True,
        ),
        Index("ix_identities_created_at", "created_at", "id"),
    )

    identifier_key: Mapped[str] = mapped_column(String, nullable=False)
    name: Mapped[str] = mapped_column(String, nullable=False)
    identity_type: Mapped[str] = mapped_column(String, nullable=False)
    properties: Mapped[Any] = json_field(nullable=False)

    agents: Mapped[list["AgentRow"]] = relationship(
        secondary="identities_agents", back_populates="identities", passive_deletes=True
    )


class IdentitiesAgentsRow(Base):
    __tablename__ = "identities_agents"

    identity_id: Mapped[str] = mapped_column(
        ForeignKey("identities.id", ondelete="CASCADE"), primary_key=True
    )
    agent_id: Mapped[str] = mapped_column(
        ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class IdentitiesBlocksRow(Base):
    __tablename__ = "identities_blocks"

    identity_id: Mapped[str] = mapped_column(
        ForeignKey("identities.id", ondelete="CASCADE"), primary_key=True
    )
    block_id: Mapped[str] = mapped_column(
        ForeignKey("block.id", ondelete="CASCADE"), primary_key=True, index=True
    )
