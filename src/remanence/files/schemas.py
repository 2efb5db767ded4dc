"""Folders, files and their passages on the wire."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from remanence.core.file import File, FilePassage, Folder
from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector, unpack_vector
from remanence.edge.fields import StoredJson, StoredText
from remanence.llm.schemas import GivenEmbedding

Name = Annotated[StoredText, StringConstraints(min_length=1, max_length=255)]
_DIGITS = 6


class FolderCreate(BaseModel):
    name: Name
    description: StoredText | None = None
    instructions: StoredText | None = None
    metadata: StoredJson | None = None
    embedding: str | None = None
    embedding_chunk_size: Annotated[int, Field(ge=50, le=2000)] | None = None
    """In tokens, about four letters each."""
    embedding_config: GivenEmbedding | None = None


class FolderUpdate(BaseModel):
    name: Name | None = None
    description: StoredText | None = None
    instructions: StoredText | None = None
    metadata: StoredJson | None = None
    embedding_config: GivenEmbedding | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent."""

    name: str
    data: bytes


def folder_body(folder: Folder, *, is_source: bool = False) -> dict[str, Any]:
    """`is_source`: as folders were shown under their older name."""
    return {
        "name": folder.name,
        "description": folder.description,
        "instructions": folder.instructions,
        "metadata": folder.metadata,
        "id": folder.id,
        "embedding_config": _dump(folder.embedding_config),
        "organization_id": folder.organization_id,
        **({"vector_db_provider": "native"} if is_source else {}),
        "created_by_id": folder.created_by_id,
        "last_updated_by_id": folder.last_updated_by_id,
        "created_at": folder.created_at,
        "updated_at": folder.updated_at,
    }


def file_body(file: File, *, name: str | None = None, content: str | None = None) -> dict[str, Any]:
    """`name`: in place of its own, such as the one with its folder's before it."""
    return {
        "source_id": file.folder_id,
        "file_name": name or file.name,
        "original_file_name": file.original_name,
        "file_path": file.path,
        "file_type": file.type,
        "file_size": file.size,
        "file_creation_date": file.creation_date,
        "file_last_modified_date": file.last_modified_date,
        "processing_status": file.status,
        "error_message": file.error_message,
        "total_chunks": file.total_chunks,
        "chunks_embedded": file.chunks_embedded,
        "content": content,
        "id": file.id,
        "organization_id": file.organization_id,
        "created_at": file.created_at,
        "updated_at": file.updated_at,
    }


def passage_body(passage: FilePassage, vector: Vector | None) -> dict[str, Any]:
    return {
        "created_by_id": passage.created_by_id,
        "last_updated_by_id": passage.last_updated_by_id,
        "created_at": passage.created_at,
        "updated_at": passage.updated_at,
        "is_deleted": False,
        "organization_id": passage.organization_id,
        "archive_id": None,
        "source_id": passage.folder_id,
        "file_id": passage.file_id,
        "file_name": passage.file_name,
        "metadata": passage.metadata or {},
        "tags": list(passage.tags) or None,
        "id": passage.id,
        "text": passage.text,
        "embedding": [round(value, _DIGITS) for value in unpack_vector(vector)] if vector else None,
        "embedding_config": _dump(passage.embedding_config),
    }


def summary_body(
    folders: Sequence[tuple[str, str, Sequence[tuple[str, str, int | None]]]], *, with_files: bool
) -> dict[str, Any]:
    """Of folders as (id, name, files), and files as (id, name, size)."""
    sizes = [sum(size or 0 for _, _, size in files) for _, _, files in folders]
    return {
        "total_sources": len(folders),
        "total_files": sum(len(files) for _, _, files in folders),
        "total_size": sum(sizes),
        "sources": [
            {
                "source_id": id,
                "source_name": name,
                "file_count": len(files),
                "total_size": size,
                "files": [
                    {"file_id": file_id, "file_name": file_name, "file_size": file_size}
                    for file_id, file_name, file_size in files
                ],
            }
            for (id, name, files), size in zip(folders, sizes, strict=True)
        ]
        if with_files
        else [],
    }


def _dump(config: EmbeddingConfig | None) -> dict[str, Any] | None:
    return config.model_dump(mode="json") if config else None
