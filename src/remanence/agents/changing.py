"""What a request says about an agent: as a new one, or as the fields that change. No input or output."""

from typing import Any

from remanence.agents.compaction_settings import first_settings, merge_settings
from remanence.agents.model_settings import apply_model_settings
from remanence.agents.schemas import AgentCreate, AgentUpdate
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.naming import new_agent_name
from remanence.core.profile import Profile, default_system, file_limits
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_agent_id

HIDING_TAG = "role:subagent"

_PLAIN_FIELDS = (
    "name",
    "system",
    "description",
    "metadata",
    "project_id",
    "template_id",
    "base_template_id",
    "message_buffer_autoclear",
    "enable_sleeptime",
    "timezone",
    "max_files_open",
    "per_file_view_window_char_limit",
    "hidden",
    "response_format",
    "last_run_completion",
    "last_run_duration_ms",
    "last_stop_reason",
)


def new_agent(
    actor: Actor,
    body: AgentCreate,
    profile: Profile,
    config: LLMConfig,
    embedding: EmbeddingConfig | None,
    *,
    evicted_share: float,
) -> Agent:
    """All of it but what needs the database: its tool rules."""
    limits = file_limits(config.context_window)
    now = utc_now()
    return Agent(
        id=new_agent_id(),
        organization_id=actor.organization_id,
        name=body.name if body.name is not None else new_agent_name(),
        agent_type=body.agent_type,
        system=body.system if body.system is not None else default_system(profile),
        description=body.description,
        metadata=body.metadata,
        llm_config=config,
        embedding_config=embedding,
        compaction_settings=first_settings(body.compaction_settings, config, share=evicted_share),
        response_format=body.response_format,
        message_buffer_autoclear=body.message_buffer_autoclear or profile.forces_autoclear,
        enable_sleeptime=body.enable_sleeptime,
        timezone=body.timezone or "UTC",
        max_files_open=_or(body.max_files_open, limits.max_files_open),
        per_file_view_window_char_limit=_or(
            body.per_file_view_window_char_limit, limits.per_file_view_window_char_limit
        ),
        hidden=True if HIDING_TAG in (body.tags or ()) else body.hidden,
        project_id=body.project_id,
        template_id=body.template_id,
        base_template_id=body.base_template_id,
        created_at=now,
        updated_at=now,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )


def changes_to(
    agent: Agent, body: AgentUpdate, fresh: LLMConfig | None, embedding: EmbeddingConfig | None
) -> dict[str, Any]:
    """The fields that change, with their new values. `fresh` is the configuration of another model."""
    changes: dict[str, Any] = {
        field: value for field in _PLAIN_FIELDS if (value := getattr(body, field)) is not None
    }
    config = body.llm_config or agent.llm_config
    if body.llm_config is None and fresh is not None:
        kept = {"put_inner_thoughts_in_kwargs": config.put_inner_thoughts_in_kwargs}
        config = fresh.model_copy(update=kept)
    config = adjusted(config, body, {})
    if config != agent.llm_config:
        changes["llm_config"] = config
    if embedding is not None:
        changes["embedding_config"] = embedding
    if body.compaction_settings is not None:
        changes["compaction_settings"] = merge_settings(
            agent.compaction_settings, body.compaction_settings, config
        )
    if body.tool_rules is not None:
        changes["tool_rules"] = tuple(body.tool_rules)
    return changes


def adjusted(config: LLMConfig, body: AgentCreate | AgentUpdate, changes: dict[str, Any]) -> LLMConfig:
    """The config with what the request says about it; settings win over the older single fields."""
    if body.context_window_limit is not None:
        changes["context_window"] = body.context_window_limit
    if body.max_tokens is not None:
        changes["max_tokens"] = body.max_tokens
    if body.reasoning is not None:
        changes["enable_reasoner"] = body.reasoning
    if body.parallel_tool_calls is not None:
        changes["parallel_tool_calls"] = body.parallel_tool_calls
    config = config.model_copy(update=changes) if changes else config
    return apply_model_settings(config, body.model_settings) if body.model_settings else config


def _or(given: int | None, default: int) -> int:
    return default if given is None else given
