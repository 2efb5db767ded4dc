"""Rules of an agent's life: what it is made of at birth, and what changes mean."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection

from remanence.agents import repository
from remanence.agents.beginnings import first_messages, system_message
from remanence.agents.changing import adjusted, changes_to, new_agent
from remanence.agents.compiling import compile_for, compile_text, recompile
from remanence.agents.conversations.repository import get_conversation
from remanence.agents.folders.service import refit, set_folders
from remanence.agents.queries import EVERYTHING, AgentQuery, Include
from remanence.agents.schemas import AgentCreate, AgentUpdate
from remanence.agents.state import load_state
from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState, Relations
from remanence.core.block import Block
from remanence.core.directories import Shelf
from remanence.core.helper import helper_of
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.message import Message
from remanence.core.naming import check_agent_name
from remanence.core.page import Page
from remanence.core.profile import (
    DEFAULT_BLOCK_DESCRIPTIONS,
    FILE_TOOLS,
    MULTI_AGENT_TOOLS,
    Profile,
    base_rules_for,
    default_tools,
    profile_of,
    wants_base_rules,
)
from remanence.core.rules import validate_rules
from remanence.core.tool import RequiresApproval, Tool, ToolRule
from remanence.db.database import Database
from remanence.errors import BadArgument, Invalid, NotFound
from remanence.files import repository as files
from remanence.kit.clock import find_zone, utc_now
from remanence.kit.ids import AgentId, ConversationId, MessageId
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.llm.catalogue import Catalogue
from remanence.memory import repository as blocks
from remanence.messages import repository as messages
from remanence.search.backlog import count_waiting
from remanence.search.embedding import embed_anew
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex
from remanence.tools import repository as tools

Loaded = tuple[Agent, Relations, Sequence[MessageId]]
"""An agent, what of its relations was asked for, and the ids of the messages in its window."""


class Household(Protocol):
    """Sees to what goes with an agent, in the transaction that makes, changes or deletes it."""

    def on_change(self, connection: Connection, actor: Actor, agent: Agent) -> None: ...

    def on_delete(self, connection: Connection, actor: Actor, agent_id: str) -> None: ...


class AgentService:
    def __init__(
        self,
        db: Database,
        catalogue: Catalogue,
        vault: Vault,
        index: SearchIndex,
        *,
        default_model: Callable[[], str | None],
        default_embedding: str | None,
        evicted_share: float = 0.3,
    ) -> None:
        self._db = db
        self._catalogue = catalogue
        self._vault = vault
        self._index = index
        self._default_model = default_model
        self._default_embedding = default_embedding
        self._evicted_share = evicted_share
        self.household: Household | None = None
        """Set by whoever knows which agents belong together."""

    async def create(self, actor: Actor, body: AgentCreate) -> Loaded:
        """Raises Invalid, BadArgument, NotFound, AlreadyExists; then nothing was made."""
        profile = profile_of(body.agent_type)
        if profile.needs_sleeptime and not body.enable_sleeptime:
            raise Invalid(
                f"{profile.agent_type} works with a background helper: set enable_sleeptime to true."
            )
        if body.name is not None:
            check_agent_name(body.name)
        check_timezone(body.timezone)
        config = await self.resolve_model(actor, body)
        embedding = await self._embedding_config(actor, body)
        return await self._db.write(self.insert, actor, body, config, embedding)

    def insert(
        self,
        connection: Connection,
        actor: Actor,
        body: AgentCreate,
        config: LLMConfig,
        embedding: EmbeddingConfig | None,
        *,
        begins: bool = True,
    ) -> Loaded:
        """Makes an agent within a transaction, from a body that was checked.

        Where it does not begin, it has no history yet: somebody else brings it.
        """
        profile = profile_of(body.agent_type)
        agent = new_agent(actor, body, profile, config, embedding, evicted_share=self._evicted_share)
        chosen = _choose_tools(connection, actor, body, profile)
        agent = agent.model_copy(update={"tool_rules": _rules(body, profile, chosen, agent.llm_config)})
        repository.insert_agent(connection, agent)
        repository.link_tools(connection, agent.id, [tool.id for tool in chosen])
        made = [_described(each.new_block(actor)) for each in body.memory_blocks or ()]
        held = [
            *blocks.insert_blocks(connection, made),
            *blocks.get_blocks(connection, actor, body.block_ids or ()),
        ]
        blocks.link_blocks(connection, agent.id, held)
        if body.tags:
            repository.set_tags(connection, agent.id, body.tags)
        if body.all_secrets:
            repository.set_secrets(connection, agent, body.all_secrets, self._vault)
        shelf = Shelf()
        if body.all_source_ids:
            set_folders(connection, actor, agent, body.all_source_ids)
            shelf = files.load_shelf(connection, actor, agent.id)
        if body.identity_ids:
            repository.set_identities(connection, actor, agent.id, body.identity_ids)
        first: tuple[Message, ...] = ()
        if begins:
            text = compile_text(agent, held, shelf, at=agent.created_at, earlier=0)
            first = first_messages(agent, profile, text, body.initial_message_sequence)
            self._store(connection, agent, first)
        if self.household is not None and helper_of(agent) is not None:
            self.household.on_change(connection, actor, agent)
        held.sort(key=lambda block: (block.created_at or agent.created_at, block.id))
        include: set[Include] = {"agent.tags", "agent.secrets", "agent.managed_group"}
        if body.identity_ids:
            include.add("agent.identities")
        asked = frozenset(include)
        relations = repository.load_relations(connection, actor, [agent], asked, self._vault)[agent.id]
        held_now = {"blocks": tuple(held), "tools": tuple(chosen), "folders": shelf.folders}
        relations = relations.model_copy(update=held_now)
        return agent, relations, [message.id for message in first]

    def _store(self, connection: Connection, agent: Agent, first: Sequence[Message]) -> None:
        messages.insert_messages(connection, agent.organization_id, first)
        messages.append_context(connection, agent.id, 0, [message.id for message in first])
        self._index.index(connection, message_documents(first, agent.organization_id))

    async def update(self, actor: Actor, agent_id: str, body: AgentUpdate) -> None:
        """Raises what `create` raises; then nothing has changed."""
        if body.name is not None:
            check_agent_name(body.name)
        check_timezone(body.timezone)
        embedding = await self._embedding_config(actor, body)
        fresh: LLMConfig | None = None
        # The handle that the agent has is not looked up again: its provider may be away.
        while not await self._db.write(self.apply, actor, agent_id, body, fresh, embedding):
            assert body.model is not None
            fresh = await self._catalogue.resolve_llm(body.model, actor.organization_id)

    def apply(
        self,
        connection: Connection,
        actor: Actor,
        agent_id: AgentId | str,
        body: AgentUpdate,
        fresh: LLMConfig | None,
        embedding: EmbeddingConfig | None,
    ) -> bool:
        """Applies what was asked for, and was checked, to the agent as it is now, within a transaction.

        False if its new model must be known first.
        """
        agent = repository.lock_agent(connection, actor, agent_id)
        has_other_model = body.model is not None and body.model != agent.llm_config.handle
        if has_other_model and body.llm_config is None and fresh is None:
            return False
        changes = changes_to(agent, body, fresh if has_other_model else None, embedding)
        changes |= {"updated_at": utc_now(), "last_updated_by_id": actor.user_id}
        agent_id = agent.id
        repository.update_agent(connection, agent_id, changes)
        if changes.get("embedding_config") not in (None, agent.embedding_config):
            embed_anew(connection, agent_id)
        if body.tool_ids is not None:
            found = tools.find_by_ids(connection, actor, body.tool_ids)
            _check_found(body.tool_ids, {tool.id for tool in found}, "tool id")
            repository.replace_tools(connection, agent_id, [tool.id for tool in found])
        if body.tool_rules is not None:
            attached = {tool.name: tool for tool in tools.list_agent_tools(connection, actor, agent_id)}
            _check_rules(body.tool_rules, attached)
        if body.block_ids is not None:
            blocks.replace_agent_blocks(connection, actor, agent_id, body.block_ids)
        if body.tags is not None:
            repository.set_tags(connection, agent_id, body.tags)
        if body.all_secrets is not None:
            repository.set_secrets(connection, agent, body.all_secrets, self._vault)
        has_other_folders = _change_files(connection, actor, agent_id, body)
        if body.identity_ids is not None:
            repository.set_identities(connection, actor, agent_id, body.identity_ids)
        if body.message_ids is not None:
            known = {
                message.id
                for message in messages.find_messages(connection, actor, body.message_ids)
                if message.agent_id == agent_id
            }
            _check_found(body.message_ids, known, "message id of this agent")
            window = [MessageId(each) for each in dict.fromkeys(body.message_ids)]
            messages.replace_context(connection, agent_id, window)
        told = (body.system, body.block_ids, body.tool_rules, body.timezone, body.message_ids)
        if has_other_folders or any(value is not None for value in told):
            recompile(connection, actor, agent_id)
        self._tell_household(connection, actor, agent_id, body)
        return True

    def _tell_household(
        self, connection: Connection, actor: Actor, agent_id: AgentId, body: AgentUpdate
    ) -> None:
        if self.household is not None and (body.enable_sleeptime, body.metadata) != (None, None):
            self.household.on_change(connection, actor, repository.get_agent(connection, actor, agent_id))

    async def recompile(self, actor: Actor, agent_id: str, *, is_dry_run: bool, keeps_time: bool) -> str:
        """The system message compiled anew; `keeps_time` leaves its time of compilation as it was."""
        if is_dry_run:
            return await self._db.read(compile_for, actor, agent_id, keeps_time=keeps_time)
        return await self._db.write(recompile, actor, agent_id, keeps_time=keeps_time)

    async def reset(self, actor: Actor, agent_id: str, *, add_first_messages: bool) -> None:
        await self._db.write(self._reset, actor, agent_id, add_first_messages)

    def _reset(self, connection: Connection, actor: Actor, agent_id: str, add_first_messages: bool) -> None:
        agent = repository.get_agent(connection, actor, agent_id)
        window, _ = messages.load_window(connection, agent.id)
        kept = [message for message in window[:1] if message.role == "system"]
        text = compile_for(connection, actor, agent_id)
        added = first_messages(agent, profile_of(agent.agent_type), text, None) if add_first_messages else ()
        if kept:
            messages.set_text(connection, kept[0].id, text)
            fresh = added[1:]
        else:
            fresh = added or (system_message(agent, text, utc_now()),)
        messages.insert_messages(connection, agent.organization_id, fresh)
        messages.replace_context(connection, agent.id, [*(m.id for m in kept), *(m.id for m in fresh)])
        repository.bump_window(connection, agent.id, is_compiled=True)

    async def delete(self, actor: Actor, agent_id: str) -> None:
        """Out of sight from now on; its rows stay, so that it can be brought back. Raises NotFound."""

        def write(connection: Connection) -> None:
            repository.soft_delete_agent(connection, actor, agent_id)
            if self.household is not None:
                self.household.on_delete(connection, actor, agent_id)

        await self._db.write(write)

    async def attach_tool(self, actor: Actor, agent_id: str, tool_id: str) -> None:
        """A tool that asks for approval by default brings its rule along. Raises NotFound."""

        def write(connection: Connection) -> None:
            tool = tools.attach_tool(connection, actor, agent_id, tool_id)
            if not tool.default_requires_approval:
                return
            agent = repository.get_agent(connection, actor, agent_id)
            rule = RequiresApproval(tool_name=tool.name)
            if rule not in agent.tool_rules:
                repository.update_agent(connection, agent.id, {"tool_rules": (*agent.tool_rules, rule)})

        await self._db.write(write)

    async def set_approval(self, actor: Actor, agent_id: str, tool_name: str, is_required: bool) -> None:
        """Whether a person must allow calls of this tool. Raises NotFound for a tool not attached."""

        def write(connection: Connection) -> None:
            agent = repository.get_agent(connection, actor, agent_id)
            attached = {tool.name for tool in tools.list_agent_tools(connection, actor, agent_id)}
            if tool_name not in attached:
                raise NotFound(f"Agent {agent_id} has no tool {tool_name!r}.")
            rule = RequiresApproval(tool_name=tool_name)
            others = tuple(
                each
                for each in agent.tool_rules
                if not (isinstance(each, RequiresApproval) and each.tool_name == tool_name)
            )
            rules = (*others, rule) if is_required else others
            repository.update_agent(connection, agent.id, {"tool_rules": rules})

        await self._db.write(write)

    async def list_agents(
        self, actor: Actor, query: AgentQuery, page: Page, include: frozenset[Include]
    ) -> list[Loaded]:
        def read(connection: Connection) -> list[Loaded]:
            found = repository.list_agents(connection, actor, query, page)
            return self._with_relations(connection, actor, found, include)

        return await self._db.read(read)

    async def list_holders(
        self, actor: Actor, block_id: str, page: Page, include: frozenset[Include]
    ) -> list[Loaded]:
        def read(connection: Connection) -> list[Loaded]:
            found = repository.list_holders(connection, actor, block_id, page)
            return self._with_relations(connection, actor, found, include)

        return await self._db.read(read)

    async def embedding_progress(self, actor: Actor, agent_id: str) -> JsonObject:
        """How much of what was said with the agent still waits for vectors. Raises NotFound."""

        def read(connection: Connection) -> JsonObject:
            agent = repository.get_agent(connection, actor, agent_id)
            count = messages.count_messages(connection, agent.id)
            waiting = count_waiting(connection, agent.id)
            config = agent.embedding_config
            return {
                "model": (config.handle or config.embedding_model) if config else None,
                "waiting": waiting,
                "messages": count,
                "progress": round(1 - waiting / count, 4) if count else 1.0,
            }

        return await self._db.read(read)

    async def load_window(
        self, actor: Actor, agent_id: str, conversation: str | None
    ) -> tuple[AgentState, int, int]:
        """The agent with its window, and how much recall and archival memory hold beside it. Raises NotFound."""
        lane = ConversationId(conversation) if conversation not in (None, "default") else None

        def read(connection: Connection) -> tuple[AgentState, int, int]:
            state = load_state(connection, actor, AgentId(agent_id), lane, 0)
            if lane and get_conversation(connection, actor, lane).agent_id != agent_id:
                raise NotFound(f"Agent {agent_id} has no conversation {lane}.")
            recall = messages.count_messages(connection, state.agent.id)
            return state, recall, repository.count_passages(connection, state.agent.id)

        return await self._db.read(read)

    async def load(self, actor: Actor, agent_id: str, include: frozenset[Include] = EVERYTHING) -> Loaded:
        def read(connection: Connection) -> Loaded:
            agent = repository.get_agent(connection, actor, agent_id)
            return self._with_relations(connection, actor, [agent], include)[0]

        return await self._db.read(read)

    def _with_relations(
        self, connection: Connection, actor: Actor, found: Sequence[Agent], include: frozenset[Include]
    ) -> list[Loaded]:
        relations = repository.load_relations(connection, actor, found, include, self._vault)
        ids = messages.context_ids(connection, [agent.id for agent in found])
        if "agent.pending_approval" in include:
            # What waits for a person's answer is always the last message in context.
            last = {agent.id: ids[agent.id][-1] for agent in found if ids[agent.id]}
            requests = messages.list_requests(connection, list(last.values()))
            for agent_id, message_id in last.items():
                if message_id in requests:
                    changes = {"pending_approval": requests[message_id]}
                    relations[agent_id] = relations[agent_id].model_copy(update=changes)
        return [(agent, relations[agent.id], ids[agent.id]) for agent in found]

    async def resolve_model(self, actor: Actor, body: AgentCreate) -> LLMConfig:
        """What is asked for, or else the server's default. Raises BadArgument, NotFound, Invalid."""
        profile = profile_of(body.agent_type)
        if body.llm_config is not None:
            config = body.llm_config
        else:
            handle = body.model or self._default_model()
            if handle is None:
                raise BadArgument(
                    "No model was given and the server has no default: set `model` to a handle."
                )
            config = await self._catalogue.resolve_llm(handle, actor.organization_id)
            config = config.model_copy(
                update={"put_inner_thoughts_in_kwargs": profile.inner_thoughts_in_arguments}
            )
        changes: dict[str, Any] = {}
        if body.max_reasoning_tokens is not None:
            changes["max_reasoning_tokens"] = body.max_reasoning_tokens
        if body.enable_reasoner is not None:
            changes["enable_reasoner"] = body.enable_reasoner
        return adjusted(config, body, changes)

    async def _embedding_config(
        self, actor: Actor, body: AgentCreate | AgentUpdate
    ) -> EmbeddingConfig | None:
        if body.embedding_config is not None:
            return body.embedding_config
        handle = body.embedding or (self._default_embedding if isinstance(body, AgentCreate) else None)
        return await self._catalogue.resolve_embedding(handle, actor.organization_id) if handle else None


