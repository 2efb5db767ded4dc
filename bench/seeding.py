"""Long histories, written straight into the database through the server's own functions."""

import random
from datetime import timedelta

from sqlalchemy import Connection, text

from remanence.core.message import Message, text_parts
from remanence.db.database import open_database
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_message_id
from remanence.messages import repository as messages
from remanence.search.messages import message_documents
from remanence.search.ports import open_index


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
        self._sums: list[float] = []
        total = 0.0
        for weight in self._weights:
            total += weight
            self._sums.append(total)

    def sentence(self) -> str:
        length = max(2, int(self._random.lognormvariate(2.6, 0.6)))
        return " ".join(self._random.choices(self._words, cum_weights=self._sums, k=length))

    def query(self, words: int, is_frequent: bool) -> str:
        places = range(20, 200) if is_frequent else range(200, 8_000)
        return " ".join(self._words[place] for place in self._random.sample(places, words))


async def seed_history(
    url: str, agent_id: str, count: int, *, in_window: bool, talk: Talk | None = None
) -> None:
    """So many messages, user and assistant in turn, before anything that is said later."""
    talk = talk or Talk()
    start = utc_now() - timedelta(days=30)
    agent = AgentId(agent_id)
    made = [
        Message(
            id=new_message_id(),
            agent_id=agent,
            role="assistant" if index % 2 else "user",
            content=text_parts(talk.sentence()),
            created_at=start + timedelta(seconds=index * 60),
        )
        for index in range(count)
    ]
    db = open_database(url)
    index = open_index(db)

    def save(connection: Connection) -> None:
        messages.insert_messages(connection, DEFAULT_ORG_ID, made)
        if in_window:
            position = messages.next_position(connection, agent)
            messages.append_context(connection, agent, position, [each.id for each in made])
        for at in range(0, len(made), 500):
            index.index(connection, message_documents(made[at : at + 500], DEFAULT_ORG_ID))

    try:
        await db.write(save)
    finally:
        await db.close()


async def database_bytes(url: str) -> dict[str, int]:
    """Bytes by table and index, and `all` together; what deleted and changed rows left is given back first."""
    db = open_database(url)

    def read(connection: Connection) -> dict[str, int]:
        if db.is_sqlite:
            rows = connection.execute(text("SELECT name, sum(pgsize) FROM dbstat GROUP BY 1"))
        else:
            rows = connection.execute(
                text(
                    "SELECT relname, pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n "
                    "ON n.oid = c.relnamespace WHERE relkind IN ('r', 'i', 't') AND nspname <> 'pg_catalog'"
                )
            )
        sizes = {str(name): int(size) for name, size in rows}
        return sizes | {"all": sum(sizes.values())}

    try:
        if not db.is_sqlite:
            await _vacuum(url)
        return await db.read(read)
    finally:
        await db.close()


async def _vacuum(url: str) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text("VACUUM"))
    await engine.dispose()
