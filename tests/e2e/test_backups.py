"""Whole databases in one file, out of a server at work and into either database; and what verify sees."""

import asyncio
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, update
from tests.support.agent_files import SOURCE
from tests.support.databases import Databases
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse

from remanence.accounts.repository import ensure_defaults, list_organization_ids
from remanence.batches.repository import insert_items
from remanence.db.database import Database, open_database
from remanence.db.migrate import current_revision, migrate, newest_revision
from remanence.db.tables import (
    AgentSecretRow,
    BlockRow,
    JobRow,
    LeaseRow,
    MessageRow,
    RunEventsRow,
    RunRow,
    StepRow,
)
from remanence.errors import BadArgument, Conflict
from remanence.jobs.repository import enqueue
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.search.ports import SearchQuery, open_index
from remanence.transfer.backing_up import dump_database, restore
from remanence.transfer.backup_file import BackupReader
from remanence.transfer.verifying import Verdict, verify


def quietly(_name: str, _count: int = 0) -> None:
    """Nobody watches."""


@pytest.fixture
def ann(talk: Talk) -> JsonObject:
    """An agent with a history, a tool, a secret, an archive and a background run."""
    tool = talk.ask("POST", "/v1/tools/", json={"source_code": SOURCE.format(name="peek")})
    agent = talk.agent(name="ann", tool_ids=[tool["id"]], secrets={"TOKEN": "hush"}, tags=["kept"])
    talk.say(
        agent, "Note figs.", calls("memory_insert", label="human", new_string="Likes figs."), says("Done.")
    )
    path = f"/v1/agents/{agent['id']}/archival-memory"
    talk.ask("POST", path, json={"text": "Quinces ripen late.", "tags": ["fruit"]})
    return agent


@pytest.fixture
def backup(talk: Talk, ann: JsonObject, tmp_path: Path) -> BackupReader:
    """Of the database that the house uses at this moment."""
    return BackupReader(take_backup(talk.tenant.house, tmp_path / "all.backup"))


def take_backup(house: SharedHouse, path: Path) -> Path:
    async def run() -> None:
        db = open_database(house.server.database_url)
        await dump_database(db, path, key=None, key_id=Vault.open(house.folder).key_id, progress=quietly)
        await db.close()

    asyncio.run(run())
    return path


def on(url: str, work: Callable[[Database], Any]) -> Any:
    async def run() -> Any:
        db = open_database(url)
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(run())


def rows_of(path: Path) -> dict[str, list[str]]:
    """What a backup holds, in a form that does not depend on the order in which a database has it."""
    found: dict[str, list[str]] = {}
    for table, columns, row in BackupReader(path).rows():
        if not table.startswith("$"):
            shown = {
                name: str(value).replace("Z", "").replace("+00:00", "")
                for name, value in zip(columns, row, strict=True)
            }
            found.setdefault(table, []).append(str(sorted(shown.items())))
    return {table: sorted(rows) for table, rows in found.items()}


@pytest.fixture
def other(request: pytest.FixtureRequest, house: SharedHouse) -> Databases:
    """The kind of database that the house does not use."""
    is_sqlite = house.server.database_url.startswith("sqlite")
    return request.getfixturevalue("postgres_databases" if is_sqlite else "sqlite_databases")


@pytest.mark.postgres
@pytest.mark.promise("moving.backup", "moving.verify")
def test_a_backup_fills_the_other_database_with_the_same_and_verify_finds_what_breaks_it(
    talk: Talk, ann: JsonObject, backup: BackupReader, other: Databases, tmp_path: Path
) -> None:
    url = other.fresh()
    count = asyncio.run(restore(url, backup, quietly))
    assert count.rows == sum(backup.header["tables"].values())
    again = tmp_path / "again.backup"
    on(url, lambda db: dump_database(db, again, key=None, key_id="x", progress=quietly))
    assert rows_of(again) == rows_of(backup.path)
    organization_id = talk.tenant.actor.organization_id

    async def look(db: Database) -> tuple[list[str], int, list[str]]:
        index = open_index(db)
        found = SearchQuery(organization_id=organization_id, text="quinces", kind="passage")
        hits = await db.read(index.query, found)
        said = SearchQuery(organization_id=organization_id, text="figs", kind="message")
        ids = [hit.id for hit in await db.read(index.query, said)]
        vectors = await db.read(index.vectors_of, [hit.id for hit in hits])
        return [hit.snippet for hit in hits], len(vectors), ids

    snippets, vectors, ids = on(url, look)
    assert snippets == ["Quinces ripen late."]
    assert vectors == 1
    assert len(ids) >= 1
    with pytest.raises(Conflict):
        asyncio.run(restore(url, backup, quietly))
    check_verify(talk, ann, url)


