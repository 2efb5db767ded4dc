"""A checked agent file becomes agents, in one transaction: all of it or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.compiling import recompile
from remanence.agents.conversations.repository import insert_conversation, share_messages
from remanence.agents.groups import repository as groups
from remanence.agents.schemas import AgentCreate
from remanence.agents.service import AgentService
from remanence.archives import repository as archives
from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.conversation import Conversation
from remanence.core.group import Group
from remanence.core.helper import CAPTURE_MARK
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.mcp import McpServer
from remanence.core.message import Message
from remanence.core.passage import Archive, Passage
from remanence.core.tool import Tool
from remanence.kit.clock import utc_now
from remanence.kit.ids import (
    AgentId,
    ConversationId,
    FolderId,
    new_archive_id,
    new_id,
    new_passage_id,
    new_tool_id,
)
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.memory import repository as blocks
from remanence.memory.schemas import BlockCreate
from remanence.messages import repository as messages
from remanence.runs.mending import repair
from remanence.runs.service import Address
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex
from remanence.tools import repository as tools
from remanence.tools.mcp import repository as servers
from remanence.tools.schemas import BUILTIN_TYPES
from remanence.transfer import folders
from remanence.transfer.message_form import read_messages
from remanence.transfer.schemas import AgentFile, FileAgent, FileBlock, FileConversation, FileGroup, FileTool

_HELPED = ("sleeptime", "voice_sleeptime")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file with what had to be asked elsewhere before it can be stored."""

    file: AgentFile
    bodies: dict[str, AgentCreate]
    """How each agent is made, but for what is known by its id in the file."""
    configs: dict[str, tuple[LLMConfig, EmbeddingConfig | None]]
    embeddings: dict[str, EmbeddingConfig | None]
    """The models of archives and folders."""
    tools: dict[str, Tool]
    """The tools that would be made, as they would be."""
    servers: dict[str, McpServer]
    """The MCP servers that may be made here."""
    overrides_tools: bool
    project_id: str | None
    begins: bool = False
    """Agents without a history of their own, which begin as new ones do."""


@dataclass(slots=True)
class Imported:
    agent_ids: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    """What of the file is not here now, and why."""