def check_timezone(name: str | None) -> None:
    if name is not None and find_zone(name) is None:
        raise Invalid(f"{name!r} is not a timezone; use an IANA name such as Europe/Berlin.")


def _change_files(connection: Connection, actor: Actor, agent_id: AgentId, body: AgentUpdate) -> bool:
    """Whether the agent has other folders now than before."""
    limits = (body.max_files_open, body.per_file_view_window_char_limit)
    if limits == (None, None) and body.all_source_ids is None:
        return False
    agent = repository.get_agent(connection, actor, agent_id)
    if limits != (None, None):
        refit(connection, actor, agent)
    return body.all_source_ids is not None and set_folders(connection, actor, agent, body.all_source_ids)


def _choose_tools(connection: Connection, actor: Actor, body: AgentCreate, profile: Profile) -> list[Tool]:
    """The tools asked for and the base tools of the kind, each once, by name."""
    asked = list(body.tools or ())
    base = (
        default_tools(profile, has_sleeptime=bool(body.enable_sleeptime)) if body.include_base_tools else ()
    )
    if body.include_multi_agent_tools:
        base = (*base, *MULTI_AGENT_TOOLS)
    if body.all_source_ids:
        base = (*base, *FILE_TOOLS)
    by_name = {tool.name: tool for tool in tools.find_by_names(connection, actor, [*asked, *base])}
    _check_found(asked, by_name.keys(), "tool name")
    by_id = {tool.id: tool for tool in tools.find_by_ids(connection, actor, body.tool_ids or ())}
    _check_found(body.tool_ids or (), by_id.keys(), "tool id")
    chosen = {tool.id: tool for tool in (*by_name.values(), *by_id.values())}
    return sorted(chosen.values(), key=lambda tool: tool.name)


