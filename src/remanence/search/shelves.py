"""Where documents of each kind stand: the tables that hold their texts."""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection

from remanence.core.llm import EmbeddingConfig
from remanence.search import chunks, messages, passages
from remanence.search.ports import Document, Kind, SearchQuery


class Shelf(Protocol):
    def load_documents(self, connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
        """As they were indexed, whether or not anyone may still see them."""
        ...

    def load_visible(
        self, connection: Connection, query: SearchQuery, ids: Sequence[str]
    ) -> dict[str, Document]:
        """Those of the ids that this query may show."""
        ...

    def list_newest(self, connection: Connection, query: SearchQuery) -> list[Document]:
        """The newest that pass the filters; those that say nothing are passed over."""
        ...

    def list_ids(self, connection: Connection, owner_id: str) -> list[str]: ...

    @property
    def has_order(self) -> bool:
        """Whether what stands before and after a document has to do with it."""
        ...

    def load_neighbours(
        self, connection: Connection, documents: Sequence[Document]
    ) -> dict[str, tuple[str | None, str | None]]:
        """The ids of what was said just before and just after, in the same history."""
        ...

    def load_models(
        self, connection: Connection, owner_ids: Sequence[str]
    ) -> dict[str, EmbeddingConfig | None]:
        """The embedding model of each owner that is there."""
        ...

    def note_settled(self, connection: Connection, ids: Sequence[str]) -> None:
        """These wait for vectors no longer: they have them, or will have none."""
        ...

    def note_silence(self, connection: Connection, ids: Sequence[str], config: EmbeddingConfig) -> None:
        """Their model did not answer; they go on waiting."""
        ...


_SHELVES: dict[Kind, Shelf] = {"message": messages, "passage": passages, "chunk": chunks}
_BY_PREFIX: dict[str, Shelf] = {
    "message": messages,
    "agent": messages,
    "passage": passages,
    "archive": passages,
    "chunk": chunks,
    "source": chunks,
}


def shelf(kind: Kind) -> Shelf:
    return _SHELVES[kind]


def shelf_of(id: str) -> Shelf:
    """By the id of a document or of an owner."""
    return _BY_PREFIX[id.partition("-")[0]]
