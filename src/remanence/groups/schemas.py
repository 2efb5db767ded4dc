"""Groups on the wire."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from remanence.edge.fields import MAX_NUMBER, StoredText
from remanence.kit.ids import id_pattern

AgentRef = Annotated[str, Field(pattern=id_pattern("agent"))]


class SleeptimeUpdate(BaseModel):
    """How a sleep-time group works."""

    manager_type: Literal["sleeptime"] = "sleeptime"
    manager_agent_id: AgentRef | None = None
    sleeptime_agent_frequency: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = None


class GroupUpdate(BaseModel):
    """What changes; keys that are absent stay as they are."""

    agent_ids: Annotated[list[AgentRef], Field(min_length=1)] | None = None
    description: StoredText | None = None
    manager_config: SleeptimeUpdate | None = None
    project_id: StoredText | None = None
