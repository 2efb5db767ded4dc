"""Backups, and looking databases over, on the command line."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from sqlalchemy.exc import DBAPIError

from remanence.db.database import open_database
from remanence.db.migrate import migrate
from remanence.errors import AppError
from remanence.kit.vault import KEY_FILE, Vault
from remanence.search.ports import open_index
from remanence.settings import Settings, normalise_database_url
from remanence.transfer.backing_up import VECTORS, describe, dump_database, restore
from remanence.transfer.backup_file import BackupReader
from remanence.transfer.letta.service import LettaImport, Report
from remanence.transfer.verifying import Verdict, verify

_ADVANCE = 200


def back_up(settings: Settings, file: Path, *, with_key: bool) -> int:
    vault = Vault.open(settings.dir)
    key_file = settings.dir / KEY_FILE

    async def run() -> None:
        await migrate(settings.database_url)
        db = open_database(settings.database_url)
        key = key_file.read_text().strip() if with_key else None
        try:
            with _progress() as advance:
                count = await dump_database(db, file, key=key, key_id=vault.key_id, progress=advance)
        finally:
            await db.close()
        typer.echo(f"{count.rows} rows of {count.tables} tables are in {file}.")

    asyncio.run(run())
    if not with_key:
        typer.echo(f"Secrets in it are encrypted: keep {key_file} with it, but not beside it.")
    return 0


def restore_from(settings: Settings, file: Path) -> int:
    try:
        backup = BackupReader(file)
        _settle_key(settings, backup)
        with _progress() as advance:
            count = asyncio.run(restore(settings.database_url, backup, advance))
    except AppError as error:
        return _refuse(error.message)
    typer.echo(f"{count.rows} rows of {count.tables} tables were restored.")
    return 0


def _settle_key(settings: Settings, backup: BackupReader) -> None:
    """The key that the secrets were encrypted with is in place, or put there from the file. Raises AppError."""
    path = settings.dir / KEY_FILE
    key, wanted = backup.header["key"], backup.header["key_id"]
    if not path.exists() and key:
        settings.dir.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(str(key))
    if not path.exists() or Vault.open(settings.dir).key_id != wanted:
        raise AppError(
            f"The secrets in this backup were encrypted with another key than {path} is. Put the {KEY_FILE} of the "
            "server that was backed up there; nothing was changed."
        )


def verify_all(settings: Settings, file: Path | None) -> int:
    try:
        if file is not None:
            return _verify_file(file)
        verdict = asyncio.run(_verify_database(settings))
    except AppError as error:
        return _refuse(error.message)
    for fault in verdict.faults:
        typer.secho(f"{fault.check}: {fault.where} {fault.what}", fg="red")
        typer.echo(f"  to mend it: {fault.mend}")
    if verdict.count > len(verdict.faults):
        typer.echo(f"… and {verdict.count - len(verdict.faults)} more.")
    typer.echo(f"{verdict.checks} checks over {verdict.histories} histories found {verdict.count} faults.")
    return 1 if verdict.count else 0


async def _verify_database(settings: Settings) -> Verdict:
    await migrate(settings.database_url)
    db = open_database(settings.database_url)
    try:
        return await verify(db, Vault.open(settings.dir), lambda name: typer.echo(f"Checking {name}"))
    finally:
        await db.close()


def _verify_file(file: Path) -> int:
    backup = BackupReader(file)
    counts: dict[str, int] = {}
    for table, _, _ in backup.rows():
        counts[table] = counts.get(table, 0) + 1
    counts.pop(VECTORS, None)
    promised: dict[str, int] = backup.header["tables"]
    wrong = [name for name, count in promised.items() if counts.get(name, 0) != count]
    for name, text in describe(backup.header):
        typer.echo(f"{name}: {text}")
    if wrong:
        return _refuse(f"The backup lacks rows of {', '.join(wrong)}.")
    typer.echo("The backup is whole.")
    return 0


def import_letta(settings: Settings, source: str, *, is_rehearsal: bool, takes_keys: bool) -> int:
    async def run() -> Report:
        if not is_rehearsal:
            await migrate(settings.database_url)
        there, here = open_database(normalise_database_url(source)), open_database(settings.database_url)
        try:
            index = open_index(here)
            if not is_rehearsal:
                await here.write(index.open)
            with _progress() as advance:
                vault = Vault.open(settings.dir)
                work = LettaImport(there, here, index, vault, advance, is_rehearsal, takes_keys)
                return await work.run()
        finally:
            await there.close()
            await here.close()

    if not source.startswith("postgres"):
        return _refuse("Give the former server's database as postgresql://…")
    try:
        report = asyncio.run(run())
    except AppError as error:
        return _refuse(error.message)
    except (DBAPIError, OSError) as error:
        return _refuse(f"The database there cannot be read: {error}")
    for kind in dict.fromkeys([*report.came, *report.there]):
        told = "would come" if is_rehearsal else "came"
        here = f", {report.there[kind]} were here" if report.there[kind] else ""
        typer.echo(f"{kind.replace('_', ' ')}: {report.came[kind]} {told}{here}")
    for note in report.notes:
        typer.echo(f"note: {note}")
    for kind, id, why in report.lost:
        typer.secho(f"could not come: {kind} {id}: {why}", fg="red")
    return 0


def _refuse(message: str) -> int:
    typer.secho(message, err=True, fg="red")
    return 1


@contextmanager
def _progress() -> Generator[Callable[[str, int], None]]:
    """A line for each thing that is under way; called from whichever thread does it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        tasks: dict[str, TaskID] = {}
        pending: dict[str, int] = {}

        def advance(name: str, count: int) -> None:
            if name not in tasks:
                tasks[name] = shown.add_task(name.lstrip("$"), total=None)
            pending[name] = pending.get(name, 0) + count
            if pending[name] >= _ADVANCE:
                shown.advance(tasks[name], pending.pop(name))

        yield advance
        for name, count in pending.items():
            shown.advance(tasks[name], count)
