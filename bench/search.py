"""Search by words and meaning at large sizes: time of a query, memory and disk of the index.

    .venv/bin/python -m bench.search [--full] [--sizes 1000 10000] [--url postgresql+asyncpg://…]

One archive and one agent hold that many passages and messages. Vectors are drawn at random, since only their
number matters here; questions are embedded by the embedded model, as in life.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from array import array
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from bench.search_lexical import Talk, add_agents, bytes_used
from remanence.accounts.repository import ensure_defaults
from remanence.core.message import Message, text_parts
from remanence.core.vector import Vector
from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.db.tables import ArchivePassageRow, ArchiveRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, new_agent_id, new_archive_id, new_message_id, new_passage_id
from remanence.llm.local.embedded import EmbeddedSource
from remanence.llm.local.embedding import DIMENSIONS, LOCAL_EMBEDDING
from remanence.llm.registry import EmbedderRegistry
from remanence.llm.transport import Transport
from remanence.messages.repository import insert_messages
from remanence.search.messages import message_documents
from remanence.search.ports import Document, Embedding, SearchQuery, open_index
from remanence.search.service import Search

QUERIES = 30
_BATCH = 2_000


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


async def measure(db: Database, sizes: list[int]) -> None:
    index, talk, dice = open_index(db), Talk(), random.Random(3)
    config = LOCAL_EMBEDDING.embedding_config()
    transport = Transport()
    search = Search(db, index, EmbedderRegistry([EmbeddedSource(None)], transport).embed)
    await db.write(ensure_defaults)
    await db.write(index.open)
    agent_id, archive_id = new_agent_id(), new_archive_id()
    await db.write(add_agents, [agent_id])
    directions = [array("f", [dice.gauss(0, 1) for _ in range(DIMENSIONS)]).tobytes() for _ in range(4_000)]

    def embedding() -> Embedding:
        return Embedding(config, (Vector(dice.choice(directions)),))

    def save(connection: Connection, count: int, start: int) -> None:
        moment = utc_now() - timedelta(days=365)
        if start == 0:
            row: dict[str, Any] = {"id": archive_id, "organization_id": DEFAULT_ORG_ID, "name": "a"}
            connection.execute(insert(ArchiveRow), row | {"embedding_config": config})
        passages = [
            Document(
                kind="passage",
                id=new_passage_id(),
                owner_id=archive_id,
                organization_id=DEFAULT_ORG_ID,
                text=talk.sentence(),
                created_at=moment + timedelta(seconds=start + number),
                embedding=embedding(),
            )
            for number in range(count)
        ]
        rows = [
            {
                "id": each.id,
                "organization_id": DEFAULT_ORG_ID,
                "archive_id": archive_id,
                "text": each.text,
                "created_at": each.created_at,
            }
            for each in passages
        ]
        connection.execute(insert(ArchivePassageRow), rows)
        index.index(connection, passages)
        messages = [
            Message(
                id=new_message_id(),
                agent_id=agent_id,
                role="assistant" if number % 2 else "user",
                content=text_parts(talk.sentence()),
                created_at=moment + timedelta(seconds=start + number),
            )
            for number in range(count)
        ]
        insert_messages(connection, DEFAULT_ORG_ID, messages)
        documents = message_documents(messages, DEFAULT_ORG_ID)
        index.index(
            connection,
            [
                Document(
                    **{name: getattr(each, name) for name in each.__slots__} | {"embedding": embedding()}
                )
                for each in documents
            ],
        )

    held = 0
    before = await db.read(bytes_used)
    for size in sizes:
        began = time.perf_counter()
        while held < size:
            count = min(_BATCH, size - held)
            await db.write(save, count, held)
            held += count
        used = await db.read(bytes_used)
        grown = {name: (value - before.get(name, 0)) / (2 * held) for name, value in used.items()}
        print(
            f"\n{held:,} passages and as many messages, {time.perf_counter() - began:.0f} s to insert the last"
        )
        print(
            "  bytes each: " + ", ".join(f"{name} {value:.0f}" for name, value in grown.items() if value > 1)
        )
        for kind, owner in (("passage", archive_id), ("message", agent_id)):
            times: list[float] = []
            cpu: list[float] = []
            for number in range(QUERIES + 1):
                query = SearchQuery(
                    organization_id=DEFAULT_ORG_ID,
                    kind="passage" if kind == "passage" else "message",
                    text=f"{talk.query(2, True)} {talk.query(2, False)}",
                    owner_ids=[owner],
                    limit=5,
                )
                began, worked = time.perf_counter(), time.process_time()
                await search.find(query)
                spent = (time.perf_counter() - began) * 1000
                if number:
                    times.append(spent)
                    cpu.append((time.process_time() - worked) * 1000)
                else:
                    print(f"  {kind:<8} first {spent:8.1f} ms", end="")
            late = sorted(times)[int(len(times) * 0.95)]
            print(
                f"   p50 {statistics.median(times):6.1f} ms   p95 {late:6.1f} ms"
                f"   our CPU {statistics.median(cpu):5.1f} ms   {resident_mib():5.0f} MiB in all"
            )
    await transport.close()


async def main(sizes: list[int], url: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"sqlite:///{Path(folder) / 'bench.db'}"
        await migrate(url)
        db = open_database(url)
        try:
            await measure(db, sizes)
        finally:
            await db.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--full", action="store_true", help="a million too")
    parser.add_argument("--url")
    arguments = parser.parse_args()
    million = [1_000_000] if arguments.full else []
    asyncio.run(main([*arguments.sizes, *million], arguments.url))
