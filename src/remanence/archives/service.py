"""Rules of archival memory: which model embeds, where an agent's passages go, how they are searched."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from remanence.archives import repository
from remanence.archives.repository import Holder
from remanence.archives.schemas import ArchiveCreate, ArchiveUpdate, EmbeddingChoice, PassageCreate
from remanence.core.actor import Actor
from remanence.core.llm import EmbeddingConfig
from remanence.core.page import Page
from remanence.core.passage import MAX_TOKENS, Archive, Passage, PassageAdded
from remanence.core.vector import Vector
from remanence.db.database import Database
from remanence.errors import BadArgument
from remanence.kit.clock import utc_now
from remanence.kit.ids import ArchiveId, new_archive_id, new_passage_id
from remanence.kit.tokens import count_tokens
from remanence.llm.catalogue import Catalogue
from remanence.search.embedding import embed_anew
from remanence.search.ports import Hit, SearchIndex, SearchQuery
from remanence.search.service import Search

Stored = tuple[Passage, Vector | None]
"""A passage, and the vector of its first part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for in archival memory."""

    text: str
    tags: Sequence[str] = ()
    needs_all_tags: bool = False
    start: datetime | None = None
    end: datetime | None = None
    limit: int


class ArchiveService:
    def __init__(
        self,
        db: Database,
        index: SearchIndex,
        search: Search,
        catalogue: Catalogue,
        *,
        default_embedding: str | None,
    ) -> None:
        self._db = db
        self._index = index
        self._search = search
        self._catalogue = catalogue
        self._default_embedding = default_embedding

    async def create(self, actor: Actor, body: ArchiveCreate) -> Archive:
        """Raises BadArgument for an unknown embedding model."""
        config = await self._config_of(actor, body, self._default_embedding)
        now = utc_now()
        archive = Archive(
            id=new_archive_id(),
            organization_id=actor.organization_id,
            name=body.name,
            description=body.description,
            embedding_config=config,
            created_at=now,
            updated_at=now,
            created_by_id=actor.user_id,
            last_updated_by_id=actor.user_id,
        )
        return await self._db.write(repository.insert_archive, archive)

    async def update(self, actor: Actor, archive_id: str, body: ArchiveUpdate) -> Archive:
        """A new embedding model embeds anew what is there; until that is done the old vectors serve.

        Raises NotFound, and BadArgument for an unknown embedding model.
        """
        config = await self._config_of(actor, body, None)
        changes = body.model_dump(exclude_none=True, exclude={"embedding", "embedding_config"})

        def write(connection: Connection) -> Archive:
            before = repository.get_archive(connection, actor, archive_id)
            if config is None or config == before.embedding_config:
                return repository.update_archive(connection, actor, archive_id, changes)
            changed = changes | {"embedding_config": config}
            repository.set_passage_models(connection, archive_id, config)
            embed_anew(connection, archive_id)
            return repository.update_archive(connection, actor, archive_id, changed)

        return await self._db.write(write)

    async def _config_of(
        self, actor: Actor, body: EmbeddingChoice, default: str | None
    ) -> EmbeddingConfig | None:
        handle = body.embedding or default
        if body.embedding_config is not None or handle is None:
            return body.embedding_config
        return await self._catalogue.resolve_embedding(handle, actor.organization_id)

    async def delete(self, actor: Actor, archive_id: str) -> None:
        def write(connection: Connection) -> None:
            repository.delete_archive(connection, self._index, actor, archive_id)

        await self._db.write(write)

    async def insert(self, actor: Actor, archive_id: str, given: Sequence[PassageCreate]) -> list[Stored]:
        """All of them, or none. Raises NotFound and BadArgument."""
        check_texts([each.text for each in given])
        archive = await self._db.read(repository.get_archive, actor, archive_id)
        now = utc_now()
        passages = [
            Passage(
                id=new_passage_id(),
                organization_id=actor.organization_id,
                archive_id=archive.id,
                text=each.text,
                tags=tuple(dict.fromkeys(each.tags or ())),
                metadata=each.metadata,
                embedding_config=archive.embedding_config,
                created_at=each.created_at or now,
                updated_at=now,
                created_by_id=actor.user_id,
                last_updated_by_id=actor.user_id,
            )
            for each in given
        ]
        texts = [each.text for each in passages]
        embeddings = await self._search.embed_all(archive.embedding_config, texts, actor.organization_id)

        def write(connection: Connection) -> None:
            # It may have been deleted meanwhile, or been given another model.
            current = repository.get_archive(connection, actor, archive_id).embedding_config
            is_same = current == archive.embedding_config
            fitting = [each.model_copy(update={"embedding_config": current}) for each in passages]
            vectors = embeddings if is_same else [None] * len(passages)
            repository.insert_passages(connection, self._index, passages if is_same else fitting, vectors)

        await self._db.write(write)
        pairs = zip(passages, embeddings, strict=True)
        return [(passage, embedding.vectors[0] if embedding else None) for passage, embedding in pairs]

    async def insert_for_agent(self, actor: Actor, agent_id: str, given: PassageCreate) -> Stored:
        """Raises NotFound and BadArgument."""
        added = await self.prepare(actor, agent_id, given)

        def write(connection: Connection) -> Passage:
            return repository.add_for_agent(connection, self._index, actor, agent_id, added)

        return await self._db.write(write), added.vectors[0] if added.vectors else None

    async def prepare(self, actor: Actor, agent_id: str, given: PassageCreate) -> PassageAdded:
        """A passage ready to be saved, now or with the step of a run. Raises NotFound and BadArgument."""
        check_texts([given.text])
        holder = await self._db.read(repository.get_holder, actor, agent_id)
        if len(holder.archives) > 1:
            raise BadArgument(
                f"This agent has {len(holder.archives)} archives attached, so it is not clear where the passage "
                "belongs. Insert it into one of them by its id, or detach the others."
            )
        config = holder.archives[0].embedding_config if holder.archives else holder.embedding_config
        (embedding,) = await self._search.embed_all(config, [given.text], actor.organization_id)
        return PassageAdded(
            id=new_passage_id(),
            text=given.text,
            tags=tuple(dict.fromkeys(given.tags or ())),
            embedding_config=config,
            vectors=embedding.vectors if embedding else (),
            created_at=given.created_at or utc_now(),
        )

    async def list_for_agent(
        self, actor: Actor, agent_id: str, page: Page, search: str | None
    ) -> list[Stored]:
        def read(connection: Connection) -> list[Stored]:
            holder = repository.get_holder(connection, actor, agent_id)
            archive_ids = [archive.id for archive in holder.archives]
            passages = repository.list_passages(connection, actor, archive_ids, page, search)
            return self._with_vectors(connection, passages)

        return await self._db.read(read)

    async def delete_passage(self, actor: Actor, archive_id: str, passage_id: str) -> None:
        def write(connection: Connection) -> None:
            archive = repository.get_archive(connection, actor, archive_id)
            repository.delete_passage(connection, self._index, actor, [archive.id], passage_id)

        await self._db.write(write)

    async def delete_for_agent(self, actor: Actor, agent_id: str, passage_id: str) -> None:
        def write(connection: Connection) -> None:
            holder = repository.get_holder(connection, actor, agent_id)
            archive_ids = [archive.id for archive in holder.archives]
            repository.delete_passage(connection, self._index, actor, archive_ids, passage_id)

        await self._db.write(write)

    async def find_for_agent(
        self, actor: Actor, agent_id: str, wanted: Wanted, holder: Holder | None = None
    ) -> list[Hit]:
        """In all archives of the agent. Raises NotFound."""
        holder = holder or await self._db.read(repository.get_holder, actor, agent_id)
        return await self.find(actor, [archive.id for archive in holder.archives], wanted)

    async def find(self, actor: Actor, archive_ids: Sequence[ArchiveId] | None, wanted: Wanted) -> list[Hit]:
        """Best first; without words the newest. `None` means all archives of the organisation."""
        return await self._search.find(
            SearchQuery(
                organization_id=actor.organization_id,
                kind="passage",
                text=wanted.text,
                owner_ids=archive_ids,
                tags=tuple(wanted.tags),
                needs_all_tags=wanted.needs_all_tags,
                start=wanted.start,
                end=wanted.end,
                limit=wanted.limit,
            )
        )

    async def load(self, ids: Sequence[str]) -> dict[str, Stored]:
        def read(connection: Connection) -> dict[str, Stored]:
            passages = repository.find_passages(connection, ids)
            return {each[0].id: each for each in self._with_vectors(connection, list(passages.values()))}

        return await self._db.read(read)

    def _with_vectors(self, connection: Connection, passages: Sequence[Passage]) -> list[Stored]:
        vectors = self._index.vectors_of(connection, [passage.id for passage in passages])
        return [(passage, vectors.get(passage.id)) for passage in passages]


def check_texts(texts: Sequence[str]) -> None:
    """Raises BadArgument for one that is no passage."""
    for text in texts:
        if not text.strip():
            raise BadArgument("A passage must have a text.")
        # A token is at least a byte, so most texts need not be counted.
        if len(text.encode()) > MAX_TOKENS and (count := count_tokens(text)) > MAX_TOKENS:
            raise BadArgument(
                f"The text has {count} tokens, and a passage may have {MAX_TOKENS}. Divide it into several."
            )
