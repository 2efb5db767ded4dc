"""What can be asked about runs and steps."""

from datetime import datetime

from remanence.core.agent import StopReason
from remanence.core.frozen import Frozen
from remanence.core.run import RunStatus


class RunQuery(Frozen):
    agent_ids: tuple[str, ...] = ()
    statuses: tuple[RunStatus, ...] = ()
    background: bool | None = None
    stop_reason: StopReason | None = None
    conversation_id: str | None = None


class StepQuery(Frozen):
    run_id: str | None = None
    agent_id: str | None = None
    model: str | None = None
    request_ids: tuple[str, ...] = ()
    """As the provider calls its answers; what we show as the trace id."""
    feedback: str | None = None
    has_feedback: bool | None = None
    project_id: str | None = None
    tags: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
