"""What search keeps beside its index: the models it has vectors of, and the texts that wait for theirs.

The words and the vectors themselves are in tables of their own shape, different in the two databases
(migrations 0002 and later, tables named `search_…`).
"""

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, SmallInteger, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base
from remanence.db.types import UtcDateTime


class EmbeddingModelRow(Base):
    """An embedding model, as far as one organisation has vectors of one kind of document by it."""

    __tablename__ = "embedding_models"
    __table_args__ = (UniqueConstraint("organization_id", "kind", "fingerprint"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    organization_id: Mapped[str] = mapped_column(String, nullable=False)
    kind: Mapped[str] = mapped_column(String, nullable=False)
    fingerprint: Mapped[str] = mapped_column(String, nullable=False)
    """Of what decides which vectors come out."""
    dimensions: Mapped[int] = mapped_column(Integer, nullable=False)
    config: Mapped[str] = mapped_column(Text, nullable=False)


class EmbeddingBacklogRow(Base):
    """A text without vectors. Whoever takes it keeps `alive_until` ahead of the clock, or it is taken by others."""

    __tablename__ = "embedding_backlog"
    __table_args__ = (Index("ix_embedding_backlog_owner_id", "owner_id"),)

    key: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    document_id: Mapped[str] = mapped_column(String, nullable=False, unique=True)
    owner_id: Mapped[str] = mapped_column(String, nullable=False)
    worker: Mapped[str | None] = mapped_column(String)
    """The process that has it (`kit/worker.py`)."""
    alive_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """While it is worked on, and while it rests after a failure."""
    tries: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0", nullable=False)
