"""Moving in from a database of the retired server: everything under its ids, as often as one likes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.support.databases import Databases, PostgresDatabases
from tests.support.folders import passages
from tests.support.letta_database import EMBEDDING, furnish_letta
from tests.support.server import RunningServer
from tests.support.waiting import until_sync
from typer.testing import CliRunner

from remanence.agents import repository as agents
from remanence.agents.queries import EVERYTHING, AgentQuery
from remanence.archives import repository as archives
from remanence.cli.main import main
from remanence.core.actor import Actor
from remanence.core.vector import unpack_vector
from remanence.db.database import Database, open_database
from remanence.errors import BadArgument
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, OrgId
from remanence.kit.vault import Vault
from remanence.messages import repository as messages
from remanence.search.chunks import passage_id
from remanence.search.ports import Hit, SearchQuery, open_index
from remanence.tools.mcp import repository as servers
from remanence.transfer.letta.service import LettaImport, Report
from remanence.transfer.verifying import verify

pytestmark = pytest.mark.postgres
T = TypeVar("T")


@pytest.fixture(scope="module")
def letta(postgres_databases: PostgresDatabases) -> tuple[str, dict[str, str]]:
    """Where it is, and the ids of what is in it."""
    url = postgres_databases.empty()
    return url, on(url, lambda db: db.write(furnish_letta))


def on(url: str, work: Callable[[Database], Awaitable[T]]) -> T:
    async def run() -> T:
        db = open_database(url)
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(run())


def quietly(_kind: str, _count: int = 0) -> None:
    """Nobody watches."""


async def move_in(source_url: str, target: Database, folder: Path, *, is_rehearsal: bool = False) -> Report:
    source = open_database(source_url)
    index = open_index(target)
    await target.write(index.open)
    try:
        return await LettaImport(source, target, index, Vault.open(folder), quietly, is_rehearsal).run()
    finally:
        await source.close()


@pytest.mark.promise("moving.letta")
async def test_everything_comes_under_its_own_id_and_only_once(
    letta: tuple[str, dict[str, str]], db: Database, actor: Actor, tmp_path: Path
) -> None:
    url, ids = letta
    rehearsal = await move_in(url, db, tmp_path, is_rehearsal=True)
    assert rehearsal.came["agents"] == 2
    assert await db.read(agents.count_agents, actor, AgentQuery()) == 0
    report = await move_in(url, db, tmp_path)
    came = {kind: count for kind, count in report.came.items() if count}
    assert came == {
        "organizations": 1,
        "block": 1,
        "tools": 2,
        "mcp_servers": 1,
        "sources": 1,
        "files": 2,
        "file_contents": 2,
        "identities": 1,
        "archives": 1,
        "archival_passages": 1,
        "source_passages": 1,
        "agents": 2,
        "messages": 6,
        "conversations": 1,
        "archives_agents": 1,
        "sources_agents": 1,
        "identities_agents": 1,
        "groups": 1,
        "groups_agents": 1,
        "providers": 1,
    }
    assert sorted((kind, why) for kind, _, why in report.lost) == [
        ("agents", "its LLMConfig cannot be read: Field required"),
        ("archival_passages", "what it belongs to is not there"),
        ("tools", "levitate is built into that server and not into this"),
    ]
    assert len(report.notes) == 5  # a rule, a zone, a role, a secret and the keys of providers
    again = await move_in(url, db, tmp_path)
    assert {kind for kind, count in again.came.items() if count and not kind.endswith("_agents")} <= {
        "file_contents"
    }
    assert again.there["agents"] == 2

    vault = Vault.open(tmp_path)
    ann = await db.read(agents.get_agent, actor, ids["ann"])
    relations = (await db.read(agents.load_relations, actor, [ann], EVERYTHING, vault))[ann.id]
    assert (ann.name, ann.agent_type, ann.metadata) == ("ann", "memgpt_v2_agent", {"k": 1})
    assert ann.created_by_id == DEFAULT_USER_ID
    assert [tool.id for tool in relations.tools] == [ids["peek"], ids["send_message"]]
    assert [(block.id, block.value) for block in relations.blocks] == [(ids["block"], "Likes figs.")]
    assert relations.tags == ("old",)
    assert [(each.id, each.identifier_key) for each in relations.identities] == [(ids["identity"], "eve")]
    assert {secret.key: secret.value for secret in relations.secrets} == {"TOKEN": "hush", "SEALED": ""}
    window, _ = await db.read(messages.load_window, ann.id)
    said = ids["said"].split(",")
    assert [message.id for message in window] == [said[0], *said[2:]]
    assert "Likes figs." in window[0].text
    assert (window[1].text, window[3].tool_returns[0].name) == ("Hello figs.", "send_message")
    aside, _ = await db.read(messages.load_window, ids["talk"])
    assert [message.text for message in aside][1:] == ["Psst."]
    elsewhere = Actor(user_id=DEFAULT_USER_ID, organization_id=OrgId(ids["other"]))
    assert (await db.read(agents.get_agent, elsewhere, ids["bob"])).timezone == "UTC"

    index = open_index(db)
    wanted = SearchQuery(organization_id=actor.organization_id, text="quinces", kind="passage")
    (hit,) = await db.read(index.query, wanted)
    assert hit.id == ids["passage"]
    vectors = await db.read(index.vectors_of, [hit.id])
    assert unpack_vector(vectors[hit.id]) == pytest.approx([1, 0, 0, 0], abs=0.01)
    (archive,) = (await db.read(archives.get_holder, actor, ann.id)).archives
    assert archive.id == ids["archive"]
    assert archive.embedding_config is not None
    assert archive.embedding_config.handle == EMBEDDING["handle"]
    (server,) = await db.read(servers.list_servers, actor, vault)
    assert (server.id, server.auth_token) == (ids["server"], None)
    assert (await verify(db, vault, quietly)).faults == []


@pytest.mark.promise("moving.letta.files")
def test_what_is_in_files_is_found_as_before_or_cut_anew(
    letta: tuple[str, dict[str, str]], databases: Databases, tmp_path: Path
) -> None:
    url, ids = letta
    target = databases.fresh()
    for _ in range(2):
        on(target, lambda db: move_in(url, db, tmp_path))
    server = RunningServer(target, tmp_path).start()
    try:
        http = server.client()._client  # pyright: ignore[reportPrivateUsage] the plain client within
        until_sync(lambda: len(passages(http, ids["source"])) == 2, 30)
        found = {each["file_id"]: each for each in passages(http, ids["source"])}
        files = {each["id"]: each for each in http.get(f"/v1/folders/{ids['source']}/files").json()}
    finally:
        server.stop()
    shown = {file["file_name"]: (file["processing_status"], file["total_chunks"]) for file in files.values()}
    assert shown == {
        "a.txt": ("completed", 1),
        "b.txt": ("embedding", 1),
    }  # its model is not reached from here
    kept, cut = found[ids["file_a"]], found[ids["file_b"]]
    assert (kept["id"], kept["file_name"], kept["text"]) == (ids["chunk"], "a.txt", "Figs and quinces.")
    assert kept["embedding"] == pytest.approx([0, 1, 0, 0], abs=0.01)
    assert (cut["file_name"], cut["text"]) == ("b.txt", "Medlars alone.")

    def look(words: str) -> list[Hit]:
        query = SearchQuery(
            organization_id=DEFAULT_ORG_ID, text=words, kind="chunk", owner_ids=[ids["source"]]
        )
        return on(target, lambda db: db.read(open_index(db).query, query))

    assert [passage_id(hit.id) for hit in look("quinces")] == [kept["id"]]
    assert [passage_id(hit.id) for hit in look("medlars")] == [cut["id"]]


@pytest.mark.promise("moving.letta.command")
def test_the_command_tells_what_came_and_what_could_not(
    letta: tuple[str, dict[str, str]],
    sqlite_databases: Databases,
    tmp_path: Path,
    actor: Actor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, ids = letta
    monkeypatch.setenv("REMANENCE_DIR", str(tmp_path))
    target = sqlite_databases.fresh()

    def call(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["import", "letta", "--from", url, "--database", target, *options])
        return result.exit_code, result.output

    code, told = call("--dry-run")
    assert code == 0
    assert "would come" in told
    assert on(target, lambda db: db.read(agents.count_agents, actor, AgentQuery())) == 0
    code, told = call("--with-keys")
    assert code == 0
    assert ids["lost"] in told
    assert on(target, lambda db: db.read(agents.count_agents, actor, AgentQuery())) == 1
    (server,) = on(target, lambda db: db.read(servers.list_servers, actor, Vault.open(tmp_path)))
    assert server.auth_token == "t0ken"


@pytest.mark.promise("moving.letta.command")
def test_a_database_of_something_else_is_refused(
    postgres_databases: PostgresDatabases, sqlite_databases: Databases, tmp_path: Path
) -> None:
    url = postgres_databases.empty()
    with pytest.raises(BadArgument):
        on(sqlite_databases.fresh(), lambda db: move_in(url, db, tmp_path))
