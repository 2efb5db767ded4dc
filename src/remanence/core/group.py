"""Several agents together. What kind of togetherness it is, is data."""

from typing import Literal

from remanence.core.frozen import Frozen
from remanence.kit.ids import AgentId, MessageId, OrgId

ManagerType = Literal["round_robin", "supervisor", "dynamic", "sleeptime", "voice_sleeptime", "swarm"]


class Group(Frozen):
    id: str
    organization_id: OrgId
    manager_type: ManagerType
    agent_ids: tuple[AgentId, ...] = ()
    shared_block_ids: tuple[str, ...] = ()
    description: str = ""
    manager_agent_id: AgentId | None = None
    termination_token: str | None = None
    max_turns: int | None = None
    sleeptime_agent_frequency: int | None = None
    """A visit every so many turns; None is each turn."""
    turns_counter: int | None = None
    last_processed_message_id: MessageId | None = None
    max_message_buffer_length: int | None = None
    min_message_buffer_length: int | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    hidden: bool | None = None
