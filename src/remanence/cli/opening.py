"""Commands that work on the database themselves: whether a server runs meanwhile or not."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.errors import AppError
from remanence.settings import Settings


def run_on_database(settings: Settings, work: Callable[[Database], Awaitable[None]]) -> int:
    """Brings it up to date first; the exit code, 1 after an error that is told without a traceback."""

    async def run() -> None:
        await migrate(settings.database_url)
        db = open_database(settings.database_url)
        try:
            await work(db)
        finally:
            await db.close()

    try:
        asyncio.run(run())
    except AppError as error:
        typer.secho(error.message, err=True, fg="red")
        return 1
    return 0
