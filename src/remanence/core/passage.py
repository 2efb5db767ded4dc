"""Archival memory: archives, the passages in them, and the edit by which an agent adds one."""

from datetime import datetime
from typing import Literal

from remanence.core.frozen import Frozen
from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector
from remanence.kit.ids import ArchiveId, OrgId, PassageId, UserId
from remanence.kit.json import JsonObject

MAX_TOKENS = 8192
"""Of a passage."""


class Archive(Frozen):
    id: ArchiveId
    organization_id: OrgId
    name: str
    description: str | None = None
    embedding_config: EmbeddingConfig | None = None
    metadata: JsonObject | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None


class Passage(Frozen):
    id: PassageId
    organization_id: OrgId
    archive_id: ArchiveId
    text: str
    tags: tuple[str, ...] = ()
    metadata: JsonObject | None = None
    embedding_config: EmbeddingConfig | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None


class PassageAdded(Frozen):
    """An agent keeps a text. Into which archive is settled when it is saved."""

    kind: Literal["passage_added"] = "passage_added"
    id: PassageId
    text: str
    tags: tuple[str, ...] = ()
    embedding_config: EmbeddingConfig | None = None
    vectors: tuple[Vector, ...] = ()
    """Of its parts; none if they could not be had yet."""
    created_at: datetime
    tool: str | None = None
    call_id: str | None = None
