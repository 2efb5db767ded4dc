"""Tools and who holds them."""

from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, json_field


class ToolRow(Identified, Owned, Audited, Projected, Base):
    __tablename__ = "tools"
    __table_args__ = (
        UniqueConstraint("organization_id", "name", name="uix_name_organization"),
        Index("ix_tools_created_at", "created_at", "id"),
    )

    name: Mapped[str] = mapped_column(String, nullable=False)
    tool_type: Mapped[str] = mapped_column(String, nullable=False)
    description: Mapped[str | None] = mapped_column(Text)
    source_type: Mapped[str | None] = mapped_column(String)
    source_code: Mapped[str | None] = mapped_column(Text)
    json_schema: Mapped[Any] = json_field(nullable=False)
    args_json_schema: Mapped[Any] = json_field()
    tags: Mapped[Any] = json_field(nullable=False)
    return_char_limit: Mapped[int] = mapped_column(Integer, nullable=False)
    pip_requirements: Mapped[Any] = json_field()
    npm_requirements: Mapped[Any] = json_field()
    default_requires_approval: Mapped[bool | None] = mapped_column(Boolean)
    enable_parallel_execution: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false(), nullable=False
    )
    metadata_: Mapped[Any] = json_field(nullable=False)


class ToolsAgentsRow(Base):
    __tablename__ = "tools_agents"
    __table_args__ = (
        UniqueConstraint("agent_id", "tool_id", name="unique_agent_tool"),
        Index("ix_tools_agents_tool_id", "tool_id"),
    )

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True)
    tool_id: Mapped[str] = mapped_column(ForeignKey("tools.id", ondelete="CASCADE"), primary_key=True)
