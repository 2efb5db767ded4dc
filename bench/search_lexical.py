"""Lexical search measured: time of a query, time and bytes of an indexed message.

    .venv/bin/python -m bench.search_lexical [--sizes 1000 10000 100000] [--url postgresql+asyncpg://…]

Without a URL it makes a SQLite file of its own. One agent holds all messages of a size; beside it stand
as many messages of other agents, so that the scope has something to cut away.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, insert, text

from remanence.accounts.repository import ensure_defaults
from remanence.core.llm import LLMConfig
from remanence.core.message import Message, text_parts
from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.db.tables import AgentRow
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_agent_id, new_message_id
from remanence.messages.repository import insert_messages
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex, SearchQuery, open_index

STEP = 3
"""Messages indexed together, as a checkpoint does."""
QUERIES = 60
OTHERS = 200


class Talk:
    """Made-up talk whose words are as unevenly frequent as real ones."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        pick = self._random.choice
        words: dict[str, None] = {}
        while len(words) < 30_000:
            words["".join(pick("bcdfghklmnprstvwz") + pick("aeiou") for _ in range(pick((2, 3, 3, 4))))] = (
                None
            )
        self._words = list(words)
        self._weights = [1 / (rank + 3) for rank in range(len(self._words))]

    def sentence(self) -> str:
        length = max(2, int(self._random.lognormvariate(2.9, 0.7)))
        return " ".join(self._random.choices(self._words, self._weights, k=length))

    def query(self, words: int, frequent: bool) -> str:
        places = range(20, 200) if frequent else range(200, 8_000)
        return " ".join(self._words[place] for place in self._random.sample(places, words))


def add_agents(connection: Connection, ids: list[AgentId]) -> None:
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=8192)
    rows = [{"id": id, "organization_id": DEFAULT_ORG_ID, "llm_config": config} for id in ids]
    connection.execute(insert(AgentRow), rows)


def save(connection: Connection, index: SearchIndex, messages: list[Message]) -> float:
    """The CPU seconds of indexing alone, without the commit."""
    insert_messages(connection, DEFAULT_ORG_ID, messages)
    began = time.thread_time()
    for start in range(0, len(messages), STEP):
        index.index(connection, message_documents(messages[start : start + STEP], DEFAULT_ORG_ID))
    return time.thread_time() - began


def ask(connection: Connection, index: SearchIndex, query: SearchQuery) -> float:
    """The CPU milliseconds of one query: on a busy machine the clock says little."""
    began = time.thread_time()
    index.query(connection, query)
    return (time.thread_time() - began) * 1000


def bytes_used(connection: Connection) -> dict[str, int]:
    if connection.dialect.name == "sqlite":
        rows = connection.execute(text("SELECT name, sum(pgsize) FROM dbstat GROUP BY 1"))
    else:
        rows = connection.execute(
            text("SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i')")
        )
    sizes = {name: int(size) for name, size in rows}
    ours = {name: size for name, size in sizes.items() if "search_" in name}
    return ours | {"all": sum(sizes.values())}


async def measure(db: Database, sizes: list[int]) -> None:
    index, talk = open_index(db), Talk()
    await db.write(ensure_defaults)
    agent_id, others = new_agent_id(), [new_agent_id() for _ in range(OTHERS)]
    await db.write(add_agents, [agent_id, *others])
    moment, held, spent, letters = utc_now() - timedelta(days=365), 0, 0.0, 0
    before = await db.read(bytes_used)
    for size in sizes:
        while held < size:
            batch: list[Message] = []
            for number in range(min(1_500, size - held)):
                moment += timedelta(seconds=90)
                for owner in (agent_id, others[(held + number) % OTHERS]):
                    words = talk.sentence()
                    letters += len(words)
                    batch.append(
                        Message(
                            id=new_message_id(),
                            agent_id=owner,
                            role="user" if number % 2 else "assistant",
                            content=text_parts(words),
                            created_at=moment,
                        )
                    )
            held += len(batch) // 2
            spent += await db.write(save, index, batch)
        total = 2 * held
        print(f"\n{held:,} messages of one agent among {total:,}, {letters / total:.0f} letters each")
        print(f"  index: {spent / total * 1e6:.0f} µs of CPU a message, without the commit")
        used = await db.read(bytes_used)
        grown = {name: (size - before.get(name, 0)) / total for name, size in used.items()}
        print(
            "  bytes a message: "
            + ", ".join(f"{name} {size:.0f}" for name, size in grown.items() if size > 1)
        )
        year = (moment - timedelta(days=30), moment)
        await report(db, index, "two rare words", agent_id, [talk.query(2, False) for _ in range(QUERIES)])
        await report(db, index, "four words, two frequent", agent_id, mixed(talk))
        await report(
            db, index, "eight frequent words", agent_id, [talk.query(8, True) for _ in range(QUERIES)]
        )
        await report(db, index, "four words, dates", agent_id, mixed(talk), start=year[0], end=year[1])
        await report(db, index, "four words, small agent", others[0], mixed(talk))
        await report(db, index, "four words, all agents", None, mixed(talk))
        await report(db, index, "the newest", agent_id, [""] * QUERIES)


def mixed(talk: Talk) -> list[str]:
    return [f"{talk.query(2, True)} {talk.query(2, False)}" for _ in range(QUERIES)]


async def report(
    db: Database, index: SearchIndex, name: str, owner: AgentId | None, texts: list[str], **dates: object
) -> None:
    times: list[float] = []
    used: list[float] = []
    for words in texts:
        query = SearchQuery(
            text=words,
            organization_id=DEFAULT_ORG_ID,
            owner_ids=None if owner is None else [owner],
            roles=("user", "assistant"),
            limit=10,
            **dates,  # pyright: ignore[reportArgumentType]
        )
        began = time.perf_counter()
        used.append(await db.read(ask, index, query))
        times.append((time.perf_counter() - began) * 1000)
    late = sorted(times)[int(len(times) * 0.95)]
    print(
        f"  {name:<26} CPU {statistics.median(used):6.1f} ms   p50 {statistics.median(times):6.1f} ms   p95 {late:6.1f} ms"
    )


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
    parser.add_argument("--url")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.sizes, arguments.url))
