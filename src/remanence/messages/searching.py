"""Searching messages, as it is asked for and answered on the wire."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from remanence.core.message import Message
from remanence.edge.fields import StoredMoment, StoredText
from remanence.kit.ids import id_pattern
from remanence.messages.schemas import stored_body
from remanence.search.ports import Hit

FoundMessage = tuple[Hit, Message]

Role = Literal["assistant", "user", "tool", "function", "system", "approval", "summary"]
AgentRef = Annotated[str, StringConstraints(pattern=id_pattern("agent"))]

_SPOKEN = ("user", "assistant")
_SEARCHED = {"approval": "assistant", "function": "tool"}
"""Roles that are searched as another."""


class _Search(BaseModel):
    search_mode: Literal["vector", "fts", "hybrid"] = "hybrid"
    agent_id: AgentRef | None = None
    conversation_id: StoredText | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    start_date: StoredMoment | None = None
    end_date: StoredMoment | None = None


class MessageSearch(_Search):
    query: StoredText | None = None
    roles: list[Role] | None = None
    project_id: StoredText | None = None
    template_id: StoredText | None = None

    @property
    def wanted_roles(self) -> tuple[str, ...] | None:
        if not self.roles:
            return None
        return tuple(dict.fromkeys(_SEARCHED.get(role, role) for role in self.roles))


class SearchAllMessages(_Search):
    """What was said, by whomever; there is no form for anything else in the answer."""

    query: StoredText

    @property
    def wanted_roles(self) -> tuple[str, ...] | None:
        return _SPOKEN


def found_body(hit: Hit, message: Message) -> dict[str, Any]:
    return {
        "message_type": f"{hit.document.role}_message",
        "content": hit.document.text,
        "message_id": message.id,
        "agent_id": message.agent_id,
        "conversation_id": message.conversation_id,
        "created_at": message.created_at,
        "score": hit.score,
        "lexical_rank": hit.lexical_rank,
        "vector_rank": hit.vector_rank,
        "word_share": hit.word_share,
        "snippet": hit.snippet,
    }


def ranked_body(hit: Hit, message: Message) -> dict[str, Any]:
    return {
        "embedded_text": hit.document.text,
        "message": stored_body(message),
        "fts_rank": hit.lexical_rank,
        "vector_rank": hit.vector_rank,
        "rrf_score": hit.score,
    }
