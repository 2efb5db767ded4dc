"""Groups of agents and what they share."""

from typing import TYPE_CHECKING

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, Templated

if TYPE_CHECKING:
    from remanence.db.tables.agents import AgentRow


class GroupRow(Identified, Owned, Audited, Projected, Templated, Base):
    __tablename__ = "groups"
    __table_args__ = (
        Index("ix_groups_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_groups_manager_agent_id", "manager_agent_id"),
    )

    description: Mapped[str] = mapped_column(Text, nullable=False)
    manager_type: Mapped[str] = mapped_column(String, nullable=False)
    manager_agent_id: Mapped[str | None] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"))
    termination_token: Mapped[str | None] = mapped_column(String)
    max_turns: Mapped[int | None] = mapped_column(Integer)
    sleeptime_agent_frequency: Mapped[int | None] = mapped_column(Integer)
    turns_counter: Mapped[int | None] = mapped_column(Integer)
    last_processed_message_id: Mapped[str | None] = mapped_column(String)
    max_message_buffer_length: Mapped[int | None] = mapped_column(Integer)
    min_message_buffer_length: Mapped[int | None] = mapped_column(Integer)
    hidden: Mapped[bool | None] = mapped_column(Boolean)

    agents: Mapped[list["AgentRow"]] = relationship(
        secondary="groups_agents", back_populates="groups", viewonly=True
    )


class GroupsAgentsRow(Base):
    __tablename__ = "groups_agents"

    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), primary_key=True)
    agent_id: Mapped[str] = mapped_column(
        ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    position: Mapped[int] = mapped_column(Integer, default=0, server_default="0", nullable=False)


class GroupTurnRow(Base):
    """A turn to speak in a group: the run of the agent whose turn it was."""

    __tablename__ = "group_turns"

    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    """Counts all turns of the group; at most the newest one is under way."""
    round_id: Mapped[str] = mapped_column(String, nullable=False)
    """The run that its round began with: all that follows from one message to the group."""
    run_id: Mapped[str] = mapped_column(
        # Whose turn is next is decided a moment before its run is put on record.
        ForeignKey("runs.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    )


class GroupsBlocksRow(Base):
    __tablename__ = "groups_blocks"

    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id", ondelete="CASCADE"), primary_key=True)
    block_id: Mapped[str] = mapped_column(
        ForeignKey("block.id", ondelete="CASCADE"), primary_key=True, index=True
    )
