"""Agents out of the database into files, and files into agents."""

import asyncio
from typing import Any

from sqlalchemy import Connection

from remanence.agents.schemas import AgentCreate
from remanence.agents.service import AgentService, check_timezone
from remanence.archives.service import check_texts
from remanence.core.actor import Actor
from remanence.core.helper import CAPTURE_MARK
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.mcp import McpServer
from remanence.core.naming import MAX_NAME_CHARS, check_agent_name
from remanence.core.profile import profile_of
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.errors import BadArgument, NotFound, ProviderError
from remanence.kit.ids import new_mcp_server_id
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.llm.catalogue import Catalogue
from remanence.search.ports import SearchIndex
from remanence.tools.mcp.schemas import McpServerCreate, to_server
from remanence.tools.mcp.service import McpService
from remanence.tools.service import check_schema, derive_schema, source_language
from remanence.transfer.exporting import export_agent
from remanence.transfer.importing import Imported, Importer, Prepared, is_helped, tool_to_make
from remanence.transfer.options import ExportOptions, ImportOptions
from remanence.transfer.reading import read_file
from remanence.transfer.schemas import AgentFile, FileAgent, FileServer, FileTool

COPY_ENDING = "_copy"
_MOST_EMBEDDINGS = 20

_SETTINGS = (
    *("temperature", "max_tokens", "enable_reasoner", "reasoning_effort", "max_reasoning_tokens", "effort"),
    *(
        "frequency_penalty",
        "verbosity",
        "parallel_tool_calls",
        "response_format",
        "strict",
        "return_logprobs",
    ),
    *(
        "top_logprobs",
        "return_token_ids",
        "tool_call_parser",
        "fallback_models",
        "put_inner_thoughts_in_kwargs",
    ),
)
"""What a configuration says about how a model is used, and not about where it is."""

_NOT_OF_THE_BODY = {
    *("id", "tool_ids", "block_ids", "source_ids", "folder_ids", "identity_ids", "in_context_message_ids"),
    *("messages", "files_agents", "group_ids", "llm_config", "embedding_config", "model", "embedding"),
    *("template_id", "base_template_id", "tool_rules", "compaction_settings", "initial_message_sequence"),
}


class TransferService:
    def __init__(
        self,
        db: Database,
        agents: AgentService,
        catalogue: Catalogue,
        mcp: McpService,
        index: SearchIndex,
        vault: Vault,
    ) -> None:
        self._db = db
        self._agents = agents
        self._catalogue = catalogue
        self._mcp = mcp
        self._index = index
        self._vault = vault

    async def export_agent(self, actor: Actor, agent_id: str, options: ExportOptions) -> JsonObject:
        """Raises NotFound, and BadArgument for a conversation of another agent."""
        return await self._db.read(export_agent, actor, self._vault, agent_id, options)

    async def import_file(self, actor: Actor, body: bytes, options: ImportOptions) -> Imported:
        """Raises BadArgument, Invalid, NotFound, AlreadyExists; then nothing was stored."""
        file = await asyncio.to_thread(read_file, body)
        if options.strips_messages:
            file = _without_history(file)
        prepared = await self.prepare(actor, file, options)

        def import_agents(connection: Connection) -> Imported:
            return self.importer(connection, actor).store(prepared)

        return await self._db.write(import_agents)

    def importer(self, connection: Connection, actor: Actor) -> Importer:
        return Importer(connection, actor, self._agents, self._index, self._vault)

    async def prepare(self, actor: Actor, file: AgentFile, options: ImportOptions) -> Prepared:
        """Asks others what must be known before a file is stored. Raises what `import_file` raises."""
        asked: dict[str, EmbeddingConfig | None] = {}
        bodies = {agent.id: _body(file, agent, options) for agent in file.agents}
        configs = {
            agent.id: (
                await self._model(actor, agent, bodies[agent.id], options.model),
                await self._embedding(
                    actor, agent.embedding_config, options.embedding or agent.embedding, asked
                ),
            )
            for agent in file.agents
        }
        return Prepared(
            file=file,
            bodies=bodies,
            configs=configs,
            embeddings={
                each.id: await self._embedding(actor, each.embedding_config, options.embedding, asked)
                for each in file.remanence.archives
            }
            | {
                each.id: await self._embedding(
                    actor, each.embedding_config, options.embedding or each.embedding, asked
                )
                for each in file.sources
            },
            tools=await asyncio.to_thread(_checked_tools, actor, file),
            servers={
                each.id: made
                for each in file.mcp_servers
                if (made := await self._server(actor, each)) is not None
            },
            overrides_tools=options.overrides_tools,
            project_id=options.project_id,
        )

    async def _model(
        self, actor: Actor, agent: FileAgent, body: AgentCreate, chosen: str | None
    ) -> LLMConfig:
        """The model that the file names, as this server reaches it; how it is used stays as it was.

        An address in a file is not to be trusted with what people say: it is never taken from there.
        """
        given = agent.llm_config
        if given is None or chosen is not None:
            wanted = body.model_copy(update={"model": chosen or agent.model})
            found = await self._agents.resolve_model(actor, wanted)
            return found if given is None else _used_alike(found, given)
        handle = given.handle or f"{given.model_endpoint_type}/{given.model}"
        try:
            found = await self._catalogue.resolve_llm(handle, actor.organization_id)
        except (NotFound, BadArgument):
            # It can be configured later; until then a message says what is missing.
            return given.model_copy(
                update={
                    "handle": handle,
                    "model_endpoint": None,
                    "provider_category": given.provider_category or "base",
                }
            )
        return _used_alike(found, given)

    async def _embedding(
        self,
        actor: Actor,
        given: EmbeddingConfig | None,
        chosen: str | None,
        known: dict[str, EmbeddingConfig | None],
    ) -> EmbeddingConfig | None:
        """`known` is what was asked for this file already: a provider may have to be asked, and files are long."""
        if chosen is not None:
            if chosen not in known:
                known[chosen] = await self._catalogue.resolve_embedding(chosen, actor.organization_id)
            return known[chosen]
        if given is None:
            return None
        handle = given.handle or f"{given.embedding_endpoint_type}/{given.embedding_model}"
        if handle not in known:
            if len(known) >= _MOST_EMBEDDINGS:
                raise BadArgument(f"The file names more than {_MOST_EMBEDDINGS} embedding models.")
            try:
                known[handle] = await self._catalogue.resolve_embedding(handle, actor.organization_id)
            except (BadArgument, ProviderError):
                known[handle] = None
        found = known[handle]
        if found is None:
            return given.model_copy(
                update={"handle": handle, "embedding_endpoint": None, "azure_endpoint": None}
            )
        return found.model_copy(
            update={"embedding_chunk_size": given.embedding_chunk_size, "batch_size": given.batch_size}
        )

    async def _server(self, actor: Actor, given: FileServer) -> McpServer | None:
        """None for a program. Raises BadArgument and Invalid for a place that nobody may have reached."""
        if given.server_url is None:
            return None
        config = {"mcp_server_type": given.server_type, "server_url": given.server_url}
        try:
            body = McpServerCreate.model_validate({"server_name": given.server_name, "config": config})
        except ValueError:
            raise BadArgument(
                f"The MCP server {given.server_name!r} in the file has no address or kind that could be used."
            ) from None
        await self._mcp.check_place(body.config)
        return to_server(new_mcp_server_id(), actor.organization_id, body.server_name, body.config)