def check_verify(talk: Talk, ann: JsonObject, url: str) -> None:
    vault = Vault.open(talk.tenant.house.folder)
    agent_id = ann["id"]

    async def look(db: Database) -> Verdict:
        return await verify(db, vault, quietly)

    # Other tests of this house break what they like; nothing of ours is broken.
    before = {(fault.check, fault.where) for fault in on(url, look).faults}
    assert not any(agent_id in where for _, where in before)

    def spoil(connection: Connection) -> None:
        mine = MessageRow.agent_id == agent_id
        run_id = connection.execute(
            MessageRow.__table__.select().where(mine, MessageRow.run_id.is_not(None))
        ).first()
        assert run_id is not None
        connection.execute(delete(StepRow).where(StepRow.agent_id == agent_id))
        connection.execute(
            update(MessageRow).where(mine, MessageRow.role == "tool").values(tool_returns=None)
        )
        connection.execute(delete(LeaseRow).where(LeaseRow.agent_id == agent_id))
        connection.execute(
            update(RunRow).where(RunRow.agent_id == agent_id).values(status="running", worker=None)
        )
        connection.execute(insert(RunEventsRow), [
            {"run_id": run_id.run_id, "first_seq": 1, "last_seq": 2, "frames": ""},
            {"run_id": run_id.run_id, "first_seq": 5, "last_seq": 6, "frames": ""},
        ])  # fmt: skip
        connection.execute(
            update(AgentSecretRow).where(AgentSecretRow.agent_id == agent_id).values(value_enc="x")
        )
        connection.execute(update(BlockRow).where(BlockRow.id == ann["blocks"][0]["id"]).values(limit=1))
        job = enqueue(connection, talk.tenant.actor, "batch", {}, job_type="batch")
        insert_items(connection, job.id, [(agent_id, {"messages": []})])
        connection.execute(update(JobRow).where(JobRow.id == job.id).values(completed_at=utc_now()))

    on(url, lambda db: db.write(spoil))
    found = {(fault.check, fault.where) for fault in on(url, look).faults} - before
    checks = {check for check, _ in found}
    assert checks >= {"steps", "histories", "leases", "runs", "streams", "secrets", "memory", "later"}
    assert any(agent_id in where for _, where in found)


@pytest.mark.promise("moving.backup.broken")
def test_a_backup_that_was_cut_off_or_is_none_is_refused(
    sqlite_house: SharedHouse, sqlite_databases: Databases, tmp_path: Path
) -> None:
    backup = BackupReader(take_backup(sqlite_house, tmp_path / "all.backup"))
    url = sqlite_databases.fresh()
    whole = gzip.decompress(backup.path.read_bytes())
    cut = tmp_path / "cut.backup"
    cut.write_bytes(gzip.compress(whole[: len(whole) // 2]))
    with pytest.raises(BadArgument):
        asyncio.run(restore(url, BackupReader(cut), quietly))
    cut.write_bytes(gzip.compress(b"\n".join(whole.splitlines()[:-2])))
    with pytest.raises(BadArgument, match="not whole"):
        asyncio.run(restore(url, BackupReader(cut), quietly))
    cut.write_bytes(backup.path.read_bytes()[:-100])
    with pytest.raises(BadArgument):
        asyncio.run(restore(url, BackupReader(cut), quietly))
    for wrong in (b"", b"hello", gzip.compress(b'{"format": "other"}\n')):
        cut.write_bytes(wrong)
        with pytest.raises(BadArgument):
            BackupReader(cut)
    # Nothing of them is there, so that the whole one still fits.
    asyncio.run(restore(url, backup, quietly))


@pytest.mark.promise("moving.backup.older")
def test_an_older_backup_is_brought_up_to_date(sqlite_databases: Databases, tmp_path: Path) -> None:
    old, path = sqlite_databases.empty(), tmp_path / "old.backup"
    asyncio.run(migrate(old, "0009"))
    on(old, lambda db: db.write(ensure_defaults))
    on(old, lambda db: dump_database(db, path, key=None, key_id="x", progress=quietly))
    url = sqlite_databases.empty()
    asyncio.run(restore(url, BackupReader(path), quietly))
    assert on(url, lambda db: db.read(current_revision)) == newest_revision()
    assert on(url, lambda db: db.read(list_organization_ids)) == [DEFAULT_ORG_ID]
