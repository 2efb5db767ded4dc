"""Archives and passages on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from remanence.core.llm import EmbeddingConfig
from remanence.core.passage import Archive, Passage
from remanence.core.vector import Vector, unpack_vector
from remanence.edge.fields import StoredJson, StoredMoment, StoredText
from remanence.kit.ids import id_pattern
from remanence.llm.schemas import GivenEmbedding
from remanence.search.ports import Hit

Name = Annotated[StoredText, StringConstraints(min_length=1, max_length=1000)]
Tag = Annotated[StoredText, StringConstraints(min_length=1, max_length=255)]
TagMode = Literal["any", "all"]
AgentRef = Annotated[str, StringConstraints(pattern=id_pattern("agent"))]
ArchiveRef = Annotated[str, StringConstraints(pattern=id_pattern("archive"))]
_MAX_BATCH = 10_000
_DIGITS = 6


class EmbeddingChoice(BaseModel):
    """A model by its handle, or described in full."""

    embedding: str | None = None
    embedding_config: GivenEmbedding | None = None


class ArchiveCreate(EmbeddingChoice):
    name: Name
    description: StoredText | None = None


class ArchiveUpdate(EmbeddingChoice):
    name: Name | None = None
    description: StoredText | None = None


class PassageCreate(BaseModel):
    text: StoredText
    tags: list[Tag] | None = None
    metadata: StoredJson | None = None
    created_at: StoredMoment | None = None


class PassageBatch(BaseModel):
    passages: Annotated[list[PassageCreate], Field(max_length=_MAX_BATCH)]


class ArchivalInsert(BaseModel):
    text: StoredText
    tags: list[Tag] | None = None
    created_at: StoredMoment | None = None

    def as_passage(self) -> PassageCreate:
        return PassageCreate.model_construct(
            text=self.text, tags=self.tags, metadata=None, created_at=self.created_at
        )


class PassageSearch(BaseModel):
    query: StoredText | None = None
    agent_id: AgentRef | None = None
    archive_id: ArchiveRef | None = None
    tags: list[StoredText] | None = None
    tag_match_mode: TagMode = "any"
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    start_date: StoredMoment | None = None
    end_date: StoredMoment | None = None


def archive_body(archive: Archive) -> dict[str, Any]:
    return {
        "created_by_id": archive.created_by_id,
        "last_updated_by_id": archive.last_updated_by_id,
        "created_at": archive.created_at,
        "updated_at": archive.updated_at,
        "name": archive.name,
        "description": archive.description,
        "organization_id": archive.organization_id,
        "vector_db_provider": "native",
        "embedding_config": _dump(archive.embedding_config),
        "metadata": archive.metadata,
        "id": archive.id,
    }


def passage_body(passage: Passage, vector: Vector | None) -> dict[str, Any]:
    return {
        "created_by_id": passage.created_by_id,
        "last_updated_by_id": passage.last_updated_by_id,
        "created_at": passage.created_at,
        "updated_at": passage.updated_at,
        "is_deleted": False,
        "organization_id": passage.organization_id,
        "archive_id": passage.archive_id,
        "source_id": None,
        "file_id": None,
        "file_name": None,
        "metadata": passage.metadata or {},
        "tags": list(passage.tags) or None,
        "id": passage.id,
        "text": passage.text,
        "embedding": [round(value, _DIGITS) for value in unpack_vector(vector)] if vector else None,
        "embedding_config": _dump(passage.embedding_config),
    }


def hit_body(hit: Hit, moment: datetime) -> dict[str, Any]:
    return {
        "id": hit.id,
        "timestamp": moment.isoformat(),
        "content": hit.document.text,
        "tags": list(hit.document.tags),
        "score": hit.score,
        "lexical_rank": hit.lexical_rank,
        "vector_rank": hit.vector_rank,
        "word_share": hit.word_share,
    }


def _dump(config: EmbeddingConfig | None) -> dict[str, Any] | None:
    return config.model_dump(mode="json") if config else None
