"""Agents, their tags and their secrets."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, Integer, String, Text, UniqueConstraint, false
from sqlalchemy.ext.associationproxy import AssociationProxy, association_proxy
from sqlalchemy.orm import Mapped, mapped_column, relationship

from remanence.core.agent import CompactionSettings
from remanence.core.llm import EmbeddingConfig, LLMConfig, ResponseFormat
from remanence.core.tool import ToolRule
from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, Templated, json_field
from remanence.db.types import UtcDateTime, ValidatedJson

if TYPE_CHECKING:
    from remanence.db.tables.archives import ArchivesAgentsRow
    from remanence.db.tables.blocks import BlockRow
    from remanence.db.tables.files import FilesAgentsRow, SourceRow
    from remanence.db.tables.groups import GroupRow
    from remanence.db.tables.identities import IdentityRow
    from remanence.db.tables.messages import ContextMessageRow
    from remanence.db.tables.runs import RunRow
    from remanence.db.tables.tools import ToolRow


class AgentRow(Identified, Owned, Audited, Projected, Templated, Base):
    __tablename__ = "agents"
    __table_args__ = (
        Index("ix_agents_created_at", "created_at", "id"),
        Index("ix_agents_organization_id_created_at", "organization_id", "created_at"),
        Index("ix_agents_organization_id_deployment_id", "organization_id", "deployment_id"),
        Index("ix_agents_project_id", "project_id"),
    )

    name: Mapped[str | None] = mapped_column(String)
    description: Mapped[str | None] = mapped_column(String)
    agent_type: Mapped[str | None] = mapped_column(String)
    system: Mapped[str | None] = mapped_column(Text)
    response_format: Mapped[ResponseFormat | None] = mapped_column(ValidatedJson(ResponseFormat))
    metadata_: Mapped[Any] = json_field()
    llm_config: Mapped[LLMConfig] = mapped_column(ValidatedJson(LLMConfig))
    embedding_config: Mapped[EmbeddingConfig | None] = mapped_column(ValidatedJson(EmbeddingConfig))
    tool_rules: Mapped[tuple[ToolRule, ...] | None] = mapped_column(ValidatedJson(tuple[ToolRule, ...]))
    compaction_settings: Mapped[CompactionSettings | None] = mapped_column(ValidatedJson(CompactionSettings))
    message_buffer_autoclear: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false(), nullable=False
    )
    enable_sleeptime: Mapped[bool | None] = mapped_column(Boolean)
    last_run_completion: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_run_duration_ms: Mapped[int | None] = mapped_column(Integer)
    last_stop_reason: Mapped[str | None] = mapped_column(String)
    timezone: Mapped[str | None] = mapped_column(String)
    max_files_open: Mapped[int | None] = mapped_column(Integer)
    per_file_view_window_char_limit: Mapped[int | None] = mapped_column(Integer)
    hidden: Mapped[bool | None] = mapped_column(Boolean)
    state_version: Mapped[int] = mapped_column(BigInteger, default=1, server_default="1", nullable=False)
    """Grows with each change that a run must see (settings, blocks, tools); caches compare it."""

    tags: Mapped[list["AgentTagRow"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True, order_by="AgentTagRow.position"
    )
    tool_exec_environment_variables: Mapped[list["AgentSecretRow"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True
    )
    tools: Mapped[list["ToolRow"]] = relationship(secondary="tools_agents", passive_deletes=True)
    sources: Mapped[list["SourceRow"]] = relationship(secondary="sources_agents", passive_deletes=True)
    core_memory: Mapped[list["BlockRow"]] = relationship(
        secondary="blocks_agents",
        primaryjoin="AgentRow.id == BlocksAgentsRow.agent_id",
        secondaryjoin="BlocksAgentsRow.block_id == BlockRow.id",
        back_populates="agents",
        viewonly=True,
    )
    identities: Mapped[list["IdentityRow"]] = relationship(
        secondary="identities_agents", back_populates="agents", passive_deletes=True
    )
    groups: Mapped[list["GroupRow"]] = relationship(
        secondary="groups_agents", back_populates="agents", viewonly=True
    )
    runs: Mapped[list["RunRow"]] = relationship(cascade="all, delete-orphan", passive_deletes=True)
    file_agents: Mapped[list["FilesAgentsRow"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True
    )
    archives_agents: Mapped[list["ArchivesAgentsRow"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True
    )
    window: Mapped[list["ContextMessageRow"]] = relationship(
        primaryjoin="AgentRow.id == foreign(ContextMessageRow.owner_id)",
        order_by="ContextMessageRow.position",
        viewonly=True,
    )
    message_ids: AssociationProxy[list[str]] = association_proxy("window", "message_id")
    """The messages in context. Rows of their own and not a JSON list, so that a step appends (ADR 0003)."""


class AgentTagRow(Base):
    __tablename__ = "agents_tags"
    __table_args__ = (Index("ix_agents_tags_tag_agent_id", "tag", "agent_id"),)

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, default=0, server_default="0", nullable=False)


class AgentSecretRow(Identified, Owned, Audited, Base):
    """An environment variable of the agent's tools. The value is encrypted at rest."""

    __tablename__ = "agent_environment_variables"
    __table_args__ = (UniqueConstraint("agent_id", "key", name="uix_key_agent"),)

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    key: Mapped[str] = mapped_column(String, nullable=False)
    value_enc: Mapped[str] = mapped_column(Text, nullable=False)
    description: Mapped[str | None] = mapped_column(String)
