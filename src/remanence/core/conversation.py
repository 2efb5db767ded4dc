"""A side history of an agent, with a window, and perhaps a model and memory, of its own."""

from datetime import datetime

from remanence.core.frozen import Frozen
from remanence.kit.ids import AgentId, BlockId, ConversationId, OrgId, UserId
from remanence.kit.json import JsonObject


class Conversation(Frozen):
    id: ConversationId
    organization_id: OrgId
    agent_id: AgentId
    summary: str | None = None
    description: str | None = None
    model: str | None = None
    model_settings: JsonObject | None = None
    context_window_limit: int | None = None
    isolated_block_ids: tuple[BlockId, ...] = ()
    """Copies of some of the agent's blocks, which stand in for them here."""
    last_message_at: datetime | None = None
    archived: bool = False
    archived_at: datetime | None = None
    hidden: bool | None = None
    created_at: datetime
    updated_at: datetime
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None
