"""Builds the search index anew: words of everything, and vectors of what has none or all of it."""

import asyncio

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.search.ports import open_index
from remanence.search.rebuilding import clear_index, index_some, list_all
from remanence.settings import Settings

_BATCH = 500


def reindex(settings: Settings) -> int:
    """How many documents there are."""
    return asyncio.run(_reindex(settings))


async def _reindex(settings: Settings) -> int:
    await migrate(settings.database_url)
    db = open_database(settings.database_url)
    try:
        return await rebuild(db)
    finally:
        await db.close()


async def rebuild(db: Database) -> int:
    index = open_index(db)
    await db.write(index.open)
    ids = await db.read(list_all)
    await db.write(clear_index)
    columns = (TextColumn("Indexing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("", total=len(ids))
        for start in range(0, len(ids), _BATCH):
            await db.write(index_some, index, ids[start : start + _BATCH])
            progress.advance(task, min(_BATCH, len(ids) - start))
    return len(ids)
