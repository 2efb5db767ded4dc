"""An agent as a file: itself, the groups it leads or opens with their members, and all that hangs on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.conversations.repository import get_conversation, list_conversations
from remanence.agents.conversations.schemas import ConversationFilter
from remanence.agents.groups.repository import groups_of_member, list_managed
from remanence.agents.queries import EVERYTHING
from remanence.agents.schemas import dump_config
from remanence.archives import repository as archives
from remanence.core.actor import Actor
from remanence.core.agent import Agent, Relations
from remanence.core.block import Block
from remanence.core.conversation import Conversation
from remanence.core.group import Group, first_speaker
from remanence.core.message import Message
from remanence.core.page import Page
from remanence.db.migrate import newest_revision
from remanence.errors import BadArgument
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.memory import repository as blocks
from remanence.memory.schemas import block_body
from remanence.messages import repository as messages
from remanence.tools.mcp import repository as servers
from remanence.tools.schemas import tool_body
from remanence.transfer import folders
from remanence.transfer.message_form import file_body
from remanence.transfer.options import ExportOptions
from remanence.transfer.schemas import EXTRA

_WHOLE = Page(order="asc")
_ABSENT = ("revision", "created_by_id", "last_updated_by_id")
_OURS = ("template_id", "base_template_id", "deployment_id", "entity_id", "project_id")
"""What a block has here alone: in a file it is not there, or null."""


@dataclass(slots=True)
class _LocalIds:
    """Numbers for what goes into the file, in the order in which it comes up."""

    given: dict[str, str] = field(default_factory=dict[str, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, prefix: str, id: str) -> str:
        if id not in self.given:
            number = self.counts.get(prefix, 0)
            self.counts[prefix] = number + 1
            self.given[id] = f"{prefix}-{number}"
        return self.given[id]

    def all(self, prefix: str, ids: Iterable[str]) -> list[str]:
        return [self.add(prefix, id) for id in ids]


def export_agent(
    connection: Connection, actor: Actor, vault: Vault, agent_id: str, options: ExportOptions
) -> JsonObject:
    """Raises NotFound, and BadArgument for a conversation of another agent."""
    first = agents.get_agent(connection, actor, agent_id)
    groups = _groups_of(connection, actor, first)
    ids = dict.fromkeys(each for group in groups for each in group.agent_ids if each != first.id)
    found = [first, *(agents.get_agent(connection, actor, each) for each in ids)]
    relations = agents.load_relations(connection, actor, found, EVERYTHING, vault)
    local = _LocalIds()
    local.all("agent", (agent.id for agent in found))
    local.all("group", (group.id for group in groups))
    shelves = folders.load_shelves(connection, actor, found)
    sources = folders.folder_bodies(shelves, local)
    texts = folders.file_bodies(connection, actor, shelves, local)
    bodies = [
        _agent_body(connection, actor, agent, relations[agent.id], options, local, groups)
        | {
            "source_ids": [local.given[folder.id] for folder in shelves[agent.id].folders],
            "files_agents": folders.link_bodies(agent.id, shelves[agent.id], local),
        }
        for agent in found
    ]
    shared_ids = dict.fromkeys(each for group in groups for each in group.shared_block_ids)
    shared = blocks.get_blocks(connection, actor, shared_ids)
    held = {block.id: block for agent in found for block in relations[agent.id].blocks}
    held |= {block.id: block for block in shared}
    tools = {tool.id: tool for agent in found for tool in relations[agent.id].tools}
    mcp_ids = {servers.server_id_of(tool) for tool in tools.values()} - {None}
    mcp = [each for each in servers.list_servers(connection, actor, vault) if each.id in mcp_ids]
    local.all("mcp_server", (each.id for each in mcp))
    return {
        "agents": bodies,
        "groups": [_group_body(group, local) for group in groups],
        "blocks": [_block_body(block, local) for block in held.values()],
        "files": texts,
        "sources": sources,
        "tools": [_tool_body(tool_body(tool), local) for tool in tools.values()],
        "mcp_servers": [
            {
                "id": local.given[each.id],
                "server_type": each.mcp_server_type,
                "server_name": each.server_name,
                "server_url": each.server_url,
                "stdio_config": {"command": each.command, "args": list(each.args)} if each.command else None,
                "metadata_": {},
            }
            for each in mcp
        ],
        "skills": list(options.skills),
        "metadata": {"revision_id": newest_revision()},
        "created_at": utc_now(),
        EXTRA: _extra(connection, actor, found, options, local),
    }


def _agent_body(
    connection: Connection,
    actor: Actor,
    agent: Agent,
    relations: Relations,
    options: ExportOptions,
    local: _LocalIds,
    groups: Sequence[Group],
) -> JsonObject:
    conversation = options.conversation_id if local.given[agent.id] == "agent-0" else None
    said, window = ([], []) if options.is_scrubbed else _history(connection, actor, agent, conversation)
    local.all("message", (message.id for message in said))
    secrets = {secret.key: "" for secret in relations.secrets}
    return {
        "name": agent.name,
        "memory_blocks": [],
        "tools": [],
        "tool_ids": local.all("tool", (tool.id for tool in relations.tools)),
        "source_ids": [],
        "folder_ids": None,
        "block_ids": local.all("block", (block.id for block in relations.blocks)),
        "tool_rules": [rule.model_dump(mode="json") for rule in agent.tool_rules],
        "tags": list(relations.tags),
        "system": agent.system,
        "agent_type": agent.agent_type,
        "initial_message_sequence": None,
        "include_base_tools": False,
        "include_multi_agent_tools": False,
        "include_base_tool_rules": False,
        "include_default_source": False,
        "description": agent.description,
        "metadata": agent.metadata,
        "llm_config": dump_config(agent.llm_config),
        "embedding_config": dump_config(agent.embedding_config) if agent.embedding_config else None,
        "model": None,
        "embedding": None,
        "model_settings": None,
        "compaction_settings": None,
        "context_window_limit": None,
        "embedding_chunk_size": None,
        "max_tokens": None,
        "max_reasoning_tokens": None,
        "enable_reasoner": agent.llm_config.enable_reasoner,
        "reasoning": None,
        "from_template": None,
        "template": False,
        "project": None,
        "tool_exec_environment_variables": secrets,
        "secrets": secrets,
        "memory_variables": None,
        "project_id": None,
        "template_id": None,
        "base_template_id": None,
        "identity_ids": None,
        "message_buffer_autoclear": agent.message_buffer_autoclear,
        "enable_sleeptime": False,
        "response_format": agent.response_format.model_dump(exclude_none=True)
        if agent.response_format
        else None,
        "timezone": agent.timezone,
        "max_files_open": agent.max_files_open,
        "per_file_view_window_char_limit": agent.per_file_view_window_char_limit,
        "hidden": agent.hidden,
        "parallel_tool_calls": None,
        "id": local.given[agent.id],
        "in_context_message_ids": [local.given[message.id] for message in window],
        "messages": [file_body(message, local.given) for message in said],
        "files_agents": [],
        "group_ids": [
            local.given[group.id]
            for group in groups
            if agent.id in group.agent_ids or agent.id == group.manager_agent_id
        ],
    }


def _groups_of(connection: Connection, actor: Actor, agent: Agent) -> list[Group]:
    """Those that go where this agent goes: it leads them, or a message to them comes to it first."""
    opened = groups_of_member(connection, actor, agent.id)
    return [
        *list_managed(connection, actor, [agent.id]),
        *(group for group in opened if first_speaker(group) == agent.id),
    ]


def _history(
    connection: Connection, actor: Actor, agent: Agent, conversation_id: str | None
) -> tuple[list[Message], list[Message]]:
    """All that was said in it, oldest first, and the window."""
    if conversation_id is not None:
        conversation = get_conversation(connection, actor, conversation_id)
        if conversation.agent_id != agent.id:
            raise BadArgument(f"The conversation {conversation_id} is not one of agent {agent.id}.")
    window, _ = messages.load_window(connection, conversation_id or agent.id)
    rows = messages.list_messages(
        connection, actor, _WHOLE, agent_id=agent.id, conversation_id=conversation_id or "default"
    )
    said = {message.id: message for row in rows if (message := messages.message_from(row))}
    # A window may begin with a message that is not of this history.
    apart = [message for message in window if message.id not in said]
    return [*apart, *said.values()], window


def _block_body(block: Block, local: _LocalIds) -> JsonObject:
    body = {name: value for name, value in block_body(block).items() if name not in _ABSENT}
    return body | dict.fromkeys(_OURS) | {"id": local.add("block", block.id)}


def _tool_body(body: JsonObject, local: _LocalIds) -> JsonObject:
    mcp = body["metadata_"].get("mcp")
    metadata = body["metadata_"]
    if mcp:
        here = {"server_id": local.given.get(mcp.get("server_id"))}
        metadata = metadata | {"mcp": mcp | here}
    return body | {
        "id": local.given[body["id"]],
        "metadata_": metadata,
        "project_id": None,
        "created_by_id": None,
        "last_updated_by_id": None,
    }


def _group_body(group: Group, local: _LocalIds) -> JsonObject:
    manager: JsonObject = {
        "manager_type": group.manager_type,
        "manager_agent_id": local.given.get(group.manager_agent_id or ""),
    }
    for name in (
        *("termination_token", "max_turns", "sleeptime_agent_frequency"),
        *("max_message_buffer_length", "min_message_buffer_length"),
    ):
        if getattr(group, name) is not None:
            manager[name] = getattr(group, name)
    return {
        "agent_ids": [local.given[each] for each in group.agent_ids],
        "description": group.description,
        "manager_config": manager,
        "project_id": None,
        "shared_block_ids": local.all("block", group.shared_block_ids),
        "hidden": group.hidden,
        "id": local.given[group.id],
    }


def _extra(
    connection: Connection, actor: Actor, found: Sequence[Agent], options: ExportOptions, local: _LocalIds
) -> JsonObject:
    talks: list[Conversation] = []
    if not options.is_scrubbed and options.conversation_id is None:
        for agent in found:
            where = ConversationFilter(agent_id=agent.id)
            talks += list_conversations(connection, actor, where, Page(order="asc", order_by="created_at"))
    return {
        "version": 1,
        "agents": [
            {
                "id": local.given[agent.id],
                "compaction_settings": agent.compaction_settings.model_dump(mode="json", exclude_none=True),
            }
            for agent in found
            if agent.compaction_settings is not None
        ],
        "archives": [] if options.is_scrubbed else _archives(connection, actor, found, local),
        "conversations": [_conversation(connection, actor, talk, local) for talk in talks],
    }


def _archives(
    connection: Connection, actor: Actor, found: Sequence[Agent], local: _LocalIds
) -> list[JsonObject]:
    links = archives.list_links(connection, [agent.id for agent in found])
    bodies: list[JsonObject] = []
    for archive_id in dict.fromkeys(link.archive_id for link in links):
        archive = archives.get_archive(connection, actor, archive_id)
        passages = archives.list_passages(connection, actor, [archive.id], _WHOLE, None)
        mine = [link for link in links if link.archive_id == archive_id]
        bodies.append(
            {
                "id": local.add("archive", archive.id),
                "name": archive.name,
                "description": archive.description,
                "embedding_config": dump_config(archive.embedding_config)
                if archive.embedding_config
                else None,
                "metadata": archive.metadata,
                "agent_ids": [local.given[link.agent_id] for link in mine],
                "owner_ids": [local.given[link.agent_id] for link in mine if link.is_owner],
                "passages": [
                    {
                        "text": passage.text,
                        "tags": list(passage.tags),
                        "metadata": passage.metadata,
                        "created_at": passage.created_at,
                    }
                    for passage in passages
                ],
            }
        )
    return bodies


def _conversation(connection: Connection, actor: Actor, talk: Conversation, local: _LocalIds) -> JsonObject:
    agent = agents.get_agent(connection, actor, talk.agent_id)
    said, window = _history(connection, actor, agent, talk.id)
    own = [message for message in said if message.id not in local.given]
    shared = [local.given[message.id] for message in said if message.id in local.given]
    local.all("message", (message.id for message in own))
    return {
        "id": local.add("conversation", talk.id),
        "agent_id": local.given[talk.agent_id],
        "summary": talk.summary,
        "description": talk.description,
        "model": talk.model,
        "model_settings": talk.model_settings,
        "context_window_limit": talk.context_window_limit,
        "archived": talk.archived,
        "hidden": talk.hidden,
        "blocks": [
            _block_body(copy, local) | {"copied_from": local.given.get(copy.copied_from or "")}
            for copy in blocks.list_conversation_blocks(connection, actor, talk.id)
        ],
        "in_context_message_ids": [local.given[message.id] for message in window],
        "shared_message_ids": shared,
        "messages": [file_body(message, local.given) for message in own],
    }
