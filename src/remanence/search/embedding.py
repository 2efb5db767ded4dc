"""Gives vectors to what was indexed without: in the background, in batches, each text once.

What waits is in the database (`backlog.py`), so nothing is lost when a process dies: another, or the next,
goes on. A model that does not answer is asked again later, and meanwhile words are enough.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from sqlalchemy import Connection

from remanence.core.llm import EmbeddingConfig
from remanence.db.database import Database
from remanence.kit.worker import is_surely_gone, this_worker
from remanence.search import backlog
from remanence.search.ports import Document, SearchIndex
from remanence.search.service import Search
from remanence.search.shelves import Shelf, shelf_of

log = logging.getLogger(__name__)

_LOOK_S = 0.3
_SWEEP_S = 5
_BATCH = 256

Claimed = dict[tuple[EmbeddingConfig, str], list[Document]]


class BackgroundEmbedding:
    def __init__(self, db: Database, index: SearchIndex, search: Search) -> None:
        self._db = db
        self._index = index
        self._search = search
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="embedding")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            await self._db.write(backlog.release_dead, [this_worker()])

    async def _run(self) -> None:
        swept_at = float("-inf")
        while True:
            try:
                if time.monotonic() - swept_at >= _SWEEP_S:
                    await self._sweep()
                    swept_at = time.monotonic()
                while await self._db.read(backlog.has_waiting):
                    await self.embed_some()
            except Exception:
                log.exception("could not embed what waits; trying again")
            await asyncio.sleep(_LOOK_S)

    async def embed_some(self) -> int:
        """Takes a batch and gives it its vectors. How many were taken."""
        owners = await self._db.write(backlog.claim, this_worker(), _BATCH)
        if not owners:
            return 0
        claimed = await self._db.read(load_claimed, owners)
        known = {document.id for documents in claimed.values() for document in documents}
        # Those that are gone, say nothing, or whose owner has no model.
        await self._finish([id for id in owners if id not in known], ())
        for (config, organization_id), documents in claimed.items():
            await self._embed(config, organization_id, documents)
        return len(owners)

    async def _embed(
        self, config: EmbeddingConfig, organization_id: str, documents: Sequence[Document]
    ) -> None:
        ids = [document.id for document in documents]
        texts = [document.text for document in documents]
        embeddings = await self._search.embed_all(config, texts, organization_id)
        if None in embeddings:
            await self._db.write(put_back, ids, config)
            return
        pairs = zip(documents, embeddings, strict=True)
        await self._finish(ids, [replace(document, embedding=embedding) for document, embedding in pairs])

    async def _finish(self, ids: Sequence[str], documents: Sequence[Document]) -> None:
        if not ids:
            return

        def write(connection: Connection) -> None:
            # What was changed or taken out meanwhile is no longer ours.
            finished = backlog.finish(connection, this_worker(), ids)
            self._index.embed(connection, [each for each in documents if each.id in finished])
            for shelf, settled in _by_shelf(finished):
                shelf.note_settled(connection, settled)

        await self._db.write(write)

    async def _sweep(self) -> None:
        gone = [worker for worker in await self._db.read(backlog.list_workers) if is_surely_gone(worker)]
        if gone:
            await self._db.write(backlog.release_dead, gone)


def load_claimed(connection: Connection, owners: dict[str, str]) -> Claimed:
    """The documents with the models that are to embed them. Whoever has no model is left out."""
    claimed: Claimed = {}
    for shelf, ids in _by_shelf(owners):
        configs = shelf.load_models(connection, sorted({owners[id] for id in ids}))
        for id, document in shelf.load_documents(connection, ids).items():
            config = configs.get(owners[id])
            if config is not None:
                claimed.setdefault((config, document.organization_id), []).append(document)
    return claimed


def put_back(connection: Connection, ids: Sequence[str], config: EmbeddingConfig) -> None:
    """The model did not answer."""
    backlog.put_back(connection, this_worker(), ids)
    for shelf, waiting in _by_shelf(ids):
        shelf.note_silence(connection, waiting, config)


def _by_shelf(ids: Iterable[str]) -> Iterator[tuple[Shelf, list[str]]]:
    for _, group in groupby(sorted(ids), key=lambda id: id.partition("-")[0]):
        found = list(group)
        yield shelf_of(found[0]), found


def embed_anew(connection: Connection, owner_id: str) -> int:
    """Puts all that an owner has in line for new vectors; the old ones serve until then. How many."""
    ids = shelf_of(owner_id).list_ids(connection, owner_id)
    backlog.add(connection, dict.fromkeys(ids, owner_id))
    return len(ids)