def _rules(
    body: AgentCreate, profile: Profile, chosen: Sequence[Tool], config: LLMConfig
) -> tuple[ToolRule, ...]:
    rules: list[ToolRule] = list(body.tool_rules or ())
    has_base = wants_base_rules(
        profile,
        asked=body.include_base_tool_rules,
        model=config.model,
        has_base_tools=body.include_base_tools,
        has_own_rules=body.tool_rules is not None,
        has_sleeptime=bool(body.enable_sleeptime),
    )
    if has_base:
        own = {(rule.tool_name, rule.type) for rule in rules}
        rules += [
            rule
            for rule in base_rules_for(tool.name for tool in chosen)
            if (rule.tool_name, rule.type) not in own
        ]
    gated = {rule.tool_name for rule in rules if rule.type == "requires_approval"}
    rules += [
        RequiresApproval(tool_name=tool.name)
        for tool in chosen
        if tool.default_requires_approval and tool.name not in gated
    ]
    _check_rules(rules, {tool.name: tool for tool in chosen})
    return tuple(rules)


def _check_rules(rules: Sequence[ToolRule], attached: dict[str, Tool]) -> None:
    faults = validate_rules(rules, attached)
    if faults:
        raise BadArgument(f"The tool rules cannot work: {'; '.join(faults)}.")


def _check_found(asked: Sequence[str], found: Any, noun: str) -> None:
    missing = [each for each in asked if each not in found]
    if missing:
        raise BadArgument(f"Unknown {noun}: {', '.join(missing)}. List what there is and use one of those.")


def _described(block: Block) -> Block:
    if block.description is None and block.label in DEFAULT_BLOCK_DESCRIPTIONS:
        return block.model_copy(update={"description": DEFAULT_BLOCK_DESCRIPTIONS[block.label]})
    return block
