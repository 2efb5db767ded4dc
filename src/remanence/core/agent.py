"""The agent as it is stored, and the snapshot of it that a run works on."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from remanence.core.block import Block, MemoryChange
from remanence.core.directories import FileChange, Shelf
from remanence.core.file import Folder
from remanence.core.frozen import Frozen
from remanence.core.group import Group
from remanence.core.identity import Identity
from remanence.core.llm import EmbeddingConfig, InContext, LLMConfig, ResponseFormat
from remanence.core.message import Message
from remanence.core.tool import Tool, ToolRule
from remanence.kit.ids import AgentId, ConversationId, OrgId, UserId
from remanence.kit.json import JsonObject

AgentType = Literal[
    "memgpt_agent",
    "memgpt_v2_agent",
    "letta_v1_agent",
    "react_agent",
    "workflow_agent",
    "split_thread_agent",
    "sleeptime_agent",
    "voice_convo_agent",
    "voice_sleeptime_agent",
]

StopReason = Literal[
    "end_turn",
    "error",
    "llm_api_error",
    "invalid_llm_response",
    "invalid_tool_call",
    "max_steps",
    "max_tokens_exceeded",
    "no_tool_call",
    "tool_rule",
    "cancelled",
    "insufficient_credits",
    "requires_approval",
    "context_window_overflow_in_system_prompt",
]

CompactionMode = Literal["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"]


class CompactionSettings(Frozen):
    model: str | None = None
    model_settings: JsonObject | None = None
    prompt: str | None = None
    prompt_acknowledgement: bool = False
    clip_chars: int | None = 50_000
    mode: CompactionMode = "sliding_window"
    sliding_window_percentage: float = 0.3
    warning_threshold: float | None = None
    """Share of the window at which the agent is warned; the server's, if there is none of its own."""
    full_threshold: float | None = None
    """Share of the window at which older messages make room; likewise."""


class Agent(Frozen):
    id: AgentId
    organization_id: OrgId
    name: str
    agent_type: AgentType = "letta_v1_agent"
    system: str
    description: str | None = None
    metadata: JsonObject | None = None
    llm_config: LLMConfig
    embedding_config: EmbeddingConfig | None = None
    tool_rules: tuple[ToolRule, ...] = ()
    compaction_settings: CompactionSettings | None = None
    response_format: ResponseFormat | None = None
    message_buffer_autoclear: bool = False
    enable_sleeptime: bool | None = None
    timezone: str = "UTC"
    max_files_open: int | None = None
    per_file_view_window_char_limit: int | None = None
    hidden: bool | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    last_run_completion: datetime | None = None
    last_run_duration_ms: int | None = None
    last_stop_reason: StopReason | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None


class Secret(Frozen):
    """An environment variable for the agent's tools, decrypted."""

    id: str
    key: str
    value: str
    description: str | None = None


class Relations(Frozen):
    """What hangs on an agent and is loaded only when asked for."""

    blocks: tuple[Block, ...] = ()
    tools: tuple[Tool, ...] = ()
    tags: tuple[str, ...] = ()
    folders: tuple[Folder, ...] = ()
    secrets: tuple[Secret, ...] = ()
    identities: tuple[Identity, ...] = ()
    managed_group: Group | None = None
    pending_approval: Message | None = None


@dataclass(frozen=True, slots=True)
class AgentState:
    """One consistent snapshot: all that a step needs to know.

    `agent_version` and `window_version` tell whether it is still the truth in the database.
    """

    agent: Agent
    blocks: tuple[Block, ...]
    tools: tuple[Tool, ...]
    window: tuple[InContext, ...]
    conversation_id: ConversationId | None
    agent_version: int
    window_version: int
    next_position: int
    """Where the next message goes in the window."""
    last_message_at: datetime | None
    token_ratio: float | None = None
    """The provider's count of tokens by our estimate, as last seen; None if it was not asked yet."""
    changes: tuple[MemoryChange, ...] = ()
    """Of the memory, which neither the system message nor anything after it tells the model."""
    shelf: Shelf = field(default_factory=Shelf)
    file_changes: tuple[FileChange, ...] = ()
    """Likewise, of the folders and files."""

    @property
    def lane(self) -> str:
        """The history this is about: the conversation's id, or the agent's own."""
        return self.conversation_id or self.agent.id

    def with_messages(self, *messages: Message) -> "AgentState":
        last = messages[-1].created_at if messages else self.last_message_at
        added = tuple(InContext(message) for message in messages)
        return replace(
            self,
            window=self.window + added,
            next_position=self.next_position + len(added),
            last_message_at=last,
        )
