"""The audit log on the command line: the newest lines, the oldest of them first."""

from rich.console import Console
from rich.table import Table

from remanence.accounts.audit import repository
from remanence.cli.opening import run_on_database
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.settings import Settings


def show(
    settings: Settings, *, limit: int, user_id: str | None, key_id: str | None, object_id: str | None
) -> int:
    async def work(db: Database) -> None:
        entries = await db.read(
            repository.list_entries,
            Page(limit=limit, order="desc"),
            organization_id=None,
            user_id=user_id,
            key_id=key_id,
            object_id=object_id,
        )
        table = Table("When (UTC)", "User", "Key", "From", "Did", "To", "Result", box=None)
        for each in reversed(entries):
            table.add_row(
                f"{each.created_at:%Y-%m-%d %H:%M:%S}",
                each.user_id or "-",
                each.key_id or "-",
                each.ip or "-",
                f"{each.method} {each.route}",
                each.object_id or "-",
                str(each.status),
            )
        Console(width=None if Console().is_terminal else 300, markup=False).print(table)

    return run_on_database(settings, work)