class Importer:
    """Works on one file within one transaction."""

    def __init__(
        self, connection: Connection, actor: Actor, service: AgentService, index: SearchIndex, vault: Vault
    ) -> None:
        self.connection = connection
        self.actor = actor
        self.service = service
        self._index = index
        self.vault = vault
        self.ids: dict[str, str] = {}
        """From ids in the file to those here."""
        self._result = Imported()

    def store(self, prepared: Prepared) -> Imported:
        """Raises Invalid, BadArgument, AlreadyExists; then nothing is to be kept."""
        file = prepared.file
        self.take_tools(prepared)
        stored = blocks.insert_blocks(
            self.connection, [self.new_block(each, project_id=prepared.project_id) for each in file.blocks]
        )
        self.ids |= {given.id: block.id for given, block in zip(file.blocks, stored, strict=True)}
        for given in file.groups:  # messages name them
            self.ids[given.id] = new_id("group")
        for given in file.sources:
            config = prepared.embeddings[given.id]
            self.ids[given.id] = folders.store_folder(self.connection, self.actor, given, config)
        for given in file.files:
            folder_id = FolderId(self.ids[given.source_id])
            self.ids[given.id] = folders.store_file(self.connection, self.actor, given, folder_id)
        for given in file.agents:
            self.ids[given.id] = self._store_agent(given, prepared)
            if given.files_agents:
                folders.open_as_before(self.connection, self.actor, given, self.ids)
        self._result.agent_ids = [self.ids[agent.id] for agent in file.agents]
        self._store_archives(prepared)
        told = () if prepared.begins else file.agents
        histories = {agent.id: self._store_history(agent) for agent in told}
        for talk in file.remanence.conversations:
            self._store_conversation(talk, histories[talk.agent_id])
        for group in file.groups:
            self._store_group(group, prepared)
        for agent_id in self._result.agent_ids:
            recompile(self.connection, self.actor, agent_id)
        return self._result

    def take_tools(self, prepared: Prepared) -> None:
        """Finds or makes what the agents of the file call, and its MCP servers."""
        self._find_servers(prepared)
        for given in prepared.file.tools:
            self._store_tool(given, prepared)

    def new_block(self, given: FileBlock, **changes: Any) -> Block:
        body = BlockCreate.model_validate(given.model_dump(exclude={"id", "copied_from"}))
        return body.new_block(self.actor).model_copy(update=changes)

    def _warn(self, text: str) -> None:
        self._result.warnings.append(text)

    def _find_servers(self, prepared: Prepared) -> None:
        """One of the same name that is here is taken; else a remote one is made. Programs never are."""
        for given in prepared.file.mcp_servers:
            name = given.server_name
            here = servers.find_server_by_name(self.connection, self.actor, name, self.vault)
            if here is None and given.id in prepared.servers:
                here = prepared.servers[given.id]
                servers.insert_server(self.connection, here, self.vault)
            if here is None:
                self._warn(
                    f"The MCP server {name!r} is a program, and a file may not have programs started here: add "
                    "it yourself, under this name, for its tools to work."
                )
            else:
                self.ids[given.id] = here.id

    def _store_tool(self, given: FileTool, prepared: Prepared) -> None:
        name = given.own_name
        here = tools.find_by_name(self.connection, self.actor, name) if name else None
        fresh = prepared.tools.get(given.id)
        if here is not None:
            is_same_kind = here.tool_type == "custom" and fresh is not None and fresh.tool_type == "custom"
            if fresh is not None and is_same_kind and prepared.overrides_tools:
                kept = {
                    name: getattr(here, name) for name in ("id", "created_at", "created_by_id", "project_id")
                }
                tools.update_tool(self.connection, self.actor, fresh.model_copy(update=kept))
            elif fresh is not None and not is_same_kind and here.tool_type != fresh.tool_type:
                self._warn(f"The tool {name!r} is the one of this server, which is of another kind.")
            self.ids[given.id] = here.id
        elif fresh is None:
            self._warn(
                f"The tool {name!r} is built into the server that wrote the file, and not into this one."
            )
        else:
            self.ids[given.id] = tools.insert_tool(self.connection, self._with_server(fresh)).id

    def _with_server(self, tool: Tool) -> Tool:
        """A tool of an MCP server that names it by its id here."""
        mcp: JsonObject | None = tool.metadata.get("mcp")
        if tool.tool_type != "external_mcp" or not isinstance(mcp, dict):
            return tool
        server_id = self.ids.get(str(mcp.get("server_id")))
        if server_id is None:
            name = str(mcp.get("server_name"))
            here = servers.find_server_by_name(self.connection, self.actor, name, self.vault)
            server_id = here.id if here else None
        return tool.model_copy(update={"metadata": tool.metadata | {"mcp": mcp | {"server_id": server_id}}})

    def _store_agent(self, given: FileAgent, prepared: Prepared) -> AgentId:
        known = {
            "tool_ids": [self.ids[each] for each in given.tool_ids or () if each in self.ids],
            "block_ids": [self.ids[each] for each in given.block_ids or ()],
            "source_ids": [self.ids[each] for each in given.all_source_ids or ()] or None,
        }
        body = prepared.bodies[given.id].model_copy(update=known)
        config, embedding = prepared.configs[given.id]
        agent, _, _ = self.service.insert(
            self.connection, self.actor, body, config, embedding, begins=prepared.begins
        )
        return agent.id

    def _store_history(self, given: FileAgent) -> dict[str, Message]:
        """What was said, by its ids in the file, mended where no provider would read it."""
        agent_id = AgentId(self.ids[given.id])
        said = read_messages(given.messages, agent_id, self.ids, utc_now())
        self._keep(agent_id, said, [said[each] for each in given.in_context_message_ids])
        repair(self.connection, self.actor, Address(agent_id))
        return said

    def _keep(self, lane: str, said: dict[str, Message], window: Sequence[Message]) -> None:
        found, organization_id = list(said.values()), self.actor.organization_id
        messages.insert_messages(self.connection, organization_id, found)
        messages.append_context(
            self.connection, lane, 0, list(dict.fromkeys(message.id for message in window))
        )
        self._index.index(self.connection, message_documents(found, organization_id))

    def _store_conversation(self, given: FileConversation, earlier: dict[str, Message]) -> None:
        agent_id = AgentId(self.ids[given.agent_id])
        id = ConversationId(new_id("conv"))
        copies = [
            self.new_block(each, conversation_id=id, copied_from=self.ids.get(each.copied_from or ""))
            for each in given.blocks
        ]
        own = blocks.insert_blocks(self.connection, copies)
        known = self.ids | {name: message.id for name, message in earlier.items()}
        said = read_messages(given.messages, agent_id, known, utc_now(), id)
        now = utc_now()
        fields = given.model_dump(include=_TALK_FIELDS)
        conversation = Conversation(
            **fields,
            id=id,
            organization_id=self.actor.organization_id,
            agent_id=agent_id,
            isolated_block_ids=tuple(block.id for block in own),
            last_message_at=max((each.created_at for each in said.values()), default=None),
            archived_at=now if given.archived else None,
            created_at=now,
            updated_at=now,
            created_by_id=self.actor.user_id,
            last_updated_by_id=self.actor.user_id,
        )
        insert_conversation(self.connection, conversation)
        shared = {each: earlier[each] for each in given.shared_message_ids}
        share_messages(self.connection, id, list(dict.fromkeys(each.id for each in shared.values())))
        self._keep(id, said, [{**shared, **said}[each] for each in given.in_context_message_ids])
        repair(self.connection, self.actor, Address(agent_id, conversation))
        recompile(self.connection, self.actor, agent_id, conversation)
        earlier |= said

    def _store_archives(self, prepared: Prepared) -> None:
        for given in prepared.file.remanence.archives:
            now = utc_now()
            audit: dict[str, Any] = {
                "organization_id": self.actor.organization_id,
                "updated_at": now,
                "created_by_id": self.actor.user_id,
                "last_updated_by_id": self.actor.user_id,
            }
            config = prepared.embeddings[given.id]
            archive = Archive(
                id=new_archive_id(),
                name=given.name,
                description=given.description,
                embedding_config=config,
                metadata=given.metadata,
                created_at=now,
                **audit,
            )
            archives.insert_archive(self.connection, archive)
            for agent_id in dict.fromkeys([*given.owner_ids, *given.agent_ids]):
                is_owner = agent_id in given.owner_ids
                archives.link_archive(self.connection, self.ids[agent_id], archive.id, is_owner=is_owner)
            moments = _in_order([each.created_at or now for each in given.passages])
            passages = [
                Passage(
                    id=new_passage_id(),
                    archive_id=archive.id,
                    text=each.text,
                    tags=tuple(dict.fromkeys(each.tags or ())),
                    metadata=each.metadata,
                    embedding_config=config,
                    created_at=moment,
                    **audit,
                )
                for each, moment in zip(given.passages, moments, strict=True)
            ]
            # Their vectors are made later, in the background.
            archives.insert_passages(self.connection, self._index, passages, [None] * len(passages))

    def _store_group(self, given: FileGroup, prepared: Prepared) -> None:
        manager = given.manager_config
        leader = self.ids.get(manager.manager_agent_id or "")
        group = Group(
            **manager.model_dump(exclude={"manager_agent_id"}),
            id=self.ids[given.id],
            organization_id=self.actor.organization_id,
            agent_ids=tuple(AgentId(self.ids[each]) for each in given.agent_ids),
            shared_block_ids=tuple(self.ids[each] for each in given.shared_block_ids),
            description=given.description,
            manager_agent_id=AgentId(leader) if leader else None,
            turns_counter=-1 if manager.manager_type in _HELPED else None,
            project_id=prepared.project_id,
            hidden=given.hidden,
        )
        groups.insert_group(self.connection, group, self.actor.user_id)
        if leader and manager.manager_type in _HELPED:
            marks: dict[str, Any] = {"enable_sleeptime": True}
            if given.hidden:
                whole = agents.get_agent(self.connection, self.actor, leader)
                marks = {"metadata": {**(whole.metadata or {}), CAPTURE_MARK: True}}
            agents.update_agent(self.connection, AgentId(leader), marks)


