"""The search port: what goes into the index, what can be asked, what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from sqlalchemy import Connection

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector
from remanence.db.database import Database

ROLES = {None: 0, "user": 1, "assistant": 2, "tool": 3}
"""As they stand in the index."""
Kind = Literal["message", "passage", "chunk"]
"""What a document is, and the prefix of its id. A chunk is a passage of a file."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vectors of a text, one for each of its parts, all by one model."""

    config: EmbeddingConfig
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Something to be found. Ids are a prefix and a uuid; the owner is an agent, an archive or a folder."""

    kind: Kind
    id: str
    owner_id: str
    organization_id: str
    text: str
    created_at: datetime
    conversation_id: str | None = None
    role: str | None = None
    speaker: str | None = None
    """A name that is found with the words, if someone is named."""
    tags: tuple[str, ...] = ()
    embedding: Embedding | None = None
    """None: the vectors follow later, if the owner has a model for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """All filters hold at once and before ranking. `None` means any; both dates are included."""

    organization_id: str
    text: str = ""
    """Without text the newest documents are listed."""
    kind: Kind = "message"
    owner_ids: Sequence[str] | None = None
    roles: Sequence[str] | None = None
    start: datetime | None = None
    end: datetime | None = None
    conversation_id: str | None = None
    """`default` means an agent's own history, outside all conversations."""
    tags: Sequence[str] = ()
    needs_all_tags: bool = False
    """Otherwise one of the tags is enough."""
    exclude_ids: frozenset[str] = frozenset()
    """Documents the asker has before its eyes, such as the question that led to the search."""
    vectors: Mapping[int, Vector] = field(default_factory=dict[int, Vector])
    """The text as the models see it that there are vectors of (`models_for`). Without any, words decide."""
    uses_words: bool = True
    shows_neighbours: bool = False
    """Each hit comes with what was said just before and after it."""
    limit: int = 10


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float
    """From 0 to 1; 0 where nothing was asked and the newest are listed."""
    lexical_rank: int | None
    """The place by words alone, from 1; none without such a word."""
    vector_rank: int | None
    """The place by meaning alone."""
    snippet: str
    """The part of the text around what was sought."""
    document: Document
    word_share: float | None = None
    """How much of the score comes from words, from 0 to 1; the rest is meaning. None where nothing was scored."""
    before: Document | None = None
    after: Document | None = None


class SearchIndex(Protocol):
    """Plain functions over a connection: they are part of the caller's transaction."""

    def open(self, connection: Connection) -> None:
        """Makes what is missing; to be called when a process starts."""
        ...

    def index(self, connection: Connection, documents: Sequence[Document]) -> None:
        """Makes documents findable, or findable anew by what they say now."""
        ...

    def delete(self, connection: Connection, ids: Sequence[str]) -> None:
        """Takes documents out. Call it while their rows still stand: one engine needs the old words."""
        ...

    def embed(self, connection: Connection, documents: Sequence[Document]) -> None:
        """Gives documents that are indexed the vectors they come with, in place of those they had."""
        ...

    def forget(self, connection: Connection, owner_id: str) -> None:
        """Takes out all that belongs to an owner; call it before the owner's rows go."""
        ...

    def vectors_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, Vector]:
        """The vector of the first part of each document, as exactly as it is kept."""
        ...

    def models_for(self, connection: Connection, query: SearchQuery) -> dict[int, EmbeddingConfig]:
        """The models by which there are vectors among what is searched."""
        ...

    def speakers_in(self, connection: Connection, query: SearchQuery) -> set[str]:
        """The words of the query that name somebody who speaks in what is searched."""
        ...

    def query(self, connection: Connection, query: SearchQuery) -> list[Hit]:
        """Best first. No text makes it fail: what cannot be sought is not found."""
        ...


def open_index(db: Database) -> SearchIndex:
    if db.is_sqlite:
        from remanence.search.sqlite import SqliteIndex

        return SqliteIndex()
    from remanence.search.postgres import PostgresIndex

    return PostgresIndex()
