"""Folders (`sources` on disk), their files, chunks of them, and what agents have open."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from remanence.core.llm import EmbeddingConfig
from remanence.db.tables.base import Audited, Base, Identified, Owned, json_field
from remanence.db.types import UtcDateTime, ValidatedJson


class SourceRow(Identified, Owned, Audited, Base):
    __tablename__ = "sources"
    __table_args__ = (UniqueConstraint("organization_id", "name", name="uq_source_name_organization"),)

    name: Mapped[str] = mapped_column(String, nullable=False)
    description: Mapped[str | None] = mapped_column(Text)
    instructions: Mapped[str | None] = mapped_column(Text)
    embedding_config: Mapped[EmbeddingConfig | None] = mapped_column(ValidatedJson(EmbeddingConfig))
    vector_db_provider: Mapped[str] = mapped_column(String, default="native", nullable=False)
    metadata_: Mapped[Any] = json_field()


class SourcesAgentsRow(Base):
    __tablename__ = "sources_agents"
    __table_args__ = (Index("ix_sources_agents_source_id", "source_id"),)

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True)
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True)


class FileRow(Identified, Owned, Audited, Base):
    __tablename__ = "files"
    __table_args__ = (Index("ix_files_source_id_created_at", "source_id", "created_at"),)

    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), nullable=False)
    file_name: Mapped[str | None] = mapped_column(String)
    original_file_name: Mapped[str | None] = mapped_column(String)
    file_path: Mapped[str | None] = mapped_column(String)
    file_type: Mapped[str | None] = mapped_column(String)
    file_size: Mapped[int | None] = mapped_column(Integer)
    file_creation_date: Mapped[str | None] = mapped_column(String)
    file_last_modified_date: Mapped[str | None] = mapped_column(String)
    processing_status: Mapped[str] = mapped_column(String, default="pending", nullable=False)
    error_message: Mapped[str | None] = mapped_column(Text)
    total_chunks: Mapped[int | None] = mapped_column(Integer)
    chunks_embedded: Mapped[int | None] = mapped_column(Integer)


class FileContentRow(Base):
    """The text of a file, apart from its metadata so that lists stay light."""

    __tablename__ = "file_contents"

    file_id: Mapped[str] = mapped_column(ForeignKey("files.id", ondelete="CASCADE"), primary_key=True)
    text: Mapped[str] = mapped_column(Text, nullable=False)


class FileUploadRow(Base):
    """The bytes of a file until they are read; then its text is enough."""

    __tablename__ = "file_uploads"

    file_id: Mapped[str] = mapped_column(ForeignKey("files.id", ondelete="CASCADE"), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary, nullable=False)


class FilesAgentsRow(Identified, Owned, Audited, Base):
    __tablename__ = "files_agents"
    __table_args__ = (
        UniqueConstraint("agent_id", "file_id", name="uq_agent_file"),
        UniqueConstraint("agent_id", "file_name", name="uq_agent_filename"),
    )

    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    file_id: Mapped[str] = mapped_column(ForeignKey("files.id", ondelete="CASCADE"), nullable=False)
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), nullable=False)
    file_name: Mapped[str] = mapped_column(String, nullable=False)
    is_open: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false(), nullable=False)
    visible_content: Mapped[str | None] = mapped_column(Text)
    start_line: Mapped[int | None] = mapped_column(Integer)
    end_line: Mapped[int | None] = mapped_column(Integer)
    last_accessed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SourcePassageRow(Identified, Owned, Audited, Base):
    __tablename__ = "source_passages"
    __table_args__ = (
        Index("ix_source_passages_source_id_created_at", "source_id", "created_at"),
        Index("ix_source_passages_file_id", "file_id"),
    )

    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"), nullable=False)
    file_id: Mapped[str | None] = mapped_column(ForeignKey("files.id", ondelete="CASCADE"))
    file_name: Mapped[str | None] = mapped_column(String)
    text: Mapped[str] = mapped_column(Text, nullable=False)
    tags: Mapped[Any] = json_field()
    metadata_: Mapped[Any] = json_field()
    embedding_config: Mapped[EmbeddingConfig | None] = mapped_column(ValidatedJson(EmbeddingConfig))