def _in_order(moments: Sequence[datetime]) -> list[datetime]:
    """The same, but those that are one moment a little apart, so that the order of a list stays."""
    seen: set[datetime] = set()
    apart: list[datetime] = []
    for moment in moments:
        while moment in seen:
            moment += timedelta(microseconds=1)
        seen.add(moment)
        apart.append(moment)
    return apart


_TALK_FIELDS = {
    *("summary", "description", "model", "model_settings", "context_window_limit", "archived", "hidden"),
}


def is_helped(file: AgentFile, agent: FileAgent) -> bool:
    """Whether the file brings the helpers of this agent along, so that it needs no new ones."""
    managers = [group.manager_config for group in file.groups]
    return any(each.manager_agent_id == agent.id and each.manager_type in _HELPED for each in managers)


def tool_to_make(given: FileTool, actor: Actor, schema: JsonObject, language: str) -> Tool | None:
    """The tool as it would be here; None if it is built into another server."""
    if given.tool_type in BUILTIN_TYPES:
        return None
    return Tool(
        id=new_tool_id(),
        organization_id=actor.organization_id,
        name=schema["name"],
        tool_type=given.tool_type,
        description=given.description or schema.get("description"),
        source_type=language,
        source_code=given.source_code,
        json_schema=schema,
        args_json_schema=given.args_json_schema,
        tags=tuple(dict.fromkeys(given.tags or ())),
        return_char_limit=given.return_char_limit,
        pip_requirements=None
        if given.pip_requirements is None
        else tuple(each.requirement() for each in given.pip_requirements),
        npm_requirements=None
        if given.npm_requirements is None
        else tuple(each.requirement() for each in given.npm_requirements),
        default_requires_approval=given.default_requires_approval,
        enable_parallel_execution=bool(given.enable_parallel_execution),
        metadata=given.metadata_ or {},
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