def _body(file: AgentFile, agent: FileAgent, options: ImportOptions) -> AgentCreate:
    """The agent to be made, as a request would say it."""
    name = options.name or agent.name
    if name is not None and options.name is None and options.appends_copy:
        name = name[: MAX_NAME_CHARS - len(COPY_ENDING)] + COPY_ENDING
    if name is not None:
        check_agent_name(name)
    check_timezone(agent.timezone)
    profile_of(agent.agent_type)
    own = next((each for each in file.remanence.agents if each.id == agent.id), None)
    changes: dict[str, Any] = {
        "name": name,
        "tool_rules": agent.tool_rules,
        "compaction_settings": agent.compaction_settings or (own.compaction_settings if own else None),
        "initial_message_sequence": None,
        "project_id": options.project_id,
        "secrets": {**(agent.all_secrets or {}), **options.secrets},
        "tool_exec_environment_variables": None,
    }
    if is_helped(file, agent):
        # The helpers are in the file too, so none are to be made.
        metadata = {key: value for key, value in (agent.metadata or {}).items() if key != CAPTURE_MARK}
        changes |= {"enable_sleeptime": None, "metadata": metadata if agent.metadata else None}
    plain = {name: getattr(agent, name) for name in AgentCreate.model_fields if name not in _NOT_OF_THE_BODY}
    return AgentCreate.model_construct(**(plain | changes))


def _used_alike(found: LLMConfig, given: LLMConfig) -> LLMConfig:
    changes = {name: getattr(given, name) for name in _SETTINGS}
    return found.model_copy(
        update=changes | {"context_window": min(given.context_window, found.context_window)}
    )


def _checked_tools(actor: Actor, file: AgentFile) -> dict[str, Tool]:
    """The tools as they would be made; apart from the server's loop, since sources may be long.

    Raises BadArgument and Invalid, also for passages that are too long.
    """
    for archive in file.remanence.archives:
        check_texts([passage.text for passage in archive.passages])
    return {tool.id: made for tool in file.tools if (made := _tool(actor, tool)) is not None}


def _tool(actor: Actor, given: FileTool) -> Tool | None:
    """Raises BadArgument and Invalid for a tool that could not be called."""
    if given.tool_type.startswith("letta_"):
        return None
    language = source_language(given.source_type)
    if given.json_schema is not None:
        schema = check_schema({"name": given.name} | given.json_schema)
    elif given.source_code is not None:
        schema = derive_schema(given.source_code, language, args_schema=given.args_json_schema)
    else:
        raise BadArgument(
            f"The tool {given.name or given.id!r} in the file has neither a schema nor a source."
        )
    return tool_to_make(given, actor, schema, language)


def _without_history(file: AgentFile) -> AgentFile:
    bare = [agent.model_copy(update={"messages": [], "in_context_message_ids": []}) for agent in file.agents]
    extra = file.remanence.model_copy(update={"conversations": []})
    return file.model_copy(update={"agents": bare, "remanence": extra})
