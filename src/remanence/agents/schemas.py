"""Wire bodies of agents: what clients send, and what they get back."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, StringConstraints

from remanence.agents.groups.schemas import group_body
from remanence.agents.model_settings import model_settings_of
from remanence.core.agent import Agent, AgentType, CompactionMode, CompactionSettings, Relations, StopReason
from remanence.core.llm import LLMConfig, ResponseFormat
from remanence.core.tool import Tool, ToolRule
from remanence.edge.fields import MAX_NUMBER, StoredJson, StoredMoment
from remanence.files.schemas import folder_body
from remanence.identities.schemas import identity_body
from remanence.kit import json
from remanence.kit.ids import MessageId, id_pattern
from remanence.kit.json import JsonObject
from remanence.llm.schemas import GivenEmbedding
from remanence.memory.schemas import BlockCreate, block_body
from remanence.messages.schemas import View, typed_messages
from remanence.messages.sending import MessageCreate
from remanence.tools.schemas import tool_body

BlockRef = Annotated[str, StringConstraints(pattern=id_pattern("block"))]
ToolRef = Annotated[str, StringConstraints(pattern=id_pattern("tool"))]
SourceRef = Annotated[str, StringConstraints(pattern=id_pattern("source"))]
IdentityRef = Annotated[str, StringConstraints(pattern=id_pattern("identity"))]
MessageRef = Annotated[str, StringConstraints(pattern=id_pattern("message"))]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=255)]
ProjectRef = Annotated[str, StringConstraints(max_length=255)]
SecretName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""Tags, projects and the names of secrets are index keys, and those are bounded in PostgreSQL."""


class CompactionInput(BaseModel):
    model: str | None = None
    model_settings: JsonObject | None = None
    prompt: str | None = None
    prompt_acknowledgement: bool = False
    clip_chars: int | None = 50_000
    mode: CompactionMode = "sliding_window"
    sliding_window_percentage: Annotated[float, Field(gt=0, lt=1)] = 0.3
    warning_threshold: Annotated[float | None, Field(gt=0, le=1)] = None
    full_threshold: Annotated[float | None, Field(gt=0, le=1)] = None


class _AgentFields(BaseModel):
    """What creating and updating have in common."""

    tool_ids: list[ToolRef] | None = None
    source_ids: list[SourceRef] | None = None
    folder_ids: list[SourceRef] | None = None
    block_ids: list[BlockRef] | None = None
    identity_ids: list[IdentityRef] | None = None
    tool_rules: list[ToolRule] | None = None
    tags: list[Tag] | None = None
    system: str | None = None
    description: str | None = None
    metadata: JsonObject | None = None
    llm_config: LLMConfig | None = None
    embedding_config: GivenEmbedding | None = None
    model: str | None = None
    embedding: str | None = None
    model_settings: JsonObject | None = None
    compaction_settings: CompactionInput | None = None
    context_window_limit: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None
    reasoning: bool | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    secrets: dict[SecretName, str] | None = None
    tool_exec_environment_variables: dict[SecretName, str] | None = None
    project_id: ProjectRef | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    enable_sleeptime: bool | None = None
    timezone: str | None = None
    max_files_open: Annotated[int | None, Field(ge=0, le=1000)] = None
    per_file_view_window_char_limit: Annotated[int | None, Field(ge=0, le=MAX_NUMBER)] = None
    hidden: bool | None = None

    @property
    def all_secrets(self) -> dict[str, str] | None:
        if self.secrets is None and self.tool_exec_environment_variables is None:
            return None
        return (self.tool_exec_environment_variables or {}) | (self.secrets or {})

    @property
    def all_source_ids(self) -> list[str] | None:
        if self.source_ids is None and self.folder_ids is None:
            return None
        return list(dict.fromkeys([*(self.source_ids or ()), *(self.folder_ids or ())]))


class AgentCreate(_AgentFields):
    name: str | None = None
    memory_blocks: list[BlockCreate] | None = None
    tools: list[str] | None = None
    agent_type: AgentType = "letta_v1_agent"
    initial_message_sequence: list[MessageCreate] | None = None
    include_base_tools: bool = True
    include_multi_agent_tools: bool = False
    include_base_tool_rules: bool | None = None
    max_reasoning_tokens: Annotated[int | None, Field(ge=0)] = None
    enable_reasoner: bool | None = None
    message_buffer_autoclear: bool = False


class AgentUpdate(_AgentFields):
    name: str | None = None
    message_ids: list[MessageRef] | None = None
    message_buffer_autoclear: bool | None = None
    last_run_completion: StoredMoment | None = None
    last_run_duration_ms: Annotated[int | None, Field(ge=0, le=MAX_NUMBER)] = None
    last_stop_reason: StopReason | None = None


