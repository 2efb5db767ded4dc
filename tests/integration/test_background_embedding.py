"""Texts get their vectors in the background: each once, none forgotten, whoever dies."""

import asyncio
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, insert, select, update
from tests.support.waiting import until

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.message import Message, text_parts
from remanence.core.vector import Vector, pack_vector
from remanence.db.database import Database
from remanence.db.tables import AgentRow, EmbeddingBacklogRow
from remanence.errors import ProviderTimeout
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_agent_id, new_message_id
from remanence.kit.worker import this_worker
from remanence.messages.repository import insert_messages
from remanence.search import backlog
from remanence.search.embedding import BackgroundEmbedding, embed_anew
from remanence.search.messages import message_documents
from remanence.search.ports import SearchQuery, open_index
from remanence.search.rebuilding import clear_index, index_some, list_all
from remanence.search.service import Search

CONFIG = EmbeddingConfig(embedding_endpoint_type="openai", embedding_model="m", embedding_dim=2)
OTHER = CONFIG.model_copy(update={"embedding_model": "other"})
DEAD = "|".join([*this_worker().split("|")[:3], "999999999", "1"])
"""A process of this machine that is surely gone."""


class Model:
    """Knows two things: what is alive, and the rest."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = True

    async def __call__(
        self, config: EmbeddingConfig, texts: Sequence[str], *, organization_id: str, is_query: bool = False
    ) -> list[Vector]:
        if not self.answers:
            raise ProviderTimeout("silence")
        if not is_query:
            self.asked += texts
        return [pack_vector([1, 0] if {"owl", "bird"} & set(text.split()) else [0, 1]) for text in texts]


class Recall:
    def __init__(self, db: Database) -> None:
        self.db = db
        self.index = open_index(db)
        self.model = Model()
        self.search = Search(db, self.index, self.model)
        self.worker = BackgroundEmbedding(db, self.index, self.search)
        self.agent_id = new_agent_id()

    async def open(self, config: EmbeddingConfig | None = CONFIG) -> None:
        llm = LLMConfig(model="m", model_endpoint_type="openai", context_window=8192)
        row = {"id": self.agent_id, "organization_id": DEFAULT_ORG_ID, "llm_config": llm}

        def add(connection: Connection) -> None:
            self.index.open(connection)
            connection.execute(insert(AgentRow), row | {"embedding_config": config})

        await self.db.write(add)

    async def say(self, *texts: str) -> list[str]:
        messages = [
            Message(
                id=new_message_id(),
                agent_id=AgentId(self.agent_id),
                role="user",
                content=text_parts(text),
                created_at=utc_now(),
            )
            for text in texts
        ]

        def save(connection: Connection) -> None:
            insert_messages(connection, DEFAULT_ORG_ID, messages)
            self.index.index(connection, message_documents(messages, DEFAULT_ORG_ID))

        await self.db.write(save)
        return [message.id for message in messages]

    async def find(self, words: str) -> list[str]:
        query = SearchQuery(organization_id=DEFAULT_ORG_ID, text=words, owner_ids=[self.agent_id])
        return [hit.document.text for hit in await self.search.find(query)]

    async def waiting(self) -> int:
        return await self.db.read(backlog.count_waiting)


@pytest.fixture
async def recall(db: Database) -> Recall:
    recall = Recall(db)
    await recall.open()
    return recall


async def test_a_text_is_found_by_its_words_at_once_and_by_its_meaning_soon(recall: Recall) -> None:
    await recall.say("the owl sleeps", "we had soup")
    assert await recall.find("owls") == ["the owl sleeps"]
    assert await recall.find("bird") == []
    recall.worker.start()

    async def is_known() -> bool:
        return await recall.find("bird") == ["the owl sleeps"]

    await until(is_known)
    await recall.worker.stop()


async def test_each_text_is_embedded_once(recall: Recall) -> None:
    texts = [f"fact {number}" for number in range(300)]
    await recall.say(*texts)
    others = [BackgroundEmbedding(recall.db, recall.index, recall.search) for _ in range(2)]
    await asyncio.gather(*(each.embed_some() for each in (recall.worker, *others)))
    assert await recall.waiting() == 0
    assert sorted(recall.model.asked) == sorted(texts)
    assert await recall.worker.embed_some() == 0


async def test_a_model_that_does_not_answer_is_asked_again_later(recall: Recall) -> None:
    await recall.say("the owl sleeps")
    recall.model.answers = False
    await recall.worker.embed_some()
    assert await recall.worker.embed_some() == 0, "it rests first"
    assert await recall.waiting() == 1
    assert await recall.find("owl") == ["the owl sleeps"]
    recall.model.answers = True

    def rest(connection: Connection) -> None:
        connection.execute(update(EmbeddingBacklogRow).values(alive_until=utc_now()))

    await recall.db.write(rest)
    assert await recall.worker.embed_some() == 1
    assert await recall.find("bird") == ["the owl sleeps"]


async def test_what_a_dead_process_had_is_taken_over(recall: Recall) -> None:
    await recall.say("the owl sleeps")
    assert len(await recall.db.write(backlog.claim, DEAD, 10)) == 1
    assert await recall.worker.embed_some() == 0
    recall.worker.start()

    async def is_done() -> bool:
        return await recall.waiting() == 0

    await until(is_done)
    await recall.worker.stop()
    assert recall.model.asked == ["the owl sleeps"]


async def test_what_was_taken_over_is_not_finished_by_the_first(recall: Recall) -> None:
    (id,) = await recall.say("the owl sleeps")
    await recall.db.write(backlog.claim, DEAD, 10)
    await recall.db.write(backlog.release_dead, [DEAD])
    await recall.db.write(backlog.claim, "somebody else", 10)
    assert await recall.db.write(backlog.finish, DEAD, [id]) == set()
    assert await recall.waiting() == 1


async def test_another_model_means_new_vectors_for_all(recall: Recall) -> None:
    await recall.say("the owl sleeps", "we had soup")
    await recall.worker.embed_some()

    def change(connection: Connection) -> int:
        connection.execute(update(AgentRow).values(embedding_config=OTHER))
        return embed_anew(connection, recall.agent_id)

    assert await recall.db.write(change) == 2
    assert await recall.find("bird") == ["the owl sleeps"], "the old ones serve until then"
    await recall.worker.embed_some()
    query = SearchQuery(organization_id=DEFAULT_ORG_ID, owner_ids=[recall.agent_id])
    models = await recall.db.read(recall.index.models_for, query)
    assert [config.embedding_model for config in models.values()] == ["other"]
    assert await recall.find("bird") == ["the owl sleeps"]


async def test_without_a_model_nothing_waits(db: Database) -> None:
    recall = Recall(db)
    await recall.open(None)
    await recall.say("the owl sleeps")
    await recall.worker.embed_some()
    assert await recall.waiting() == 0
    assert await recall.find("owl") == ["the owl sleeps"]


async def test_the_index_can_be_built_anew(recall: Recall) -> None:
    await recall.say("the owl sleeps", "we had soup")
    await recall.worker.embed_some()
    ids = await recall.db.read(list_all)
    assert len(ids) == 2
    await recall.db.write(clear_index)
    await recall.db.write(index_some, recall.index, ids)
    assert await recall.find("soups") == ["we had soup"]
    await recall.worker.embed_some()
    assert await recall.find("bird") == ["the owl sleeps"]


async def test_newer_texts_do_not_wait_behind_older_ones(recall: Recall) -> None:
    await recall.say(*[f"old {number}" for number in range(20)])
    (new,) = await recall.say("new")
    assert list(await recall.db.write(backlog.claim, "me", 1)) == [new]
    left = await recall.db.read(lambda connection: connection.execute(select(EmbeddingBacklogRow.key)).all())
    assert len(left) == 21
