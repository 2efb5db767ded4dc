"""Messages, the windows of context over them, and conversations."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Audited, Base, Identified, Owned, json_field
from remanence.db.types import UtcDateTime

_GROUPED = text("group_id IS NOT NULL")


class ConversationRow(Identified, Owned, Audited, Base):
    """A side history of an agent. The agent's own history has no row here."""

    __tablename__ = "conversations"
    __table_args__ = (Index("ix_conversations_agent_id_created_at", "agent_id", "created_at"),)

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    summary: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    model: Mapped[str | None] = mapped_column(String)
    model_settings: Mapped[Any] = json_field()
    context_window_limit: Mapped[int | None] = mapped_column(Integer)
    isolated_block_ids: Mapped[Any] = json_field()
    last_message_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    archived: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)
    archived_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    hidden: Mapped[bool | None] = mapped_column(Boolean)


class MessageRow(Identified, Base):
    """One stored message. Rows are many, so there are no audit columns and few indexes."""

    __tablename__ = "messages"
    __table_args__ = (
        Index("ix_messages_org_agent", "organization_id", "agent_id"),
        Index("ix_messages_agent_id_created_at", "agent_id", "created_at"),
        Index("ix_messages_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_messages_run_id", "run_id"),
        Index("ix_messages_step_id", "step_id"),
        # Few belong to groups, so the others do not pay for it.
        Index(
            "ix_messages_group_id_created_at",
            "group_id",
            "created_at",
            sqlite_where=_GROUPED,
            postgresql_where=_GROUPED,
        ),
    )

    organization_id: Mapped[str] = mapped_column(
        ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False
    )
    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    conversation_id: Mapped[str | None] = mapped_column(String)
    role: Mapped[str] = mapped_column(String, nullable=False)
    content: Mapped[Any] = json_field()
    tool_calls: Mapped[Any] = json_field()
    tool_returns: Mapped[Any] = json_field()
    approvals: Mapped[Any] = json_field()
    approval_request_id: Mapped[str | None] = mapped_column(String)
    name: Mapped[str | None] = mapped_column(String)
    run_id: Mapped[str | None] = mapped_column(String)
    step_id: Mapped[str | None] = mapped_column(String)
    otid: Mapped[str | None] = mapped_column(String)
    sender_id: Mapped[str | None] = mapped_column(String)
    group_id: Mapped[str | None] = mapped_column(String)
    batch_item_id: Mapped[str | None] = mapped_column(String)
    model: Mapped[str | None] = mapped_column(String)
    is_err: Mapped[bool | None] = mapped_column(Boolean)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, nullable=False)


class SharedMessageRow(Base):
    """A message that a conversation has in common with the history it was forked from."""

    __tablename__ = "shared_messages"

    conversation_id: Mapped[str] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    message_id: Mapped[str] = mapped_column(
        ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class ContextMessageRow(Base):
    """A message that the model sees, at its place in the window of an agent or a conversation."""

    __tablename__ = "context_messages"

    owner_id: Mapped[str] = mapped_column(String, primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    message_id: Mapped[str] = mapped_column(
        ForeignKey("messages.id", ondelete="CASCADE"), nullable=False, index=True
    )
