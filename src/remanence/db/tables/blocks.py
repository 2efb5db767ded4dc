"""Memory blocks, who holds them, and their tags."""

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Boolean,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, Templated, json_field

if TYPE_CHECKING:
    from remanence.db.tables.agents import AgentRow


class BlockRow(Identified, Owned, Audited, Projected, Templated, Base):
    __tablename__ = "block"
    __table_args__ = (
        # The label is part of the key that holders refer to, so one agent cannot hold two of one label.
        UniqueConstraint("id", "label", name="unique_block_id_label"),
        Index("ix_block_created_at", "created_at", "id"),
        Index("ix_block_organization_id_label", "organization_id", "label"),
        Index("ix_block_conversation_id", "conversation_id"),
    )

    label: Mapped[str] = mapped_column(String, nullable=False)
    value: Mapped[str] = mapped_column(Text, nullable=False)
    limit: Mapped[int] = mapped_column(Integer, nullable=False)
    description: Mapped[str | None] = mapped_column(Text)
    read_only: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)
    metadata_: Mapped[Any] = json_field(nullable=False)
    hidden: Mapped[bool | None] = mapped_column(Boolean)
    is_template: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)
    template_name: Mapped[str | None] = mapped_column(String)
    preserve_on_migration: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false(), nullable=False
    )
    conversation_id: Mapped[str | None] = mapped_column(String)
    """The one conversation that this is a copy for."""
    copied_from: Mapped[str | None] = mapped_column(String)
    revision: Mapped[int] = mapped_column(Integer, default=1, server_default="0", nullable=False)

    agents: Mapped[list["AgentRow"]] = relationship(
        secondary="blocks_agents",
        primaryjoin="BlockRow.id == BlocksAgentsRow.block_id",
        secondaryjoin="BlocksAgentsRow.agent_id == AgentRow.id",
        back_populates="core_memory",
        viewonly=True,
    )
    tags: Mapped[list["BlockTagRow"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by="BlockTagRow.position"
    )


class BlocksAgentsRow(Base):
    __tablename__ = "blocks_agents"
    __table_args__ = (
        UniqueConstraint("agent_id", "block_id", name="unique_agent_block"),
        UniqueConstraint("agent_id", "block_label", name="unique_label_per_agent"),
        ForeignKeyConstraint(
            ["block_id", "block_label"],
            ["block.id", "block.label"],
            name="fk_block_id_label",
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        Index("ix_blocks_agents_block_label_agent_id", "block_label", "agent_id"),
        Index("ix_blocks_agents_block_id", "block_id"),
    )

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True)
    block_id: Mapped[str] = mapped_column(String, primary_key=True)
    block_label: Mapped[str] = mapped_column(String, primary_key=True)


class BlockTagRow(Base):
    __tablename__ = "blocks_tags"
    __table_args__ = (Index("ix_blocks_tags_tag_block_id", "tag", "block_id"),)

    block_id: Mapped[str] = mapped_column(ForeignKey("block.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, default=0, server_default="0", nullable=False)
