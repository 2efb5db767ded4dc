"""Groups on the wire."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from remanence.core.group import MOST_MEMBERS, MOST_TURNS, ManagerType
from remanence.edge.fields import MAX_NUMBER, StoredText
from remanence.errors import Invalid
from remanence.kit.ids import id_pattern
from remanence.messages.sending import SendRequest

AgentRef = Annotated[str, Field(pattern=id_pattern("agent"))]
BlockRef = Annotated[str, Field(pattern=id_pattern("block"))]
Members = Annotated[list[AgentRef], Field(min_length=1, max_length=MOST_MEMBERS)]
Count = Annotated[int, Field(ge=1, le=MAX_NUMBER)]

FITTING: dict[ManagerType, frozenset[str]] = {
    "round_robin": frozenset({"max_turns"}),
    "supervisor": frozenset({"manager_agent_id"}),
    "dynamic": frozenset({"manager_agent_id", "termination_token", "max_turns"}),
    "sleeptime": frozenset({"manager_agent_id", "sleeptime_agent_frequency"}),
    "voice_sleeptime": frozenset(
        {"manager_agent_id", "max_message_buffer_length", "min_message_buffer_length"}
    ),
}
"""What can be said of each kind of group."""


class ManagerUpdate(BaseModel):
    """How a group works; keys that are absent stay as they are."""

    manager_type: Literal["round_robin", "supervisor", "dynamic", "sleeptime", "voice_sleeptime"] | None = (
        None
    )
    manager_agent_id: AgentRef | None = None
    termination_token: Annotated[StoredText, Field(min_length=1, max_length=200)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] | None = None
    """How often members speak in answer to one message."""
    sleeptime_agent_frequency: Count | None = None
    max_message_buffer_length: Count | None = None
    min_message_buffer_length: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None

    def settings(self, kind: ManagerType) -> dict[str, Any]:
        """What was given, for a group of this kind. Raises Invalid for what says nothing about it."""
        given = self.model_fields_set - {"manager_type"}
        odd = sorted(name for name in given - FITTING[kind] if getattr(self, name) is not None)
        if odd:
            raise Invalid(f"A {kind} group has no {', '.join(odd)}.")
        return {name: getattr(self, name) for name in given & FITTING[kind]}


class GroupCreate(BaseModel):
    agent_ids: Members
    description: StoredText
    manager_config: ManagerUpdate = Field(default_factory=ManagerUpdate)
    project_id: StoredText | None = None
    shared_block_ids: Annotated[list[BlockRef], Field(max_length=MOST_MEMBERS)] = []
    hidden: bool | None = None


class GroupUpdate(BaseModel):
    """What changes; keys that are absent stay as they are."""

    agent_ids: Members | None = None
    description: StoredText | None = None
    manager_config: ManagerUpdate | None = None
    project_id: StoredText | None = None
    shared_block_ids: Annotated[list[BlockRef], Field(max_length=MOST_MEMBERS)] | None = None


class GroupSend(SendRequest):
    """What is said to a group. What only one agent can be asked for is refused."""

    @model_validator(mode="after")
    def _suits_a_group(self) -> "GroupSend":
        for name in ("client_tools", "override_system", "callback_url", "return_logprobs"):
            if getattr(self, name):
                raise ValueError(f"`{name}` is for one agent; send it to a member")
        return self
