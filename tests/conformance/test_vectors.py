"""What search by meaning promises, on both engines."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector, pack_vector, unpack_vector
from remanence.db.database import Database
from remanence.db.tables import ArchivePassageRow, ArchiveRow
from remanence.kit.ids import DEFAULT_ORG_ID, new_archive_id, new_passage_id
from remanence.search.matrix import Bounds, Matrix, quantise
from remanence.search.ports import Document, Embedding, Hit, SearchQuery, open_index
from remanence.search.shelves import shelf

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
CONFIG = EmbeddingConfig(embedding_endpoint_type="openai", embedding_model="m", embedding_dim=4)
OTHER = CONFIG.model_copy(update={"embedding_model": "other"})


def toward(*values: float) -> Vector:
    return pack_vector([*values, *[0.0] * (4 - len(values))])


class Library:
    """Archives whose passages have vectors that the test chooses."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.index = open_index(db)
        self.archive_id = new_archive_id()
        self._moment = NOON

    async def open(self) -> None:
        await self.db.write(self.index.open)
        await self.add_archive(self.archive_id)

    async def add_archive(self, archive_id: str) -> str:
        def add(connection: Connection) -> None:
            connection.execute(
                insert(ArchiveRow), {"id": archive_id, "organization_id": DEFAULT_ORG_ID, "name": "a"}
            )

        await self.db.write(add)
        return archive_id

    async def add(
        self,
        words: str,
        *vectors: Vector,
        archive_id: str | None = None,
        tags: Sequence[str] = (),
        config: EmbeddingConfig = CONFIG,
    ) -> str:
        self._moment += timedelta(seconds=1)
        document = Document(
            kind="passage",
            id=new_passage_id(),
            owner_id=archive_id or self.archive_id,
            organization_id=DEFAULT_ORG_ID,
            text=words,
            created_at=self._moment,
            tags=tuple(tags),
            embedding=Embedding(config, vectors) if vectors else None,
        )

        def save(connection: Connection) -> None:
            row = {
                "id": document.id,
                "organization_id": DEFAULT_ORG_ID,
                "archive_id": document.owner_id,
                "text": words,
                "tags": list(tags),
                "created_at": document.created_at,
            }
            connection.execute(insert(ArchivePassageRow), row)
            self.index.index(connection, [document])

        await self.db.write(save)
        return document.id

    async def hits(self, vector: Vector, words: str = "zzz", **filters: Any) -> list[Hit]:
        query = SearchQuery(
            organization_id=DEFAULT_ORG_ID, kind="passage", text=words, owner_ids=[self.archive_id]
        )
        query = replace(query, **filters)
        models = await self.db.read(self.index.models_for, query)
        vectors = {model: vector for model, config in models.items() if config == CONFIG}
        return await self.db.read(self.index.query, replace(query, vectors=vectors))

    async def find(self, vector: Vector, words: str = "zzz", **filters: Any) -> list[str]:
        return [hit.document.text for hit in await self.hits(vector, words, **filters)]


@pytest.fixture
async def library(db: Database) -> Library:
    library = Library(db)
    await library.open()
    return library


async def test_the_most_alike_come_first(library: Library) -> None:
    await library.add("north", toward(1, 0))
    await library.add("east", toward(0, 1))
    await library.add("north-east", toward(1, 1))
    hits = await library.hits(toward(0.9, 0.1))
    assert [hit.document.text for hit in hits] == ["north", "north-east", "east"]
    assert [hit.vector_rank for hit in hits] == [1, 2, 3]
    assert [hit.lexical_rank for hit in hits] == [None] * 3
    assert hits[0].score > hits[1].score > hits[2].score


async def test_words_and_meaning_count_both(library: Library) -> None:
    await library.add("The owl is asleep.", toward(1, 0.2))
    await library.add("The barn is old.", toward(1, 0))
    await library.add("The owl hunts.", toward(0, 1))
    hits = await library.hits(toward(1, 0), "owl")
    assert hits[0].document.text == "The owl is asleep."
    assert (hits[0].lexical_rank, hits[0].vector_rank) == (2, 2)


async def test_a_document_counts_by_its_best_part_and_is_shown_once(library: Library) -> None:
    await library.add("long", toward(0, 0, 1), toward(1, 0), toward(0, 0, 0, 1))
    await library.add("short", toward(1, 1))
    assert await library.find(toward(1, 0)) == ["long", "short"]