class ToolApproval(BaseModel):
    requires_approval: Annotated[
        bool,
        # The npm client sends it under the name of its own parameter.
        Field(validation_alias=AliasChoices("requires_approval", "body_requires_approval")),
    ]


class ToolArguments(BaseModel):
    args: StoredJson = Field(default_factory=dict[str, Any])


class ResetMessages(BaseModel):
    add_default_initial_messages: bool = False


def agent_bodies(found: Iterable[tuple[Agent, Relations, Sequence[MessageId]]]) -> list[dict[str, Any]]:
    """Most agents hold the same few tools, and their schemas are long: each is encoded once."""
    encoded: dict[str, object] = {}

    def encode_tool(tool: Tool) -> object:
        if tool.id not in encoded:
            encoded[tool.id] = json.encode_part(tool_body(tool))
        return encoded[tool.id]

    return [agent_body(*each, encode_tool) for each in found]


def agent_body(
    agent: Agent,
    relations: Relations,
    message_ids: Sequence[MessageId],
    encode_tool: Callable[[Tool], object] = tool_body,
) -> dict[str, Any]:
    blocks = [block_body(block) for block in relations.blocks]
    secrets = [
        _secret_body(agent, secret.id, secret.key, secret.value, secret.description)
        for secret in relations.secrets
    ]
    pending = relations.pending_approval
    group = group_body(relations.managed_group) if relations.managed_group else None
    compaction = agent.compaction_settings
    return {
        "created_by_id": agent.created_by_id,
        "last_updated_by_id": agent.last_updated_by_id,
        "created_at": agent.created_at,
        "updated_at": agent.updated_at,
        "id": agent.id,
        "name": agent.name,
        "tool_rules": [rule.model_dump(mode="json") for rule in agent.tool_rules],
        "message_ids": list(message_ids),
        "system": agent.system,
        "agent_type": agent.agent_type,
        "llm_config": dump_config(agent.llm_config),
        "embedding_config": dump_config(agent.embedding_config) if agent.embedding_config else None,
        "model": agent.llm_config.handle,
        "embedding": agent.embedding_config.handle if agent.embedding_config else None,
        "model_settings": model_settings_of(agent.llm_config),
        "compaction_settings": _compaction_body(compaction) if compaction else None,
        "response_format": agent.response_format.model_dump(exclude_none=True)
        if agent.response_format
        else None,
        "description": agent.description,
        "metadata": agent.metadata,
        "memory": {
            "agent_type": agent.agent_type,
            "git_enabled": False,
            "blocks": blocks,
            "file_blocks": [],
            "prompt_template": "",
        },
        "blocks": blocks,
        "tools": [encode_tool(tool) for tool in relations.tools],
        "sources": [folder_body(folder, is_source=True) for folder in relations.folders],
        "tags": list(relations.tags),
        "tool_exec_environment_variables": secrets,
        "secrets": secrets,
        "project_id": agent.project_id,
        "template_id": agent.template_id,
        "base_template_id": agent.base_template_id,
        "deployment_id": agent.deployment_id,
        "entity_id": agent.entity_id,
        "identity_ids": [identity.id for identity in relations.identities],
        "identities": [identity_body(identity) for identity in relations.identities],
        "pending_approval": typed_messages(pending, View())[-1] if pending else None,
        "message_buffer_autoclear": agent.message_buffer_autoclear,
        "enable_sleeptime": agent.enable_sleeptime,
        "multi_agent_group": group,
        "managed_group": group,
        "last_run_completion": agent.last_run_completion,
        "last_run_duration_ms": agent.last_run_duration_ms,
        "last_stop_reason": agent.last_stop_reason,
        "timezone": agent.timezone,
        "max_files_open": agent.max_files_open,
        "per_file_view_window_char_limit": agent.per_file_view_window_char_limit,
        "hidden": agent.hidden,
    }


def _compaction_body(settings: CompactionSettings) -> dict[str, Any]:
    """Thresholds are ours and not in the contract, so they are shown only where they are set."""
    body = settings.model_dump(mode="json")
    return {key: body[key] for key in body if body[key] is not None or not key.endswith("_threshold")}


def dump_config(model: BaseModel) -> dict[str, Any]:
    """The configuration of a model on the wire."""
    body = model.model_dump(mode="json")
    if isinstance(model, LLMConfig) and model.response_format is not None:
        body["response_format"] = model.response_format.model_dump(exclude_none=True)
    return body


def _secret_body(agent: Agent, id: str, key: str, value: str, description: str | None) -> dict[str, Any]:
    return {
        "created_by_id": None,
        "last_updated_by_id": None,
        "created_at": None,
        "updated_at": None,
        "id": id,
        "key": key,
        "value": value,
        "description": description,
        "organization_id": agent.organization_id,
        "value_enc": None,
        "agent_id": agent.id,
    }
