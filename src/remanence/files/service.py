"""Rules of folders and files that span records or reach outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.file import File, FilePassage, Folder
from remanence.core.llm import EmbeddingConfig
from remanence.core.page import Page
from remanence.core.vector import Vector
from remanence.db.database import Database
from remanence.errors import BadArgument
from remanence.files import repository
from remanence.files.formats import format_of
from remanence.files.naming import choose_name, free_name
from remanence.files.processing import KIND
from remanence.files.schemas import FolderCreate, FolderUpdate, Upload
from remanence.jobs import repository as jobs
from remanence.jobs.workers import Workers
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_file_id, new_folder_id
from remanence.llm.catalogue import Catalogue
from remanence.search.chunks import document_id, passage_id
from remanence.search.embedding import embed_anew
from remanence.search.ports import SearchIndex, SearchQuery
from remanence.search.service import Search


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage of a file that was found, and the part of it around what was sought."""

    passage: FilePassage
    score: float
    snippet: str


OnDuplicate = Literal["suffix", "skip", "error", "replace"]


@dataclass(frozen=True, slots=True)
class Uploaded:
    file: File
    folder: Folder
    was_skipped: bool = False


class FileService:
    def __init__(
        self,
        db: Database,
        workers: Workers,
        index: SearchIndex,
        search: Search,
        catalogue: Catalogue,
        *,
        default_embedding: str | None,
    ) -> None:
        self._db = db
        self._workers = workers
        self._index = index
        self._search = search
        self._catalogue = catalogue
        self._default_embedding = default_embedding

    async def create_folder(self, actor: Actor, body: FolderCreate) -> Folder:
        """Raises BadArgument for an unknown embedding model, and AlreadyExists for a name that is taken."""
        config = await self._choose_model(actor, body)
        now = utc_now()
        folder = Folder(
            id=new_folder_id(),
            organization_id=actor.organization_id,
            name=body.name,
            description=body.description,
            instructions=body.instructions,
            embedding_config=config,
            metadata=body.metadata,
            created_at=now,
            updated_at=now,
            created_by_id=actor.user_id,
            last_updated_by_id=actor.user_id,
        )
        return await self._db.write(repository.insert_folder, folder)

    async def _choose_model(self, actor: Actor, body: FolderCreate) -> EmbeddingConfig | None:
        """None where this server searches by words alone, and nobody asked for more."""
        config = body.embedding_config
        handle = body.embedding or self._default_embedding
        if config is None and handle is not None:
            config = await self._catalogue.resolve_embedding(handle, actor.organization_id)
        if body.embedding_chunk_size is None:
            return config
        if config is None:
            raise BadArgument(
                "`embedding_chunk_size` needs an embedding model, and this server has none by default: name one "
                "in `embedding`, or leave the size out for a folder that is searched by words alone."
            )
        return config.model_copy(update={"embedding_chunk_size": body.embedding_chunk_size})

    async def update_folder(self, actor: Actor, folder_id: str, body: FolderUpdate) -> Folder:
        """A new embedding model embeds anew what is there; until that is done the old vectors serve.

        Raises NotFound, and AlreadyExists for a name that is taken.
        """
        changes = body.model_dump(exclude_none=True, exclude={"embedding_config", "metadata"})
        if body.metadata is not None:
            changes["metadata_"] = body.metadata
        config = body.embedding_config

        def write(connection: Connection) -> Folder:
            before = repository.get_folder(connection, actor, folder_id)
            if config is None or config == before.embedding_config:
                return repository.update_folder(connection, actor, folder_id, changes)
            repository.set_models(connection, folder_id, config)
            embed_anew(connection, folder_id)
            changed = changes | {"embedding_config": config}
            return repository.update_folder(connection, actor, folder_id, changed)

        return await self._db.write(write)

    async def delete_folder(self, actor: Actor, folder_id: str) -> None:
        def write(connection: Connection) -> None:
            repository.delete_folder(connection, self._index, actor, folder_id)

        await self._db.write(write)

    async def delete_file(self, actor: Actor, folder_id: str, file_id: str) -> None:
        def write(connection: Connection) -> None:
            repository.delete_file(connection, self._index, actor, folder_id, file_id)

        await self._db.write(write)

    async def upload(
        self, actor: Actor, folder_id: str, upload: Upload, *, name: str | None, on_duplicate: OnDuplicate
    ) -> Uploaded:
        """Keeps the file, and has it read soon.

        Raises NotFound, UnknownType, and BadArgument for a name that is none or that must not be there yet.
        """
        chosen = choose_name(upload.name, name)
        form = format_of(chosen)

        def write(connection: Connection) -> Uploaded:
            folder = repository.get_folder(connection, actor, folder_id)
            repository.lock_folder(connection, folder_id)
            known = repository.find_duplicate(connection, folder_id, chosen)
            if known is not None and on_duplicate == "skip":
                return Uploaded(known, folder, was_skipped=True)
            if known is not None and on_duplicate == "error":
                raise BadArgument(
                    f"There is a file named {chosen!r} in this folder already. Choose another name, or another "
                    "duplicate_handling: suffix, skip or replace."
                )
            if known is not None and on_duplicate == "replace":
                repository.delete_file(connection, self._index, actor, folder_id, known.id)
            now = utc_now()
            file = File(
                id=new_file_id(),
                organization_id=actor.organization_id,
                folder_id=folder.id,
                name=free_name(chosen, repository.taken_names(connection, folder_id)),
                original_name=chosen,
                type=form.media_type,
                size=len(upload.data),
                status="parsing",
                created_at=now,
                updated_at=now,
                created_by_id=actor.user_id,
                last_updated_by_id=actor.user_id,
            )
            repository.insert_file(connection, file)
            repository.keep_upload(connection, file.id, upload.data)
            repository.give_to_agents(connection, file, folder.name)
            jobs.enqueue(connection, actor, KIND, {"file_id": file.id}, source_id=folder.id)
            return Uploaded(file, folder)

        uploaded = await self._db.write(write)
        self._workers.wake()
        return uploaded

    async def list_passages(
        self, actor: Actor, folder_id: str, page: Page
    ) -> list[tuple[FilePassage, Vector | None]]:
        """Each with its vector, where it has one."""

        def read(connection: Connection) -> list[tuple[FilePassage, Vector | None]]:
            repository.get_folder(connection, actor, folder_id)
            passages = repository.list_passages(connection, actor, folder_id, page)
            vectors = self._index.vectors_of(connection, [document_id(each.id) for each in passages])
            return [(each, vectors.get(document_id(each.id))) for each in passages]

        return await self._db.read(read)

    async def find_in_files(
        self, actor: Actor, folder_ids: Sequence[str], query: str, limit: int
    ) -> list[FoundPassage]:
        """By words and by meaning, best first, in all files of these folders."""
        hits = await self._search.find(
            SearchQuery(
                organization_id=actor.organization_id,
                kind="chunk",
                text=query,
                owner_ids=list(folder_ids),
                limit=limit,
            )
        )
        ids = [passage_id(hit.id) for hit in hits]
        found = await self._db.read(repository.find_passages, ids)
        return [
            FoundPassage(found[id], hit.score, hit.snippet)
            for id, hit in zip(ids, hits, strict=True)
            if id in found
        ]
