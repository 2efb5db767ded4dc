"""Conversations on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from remanence.core.conversation import Conversation
from remanence.core.frozen import Frozen
from remanence.edge.fields import StoredJson, StoredMoment, StoredText
from remanence.kit.clock import utc_now
from remanence.kit.ids import MessageId, id_pattern


class ConversationCreate(BaseModel):
    summary: StoredText | None = None
    description: StoredText | None = None
    isolated_block_labels: list[StoredText] | None = None
    model: StoredText | None = None
    model_settings: StoredJson | None = None
    context_window_limit: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    hidden: bool | None = None


class ConversationUpdate(BaseModel):
    summary: StoredText | None = None
    description: StoredText | None = None
    model: StoredText | None = None
    model_settings: StoredJson | None = None
    context_window_limit: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    last_message_at: StoredMoment | None = None
    archived: bool | None = None

    def changes(self) -> dict[str, Any]:
        """What was given. Null empties what people write and goes back to the agent's own model."""
        given = self.model_dump(exclude_unset=True)
        for name in ("last_message_at", "archived"):
            if given.get(name) is None:
                given.pop(name, None)
        if "archived" in given:
            given["archived_at"] = utc_now() if given["archived"] else None
        return given


class ConversationFilter(Frozen, defer_build=False):
    """Which conversations are listed. Built at once: FastAPI warns of a query that is built late."""

    agent_id: Annotated[str | None, Field(pattern=id_pattern("agent"))] = None
    summary_search: StoredText | None = None
    archive_status: Literal["all", "archived", "unarchived"] | None = None


def conversation_body(conversation: Conversation, message_ids: Sequence[MessageId] = ()) -> dict[str, Any]:
    return {
        "created_by_id": conversation.created_by_id,
        "last_updated_by_id": conversation.last_updated_by_id,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "id": conversation.id,
        "agent_id": conversation.agent_id,
        "summary": conversation.summary,
        "in_context_message_ids": list(message_ids),
        "isolated_block_ids": list(conversation.isolated_block_ids),
        "model": conversation.model,
        "model_settings": conversation.model_settings,
        "last_message_at": conversation.last_message_at,
        "archived": conversation.archived,
        "archived_at": conversation.archived_at,
        "context_window_limit": conversation.context_window_limit,
        "description": conversation.description,
    }
