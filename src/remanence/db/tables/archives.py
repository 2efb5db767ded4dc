"""Archival memory: archives, their passages, and which agents may read them."""

from typing import Any

from sqlalchemy import Boolean, ForeignKey, Index, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from remanence.core.llm import EmbeddingConfig
from remanence.db.tables.base import Audited, Base, Identified, Owned, json_field
from remanence.db.types import ValidatedJson


class ArchiveRow(Identified, Owned, Audited, Base):
    __tablename__ = "archives"
    __table_args__ = (Index("ix_archives_organization_id_created_at", "organization_id", "created_at"),)

    name: Mapped[str] = mapped_column(String, nullable=False)
    description: Mapped[str | None] = mapped_column(Text)
    vector_db_provider: Mapped[str] = mapped_column(String, default="native", nullable=False)
    embedding_config: Mapped[EmbeddingConfig | None] = mapped_column(ValidatedJson(EmbeddingConfig))
    metadata_: Mapped[Any] = json_field()


class ArchivesAgentsRow(Base):
    """Access of an agent to an archive; the archive outlives the agent."""

    __tablename__ = "archives_agents"
    __table_args__ = (Index("ix_archives_agents_archive_id", "archive_id"),)

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True)
    archive_id: Mapped[str] = mapped_column(ForeignKey("archives.id", ondelete="CASCADE"), primary_key=True)
    is_owner: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)


class ArchivePassageRow(Identified, Owned, Audited, Base):
    """A passage. Its vector lives in the search index, not in the row that lists read."""

    __tablename__ = "archival_passages"
    __table_args__ = (Index("ix_archival_passages_archive_id_created_at", "archive_id", "created_at"),)

    archive_id: Mapped[str] = mapped_column(ForeignKey("archives.id", ondelete="CASCADE"), nullable=False)
    text: Mapped[str] = mapped_column(Text, nullable=False)
    tags: Mapped[Any] = json_field()
    metadata_: Mapped[Any] = json_field()
    embedding_config: Mapped[EmbeddingConfig | None] = mapped_column(ValidatedJson(EmbeddingConfig))


class PassageTagRow(Base):
    __tablename__ = "passage_tags"
    __table_args__ = (Index("ix_passage_tags_archive_id_tag", "archive_id", "tag"),)

    passage_id: Mapped[str] = mapped_column(
        ForeignKey("archival_passages.id", ondelete="CASCADE"), primary_key=True
    )
    tag: Mapped[str] = mapped_column(String, primary_key=True)
    archive_id: Mapped[str] = mapped_column(ForeignKey("archives.id", ondelete="CASCADE"), nullable=False)
