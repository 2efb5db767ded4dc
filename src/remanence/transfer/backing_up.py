"""A whole database into a file and out of it, from either database into either.

Tables are read as they are found in the database and not as this version knows them, so that an older
backup is loaded at its own revision and then brought up to date like any older database.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import JSON, Connection, DateTime, Integer, MetaData, Table, func, insert, select, text

from remanence.core.vector import Vector
from remanence.db.database import Database, open_database
from remanence.db.migrate import current_revision, migrate, newest_revision
from remanence.errors import BadArgument, Conflict
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.search.dumping import DumpedVector, dump_models, dump_vectors, load_vectors
from remanence.search.ports import SearchIndex, open_index
from remanence.search.rebuilding import index_some, list_all
from remanence.transfer.backup_file import BackupReader, new_backup

Progress = Callable[[str, int], None]
"""Called with what is being done and how many rows of it were done since."""

VECTORS = "$vectors"
_LEFT_OUT = ("alembic_version", "embedding_backlog", "embedding_models")
"""What is made anew with the search index; its own tables are named `search_…`."""
_FURNITURE = ("organizations", "users", "tools")
"""What every server makes for itself when it starts."""
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Count:
    tables: int
    rows: int


async def dump_database(
    db: Database, path: Path, *, key: str | None, key_id: str, progress: Progress
) -> Count:
    """Writes what is there at this moment. Servers may go on meanwhile."""

    def dump(connection: Connection) -> Count:
        tables = _tables(connection)
        with new_backup(path) as writer:
            writer.header(
                {
                    "revision": current_revision(connection),
                    "created_at": utc_now(),
                    "key": key,
                    "key_id": key_id,
                    "models": dump_models(connection),
                    "tables": {table.name: _count(connection, table) for table in tables},
                }
            )
            rows = 0
            for table in tables:
                writer.table(table.name, [column.name for column in table.columns])
                statement = select(table).execution_options(yield_per=_BATCH)
                for row in connection.execute(statement):
                    writer.row(row)
                    rows += 1
                    progress(table.name, 1)
            writer.table(VECTORS, ["document_id", "model", "vector"])
            for each in dump_vectors(connection):
                half = np.frombuffer(each.vector, np.float32).astype(np.float16).tobytes()
                writer.row((each.document_id, each.model, half))
                progress(VECTORS, 1)
        return Count(len(tables), rows)

    return await db.read(dump)


async def restore(url: str, backup: BackupReader, progress: Progress) -> Count:
    """Into a database that nobody has used yet. Raises Conflict and BadArgument; then it is as empty as before."""
    revision = str(backup.header["revision"])
    if revision > newest_revision():
        raise BadArgument(
            f"The backup is at revision {revision}, newer than this server knows; use a newer one."
        )
    await migrate(url, revision)
    db = open_database(url)
    try:
        count = await db.write(_load, backup, progress)
    finally:
        await db.close()
    await migrate(url)
    db = open_database(url)
    try:
        await _index(db, backup, progress)
    finally:
        await db.close()
    return count


def _load(connection: Connection, backup: BackupReader, progress: Progress) -> Count:
    tables = {table.name: table for table in _tables(connection)}
    used = [name for name, table in tables.items() if name not in _FURNITURE and _count(connection, table)]
    if used:
        raise Conflict(
            f"There is something in this database already ({', '.join(used[:3])}); restore into an empty one."
        )
    here = current_revision(connection)
    if here != backup.header["revision"]:
        raise Conflict(
            f"This database is at revision {here} and the backup at {backup.header['revision']}; restore into a "
            "new, empty database."
        )
    for table in reversed(tables.values()):
        connection.execute(table.delete())
    count = 0
    for (name, columns), rows in groupby(backup.rows(), key=lambda each: (each[0], tuple(each[1]))):
        if name == VECTORS:
            for _ in rows:  # to the end, for the file to be known as whole
                pass
            continue
        if name not in tables:
            raise BadArgument(f"The backup has a table {name} that revision {here} has not.")
        for batch in _batches(rows):
            _insert(connection, tables[name], columns, [each[2] for each in batch])
            count += len(batch)
            progress(name, len(batch))
    _set_counters(connection, tables.values())
    return Count(len(tables), count)


def _insert(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[list[Any]]) -> None:
    read = [_reader(table, name) for name in columns]
    values = [{name: fix(value) for name, fix, value in zip(columns, read, row, strict=True)} for row in rows]
    connection.execute(insert(table), values)


def _reader(table: Table, name: str) -> Callable[[Any], Any]:
    if name not in table.columns:
        raise BadArgument(f"The backup has a column {table.name}.{name} that this revision has not.")
    kind = table.columns[name].type
    if isinstance(kind, DateTime):
        return lambda value: None if value is None else _moment(value, has_zone=bool(kind.timezone))
    return lambda value: value


def _moment(value: str, *, has_zone: bool) -> datetime:
    """SQLite keeps no zone: all moments are in UTC."""
    moment = datetime.fromisoformat(value)
    return moment.replace(tzinfo=moment.tzinfo or UTC) if has_zone else moment.replace(tzinfo=None)


def _set_counters(connection: Connection, tables: Any) -> None:
    """PostgreSQL counts by itself, and does not look at what was given."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        for column in table.primary_key.columns:
            if isinstance(column.type, Integer) and len(table.primary_key.columns) == 1:
                top = connection.scalar(select(func.max(column)))
                name = connection.scalar(
                    text("SELECT pg_get_serial_sequence(:table, :column)"),
                    {"table": table.name, "column": column.name},
                )
                if top is not None and name is not None:
                    connection.execute(text("SELECT setval(:name, :top)"), {"name": name, "top": top})


async def _index(db: Database, backup: BackupReader, progress: Progress) -> None:
    """The vectors that the backup has, and the words of everything; what has no vectors gets them later."""
    index = open_index(db)
    await db.write(index.open)
    models = {int(number): config for number, config in backup.header["models"].items()}
    done: set[str] = set()
    found = (row for table, _, row in backup.rows() if table == VECTORS)
    dumped = (
        DumpedVector(id, model, Vector(np.frombuffer(half, np.float16).astype(np.float32).tobytes()))
        for id, model, half in found
    )
    groups = (list(group) for _, group in groupby(dumped, key=lambda each: each.document_id))
    for batch in _batches(groups):
        vectors = [each for group in batch for each in group]
        done.update(await db.write(load_vectors, index, vectors, models))
        progress(VECTORS, len(vectors))
    await index_rest(db, index, done, progress)


async def index_rest(db: Database, index: SearchIndex, done: set[str], progress: Progress) -> None:
    rest = [id for id in await db.read(list_all) if id not in done]
    for batch in _batches(iter(rest)):
        await db.write(index_some, index, batch)
        progress("words", len(batch))


def _tables(connection: Connection) -> list[Table]:
    """Those that are backed up, each after what it refers to."""
    found = MetaData()
    found.reflect(connection, only=lambda name, _: not name.startswith("search_") and name not in _LEFT_OUT)
    for table in found.tables.values():
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type = JSON(none_as_null=True)
    return list(found.sorted_tables)


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def describe(header: JsonObject) -> list[tuple[str, str]]:
    """For people: what a backup holds."""
    counts: dict[str, int] = header["tables"]
    shown = ("organizations", "agents", "messages", "block", "archival_passages", "tools", "files")
    rows = [("Written", str(header["created_at"])), ("Revision", str(header["revision"]))]
    rows += [(name.replace("_", " ").capitalize(), str(counts[name])) for name in shown if counts.get(name)]
    return [*rows, ("Key", "inside" if header["key"] else "not inside")]