async def test_what_is_filtered_out_is_never_ranked(library: Library) -> None:
    for number in range(60):
        await library.add(f"near {number}", toward(1, number / 1000), tags=["near"])
    await library.add("far", toward(-1, 0.1), tags=["far", "odd"])
    await library.add("farther", toward(-1, 0), tags=["far"])
    assert await library.find(toward(1, 0), tags=["far"]) == ["far", "farther"]
    assert await library.find(toward(1, 0), tags=["far", "odd"], needs_all_tags=True) == ["far"]
    assert await library.find(toward(1, 0), start=NOON + timedelta(seconds=61), limit=1) == ["far"]
    assert await library.find(toward(1, 0), end=NOON + timedelta(seconds=1)) == ["near 0"]


async def test_archives_are_searched_apart_and_together(library: Library) -> None:
    other = await library.add_archive(new_archive_id())
    await library.add("here", toward(1, 0.3))
    await library.add("there", toward(1, 0), archive_id=other)
    assert await library.find(toward(1, 0)) == ["here"]
    assert await library.find(toward(1, 0), owner_ids=[other]) == ["there"]
    assert await library.find(toward(1, 0), owner_ids=None) == ["there", "here"]
    assert await library.find(toward(1, 0), owner_ids=[library.archive_id, other]) == ["there", "here"]


async def test_vectors_of_another_model_are_not_compared(library: Library) -> None:
    await library.add("ours", toward(1, 1))
    await library.add("theirs", toward(1, 0), config=OTHER)
    assert await library.find(toward(1, 0)) == ["ours"]


async def test_a_new_vector_stands_in_for_the_old_one(library: Library) -> None:
    moved = await library.add("moved", toward(1, 0))
    await library.add("stayed", toward(1, 1))
    assert await library.find(toward(1, 0)) == ["moved", "stayed"]

    def embed(connection: Connection) -> None:
        document = shelf("passage").load_documents(connection, [moved])[moved]
        library.index.embed(connection, [replace(document, embedding=Embedding(CONFIG, (toward(0, 0, 1),)))])

    await library.db.write(embed)
    assert await library.find(toward(1, 0)) == ["stayed", "moved"]
    vectors = await library.db.read(library.index.vectors_of, [moved])
    assert unpack_vector(vectors[moved]) == pytest.approx([0, 0, 1, 0], abs=0.01)


async def test_what_is_taken_out_or_forgotten_is_gone(library: Library) -> None:
    other = await library.add_archive(new_archive_id())
    gone = await library.add("gone", toward(1, 0))
    await library.add("kept", toward(1, 1))
    await library.add("elsewhere", toward(1, 0.5), archive_id=other)
    assert len(await library.find(toward(1, 0), owner_ids=None)) == 3
    await library.db.write(library.index.delete, [gone])
    assert await library.find(toward(1, 0)) == ["kept"]
    await library.db.write(library.index.forget, other)
    assert await library.find(toward(1, 0), owner_ids=None) == ["kept"]
    assert await library.find(toward(1, 0), owner_ids=[other]) == []


async def test_what_another_process_adds_is_noticed(library: Library) -> None:
    await library.add("first", toward(1, 0))
    assert await library.find(toward(1, 0)) == ["first"]
    library.index, ours = open_index(library.db), library.index
    await library.add("second", toward(1, 0.1))
    library.index = ours
    assert await library.find(toward(1, 0)) == ["first", "second"]


async def test_without_the_extension_words_alone_are_searched(db: Database) -> None:
    library = Library(db)
    await library.open()

    def take_away(connection: Connection) -> None:
        if not db.is_sqlite:
            connection.execute(text("DROP TABLE search_vectors"))

    await db.write(take_away)
    library.index = open_index(db)  # as after a restart without the right to make the table
    await library.add("The owl sleeps.", toward(1, 0))
    assert await library.find(toward(1, 0), "owls") == ["The owl sleeps."]


def test_a_matrix_is_exact_and_forgets_what_was_replaced() -> None:
    matrix = Matrix(4)
    ids = [bytes([number // 256, number % 256] * 8) for number in range(9000)]
    rows = [(key, id, key, 1, None, quantise(toward(1, key / 60))) for key, id in enumerate(ids, 1)]
    matrix.append(rows[:3])
    matrix.append(rows[3:])
    assert list(matrix.nearest(quantise(toward(1, 0)), Bounds(), 2)) == ids[:2]
    assert list(matrix.nearest(quantise(toward(1, 0)), Bounds(start=40, end=42), 1)) == [ids[39]]
    matrix.append([(9001, ids[0], 1, 1, None, quantise(toward(0, 0, 1)))])
    matrix.append([(9002, ids[1], None, None, None, None)])
    assert list(matrix.nearest(quantise(toward(1, 0)), Bounds(), 1)) == ids[2:3]
    assert list(matrix.nearest(quantise(toward(0, 0, 1)), Bounds(), 1)) == ids[:1]
    assert matrix.similarities(quantise(toward(0, 0, 1)), [ids[0], ids[1]]) == {
        ids[0]: pytest.approx(1, abs=0.01)
    }
