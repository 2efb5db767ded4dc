"""The way from a database of the retired server to ours: one thing after the other, each once."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from remanence.core.conform import as_list
from remanence.core.file import FilePassage
from remanence.core.message import Message
from remanence.core.passage import Passage
from remanence.db.database import Database
from remanence.errors import AppError, BadArgument
from remanence.files import repository as files
from remanence.kit.clock import utc_now
from remanence.kit.ids import MessageId
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.search.ports import Embedding, SearchIndex
from remanence.tools.builtin.catalogue import builtin_tools
from remanence.tools.schemas import BUILTIN_TYPES
from remanence.transfer.letta import repository
from remanence.transfer.letta.converting import to_agent, to_block, to_messages, to_tool
from remanence.transfer.letta.repository import AgentParts, Outcome, Talk
from remanence.transfer.letta.rows import (
    cut_file,
    furnish,
    plain_row,
    store_chunks,
    store_passages,
    store_server,
    to_chunk,
    to_conversation,
    to_passage,
    to_server,
)
from remanence.transfer.letta.source import LettaTables
from remanence.transfer.message_form import read_messages

T = TypeVar("T")
P = TypeVar("P", Passage, FilePassage)
Progress = Callable[[str, int], None]
_BATCH = 500

BEFORE_AGENTS = ("sources", "files", "file_contents", "identities", "identities_blocks")
AFTER_AGENTS = (
    "sources_agents",
    "files_agents",
    "identities_agents",
    "groups",
    "groups_agents",
    "groups_blocks",
)
"""Tables that are the same in both, each after what it refers to."""


@dataclass(slots=True)
class Report:
    came: Counter[str] = field(default_factory=Counter[str])
    there: Counter[str] = field(default_factory=Counter[str])
    lost: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """What could not come: kind, id, why."""
    notes: list[str] = field(default_factory=list[str])

    def add(self, kind: str, outcome: Outcome, why: str = "what it belongs to is not there") -> None:
        self.came[kind] += len(outcome.came)
        self.there[kind] += len(outcome.there)
        self.lost += [(kind, id, why) for id in outcome.lost]


@dataclass(slots=True)
class LettaImport:
    source: Database
    target: Database
    index: SearchIndex
    vault: Vault
    progress: Progress
    is_rehearsal: bool = False
    """Everything is read and converted, and nothing written."""
    takes_keys: bool = False
    """Of providers and MCP servers."""
    report: Report = field(default_factory=Report)
    tables: LettaTables = field(default_factory=LettaTables)
    tool_ids: dict[str, str] = field(default_factory=dict[str, str])
    """From ids there to ids here, where a tool of the same name was here."""

    async def run(self) -> Report:
        """Raises BadArgument if this is no database of the retired server."""
        self.tables = await self.source.read(LettaTables.find)
        if not (
            self.tables.has("agents", "id", "llm_config") and self.tables.has("messages", "id", "agent_id")
        ):
            raise BadArgument("There are no tables of a Letta server here: is this the right database?")
        await self._people()
        await self._blocks()
        await self._tools()
        await self._servers()
        for name in BEFORE_AGENTS:
            await self._copy(name)
        await self._archives()
        await self._passages()
        await self._agents()
        await self._copy("archives_agents")
        for name in AFTER_AGENTS:
            await self._copy(name)
        await self._providers()
        if not self.is_rehearsal:
            await self.target.write(furnish)
        return self.report

    # Reading

    async def _read(self, name: str, **options: Any) -> list[JsonObject]:
        def read(connection: Connection) -> list[JsonObject]:
            return list(self.tables.rows(connection, name, **options))

        return await self.source.read(read)

    async def _batches(self, name: str, **options: Any) -> AsyncIterator[list[JsonObject]]:
        """A table in pieces, so that a large one need not fit into memory."""
        if "id" not in self.tables.columns.get(name, ()):
            yield await self._read(name, order=(), **options)
            return
        after: str | None = None
        while rows := await self._read(name, order=("id",), after=after, limit=_BATCH, **options):
            yield rows
            after = str(rows[-1]["id"])

    async def _each(self, name: str) -> AsyncIterator[JsonObject]:
        async for rows in self._batches(name):
            for row in rows:
                yield row

    async def _write(self, kind: str, count: int, rehearsed: T, fn: Callable[..., T], *args: Any) -> T:
        result = rehearsed if self.is_rehearsal else await self.target.write(fn, *args)
        self.progress(kind, count)
        return result

    # Writing, in the order in which things refer to each other

    async def _people(self) -> None:
        for name in ("organizations", "users"):
            rows = [row | {"name": row.get("name") or "unnamed"} for row in await self._read(name)]
            await self._store(name, rows)

    async def _store(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            rehearsed = Outcome([str(row.get("id")) for row in rows])
            outcome = await self._write(name, len(rows), rehearsed, repository.copy_rows, name, rows)
            self.report.add(name, outcome)

    async def _copy(self, name: str) -> None:
        async for rows in self._batches(name, without=("embedding",)):
            await self._store(name, [plain_row(row) for row in rows])

    async def _blocks(self) -> None:
        async for rows in self._batches("block"):
            found = [block for row in rows if (block := self._try("block", row, to_block)) is not None]
            rehearsed = Outcome([block.id for block in found])
            outcome = await self._write("block", len(rows), rehearsed, repository.store_blocks, found)
            self.report.add("block", outcome)

    async def _tools(self) -> None:
        known = {tool.name for tool in builtin_tools()}
        async for row in self._each("tools"):
            tool = self._try("tools", row, to_tool)
            if tool is None:
                continue
            if tool.tool_type in BUILTIN_TYPES and tool.name not in known:
                why = f"{tool.name} is built into that server and not into this"
                self.report.lost.append(("tools", tool.id, why))
                continue
            id, is_new = await self._write("tools", 1, (str(tool.id), True), repository.store_tool, tool)
            self.tool_ids[tool.id] = id
            (self.report.came if is_new else self.report.there)["tools"] += 1

    async def _servers(self) -> None:
        name = "mcp_server" if "mcp_server" in self.tables.columns else "mcp_servers"
        async for row in self._each(name):
            server = self._try("mcp_servers", row, lambda each: to_server(each, takes_keys=self.takes_keys))
            if server is None:
                continue
            is_new = await self._write("mcp_servers", 1, True, store_server, server, self.vault)
            (self.report.came if is_new else self.report.there)["mcp_servers"] += 1

    async def _archives(self) -> None:
        async for rows in self._batches("archives"):
            await self._store(
                "archives", [plain_row(row) | {"name": row.get("name") or "unnamed"} for row in rows]
            )

    async def _passages(self) -> None:
        await self._found("archival_passages", to_passage, store_passages)
        await self._found("source_passages", to_chunk, store_chunks)
        for file in [] if self.is_rehearsal else await self.target.read(files.list_uncut):
            await self.target.write(cut_file, file)

    async def _found(
        self,
        name: str,
        convert: Callable[[JsonObject], tuple[P, Embedding | None]],
        store: Callable[[Connection, SearchIndex, Sequence[tuple[P, Embedding | None]]], Outcome],
    ) -> None:
        """What search finds: rows with their vectors."""
        async for rows in self._batches(name):
            pairs = [pair for row in rows if (pair := self._try(name, row, convert)) is not None]
            rehearsed = Outcome([str(passage.id) for passage, _ in pairs])
            outcome = await self._write(name, len(rows), rehearsed, store, self.index, pairs)
            self.report.add(name, outcome)

    async def _agents(self) -> None:
        async for row in self._each("agents"):
            agent_id = str(row.get("id"))
            if not self.is_rehearsal and await self.target.read(repository.has_agent, agent_id):
                self.report.there["agents"] += 1
                self.progress("agents", 1)
                continue
            try:
                parts = await self.source.read(self._parts, row)
                if not self.is_rehearsal:
                    await self.target.write(repository.store_agent, parts, self.index, self.vault)
            except (ValueError, AppError, DBAPIError) as error:
                self.report.lost.append(("agents", agent_id, _why(error)))
                continue
            self.report.came["agents"] += 1
            self.report.came["messages"] += len(parts.said) + sum(len(talk.said) for talk in parts.talks)
            self.report.came["conversations"] += len(parts.talks)
            self.progress("agents", 1)

    def _parts(self, connection: Connection, row: JsonObject) -> AgentParts:
        """All that hangs on one agent, as it is at one moment. Raises ValueError."""
        agent_id = str(row["id"])

        def rows(name: str, **options: Any) -> Iterator[JsonObject]:
            return self.tables.rows(connection, name, **options)

        def complain(text: str) -> None:
            self.report.notes.append(f"{agent_id}: {text}")

        agent = to_agent(row, complain)
        order = ("sequence_id", "created_at", "id")
        stored = list(rows("messages", order=order, agent_id=agent_id))
        lanes: dict[str | None, list[JsonObject]] = {None: []}
        for each in stored:
            lanes.setdefault(each.get("conversation_id"), []).append(each)
        known = {str(each["id"]): str(each["id"]) for each in stored}
        own = read_messages(to_messages(lanes[None], complain), agent.id, known, utc_now(), keeps_ids=True)
        ids = [str(each) for each in as_list(row.get("message_ids"))]
        parts = AgentParts(
            agent,
            own,
            _window(ids, own),
            failed={str(each["id"]) for each in stored if each.get("is_err") is True},
            tool_ids=[self.tool_ids.get(str(each["tool_id"]), str(each["tool_id"]))
                      for each in rows("tools_agents", order=(), agent_id=agent_id)],
            block_ids=[str(each["block_id"]) for each in rows("blocks_agents", order=(), agent_id=agent_id)],
            tags=[str(each["tag"]) for each in rows("agents_tags", order=("position", "tag"), agent_id=agent_id)],
        )  # fmt: skip
        for each in rows("agent_environment_variables", agent_id=agent_id):
            value = each.get("value")
            if not value and each.get("value_enc"):
                complain(f"the secret {each['key']} is encrypted with that server's key: set it anew")
            parts.secrets[str(each["key"])] = str(value or "")
        for each in rows("conversations", agent_id=agent_id):
            given = to_messages(lanes.get(each["id"], []), complain)
            conversation = to_conversation(each, agent)
            said = read_messages(given, agent.id, known, utc_now(), conversation.id, keeps_ids=True)
            links = list(rows("conversation_messages", order=("position",), conversation_id=each["id"]))
            seen = [str(link["message_id"]) for link in links if link.get("in_context") is not False]
            seen = seen or [str(id) for id in as_list(each.get("in_context_message_ids"))] or list(said)
            shared = [
                MessageId(id) for id in dict.fromkeys(str(link["message_id"]) for link in links) if id in own
            ]
            parts.talks.append(Talk(conversation, said, _window(seen, {**own, **said}), shared))
        return parts

    async def _providers(self) -> None:
        rows: list[JsonObject] = []
        async for row in self._each("providers"):
            if row.get("provider_category") not in (None, "byok") or not row.get("organization_id"):
                continue  # its key and address are in the environment of that server
            keys = {
                name: str(row.get(name) or "") if self.takes_keys else ""
                for name in ("api_key", "access_key")
            }
            if self.takes_keys and not keys["api_key"] and row.get("api_key_enc"):
                self.report.notes.append(
                    f"{row['id']}: its key is encrypted with that server's key: set it anew"
                )
            sealed = {
                "api_key_enc": self.vault.encrypt(keys["api_key"]),
                "access_key_enc": self.vault.encrypt(keys["access_key"]) if keys["access_key"] else None,
            }
            rows.append(plain_row(row) | sealed)
        await self._store("providers", rows)
        if rows and not self.takes_keys:
            self.report.notes.append(
                "Keys of providers were left behind; run again with --with-keys on an empty database to bring them."
            )

    def _try(self, kind: str, row: JsonObject, convert: Callable[[JsonObject], T]) -> T | None:
        try:
            return convert(row)
        except (ValueError, KeyError, TypeError) as error:
            self.report.lost.append((kind, str(row.get("id")), _why(error)))
            return None


def _window(ids: Sequence[str], known: Mapping[str, Message]) -> list[MessageId]:
    return [MessageId(id) for id in dict.fromkeys(ids) if id in known]


def _why(error: Exception) -> str:
    """In one line, for a report."""
    match error:
        case AppError():
            text = error.message
        case ValidationError():
            first = error.errors(include_url=False)[0]
            text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        case DBAPIError():
            text = str(error.orig)
        case KeyError():
            text = f"it has no {error}"
        case _:
            text = str(error)
    return text.splitlines()[0][:300] if text else type(error).__name__
