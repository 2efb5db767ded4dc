"""Folders of files, and the passages into which the texts of files are cut."""

from datetime import datetime
from typing import Literal

from remanence.core.frozen import Frozen
from remanence.core.llm import EmbeddingConfig
from remanence.kit.ids import FileId, FolderId, OrgId, PassageId, UserId
from remanence.kit.json import JsonObject

FileStatus = Literal["pending", "parsing", "embedding", "completed", "error"]
IN_WORK: tuple[FileStatus, ...] = ("pending", "parsing", "embedding")


class Folder(Frozen):
    id: FolderId
    organization_id: OrgId
    name: str
    description: str | None = None
    instructions: str | None = None
    embedding_config: EmbeddingConfig | None = None
    metadata: JsonObject | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None


class File(Frozen):
    """What is known of a file. Its text is apart, so that lists stay light."""

    id: FileId
    organization_id: OrgId
    folder_id: FolderId
    name: str
    """Unique in its folder."""
    original_name: str
    """As it was uploaded; another of that name may have come before."""
    path: str | None = None
    type: str | None = None
    """The media type."""
    size: int | None = None
    """Of what was uploaded, in bytes."""
    creation_date: str | None = None
    last_modified_date: str | None = None
    status: FileStatus = "pending"
    error_message: str | None = None
    total_chunks: int | None = None
    chunks_embedded: int | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None

    def name_in(self, folder_name: str) -> str:
        """As agents know it, who may have several folders."""
        return f"{folder_name}/{self.name}"


class FilePassage(Frozen):
    """A piece of a file's text, as it is found by search. Its metadata says on which lines it stands."""

    id: PassageId
    organization_id: OrgId
    folder_id: FolderId
    file_id: FileId | None
    file_name: str | None
    text: str
    tags: tuple[str, ...] = ()
    metadata: JsonObject | None = None
    embedding_config: EmbeddingConfig | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None
