"""Runs and steps: the record of what an agent did when it was spoken to."""

from datetime import datetime
from typing import Literal

from remanence.core.agent import StopReason
from remanence.core.frozen import Frozen
from remanence.core.llm import Usage
from remanence.kit.ids import AgentId, ConversationId, OrgId, RunId, StepId
from remanence.kit.json import JsonObject

RunStatus = Literal["created", "running", "completed", "failed", "cancelled"]
StepStatus = Literal["pending", "success", "failed", "cancelled"]

_COMPLETED: frozenset[StopReason] = frozenset({"end_turn", "max_steps", "tool_rule", "requires_approval"})


def status_after(stop_reason: StopReason) -> RunStatus:
    if stop_reason in _COMPLETED:
        return "completed"
    return "cancelled" if stop_reason == "cancelled" else "failed"


def is_turn_over(stop_reason: StopReason) -> bool:
    """Whether the agent has come to the end of what it had to do, and waits for nobody."""
    return stop_reason in _COMPLETED and stop_reason != "requires_approval"


class Run(Frozen):
    id: RunId
    organization_id: OrgId
    agent_id: AgentId
    conversation_id: ConversationId | None = None
    status: RunStatus = "created"
    background: bool = False
    created_at: datetime
    completed_at: datetime | None = None
    stop_reason: StopReason | None = None
    metadata: JsonObject | None = None
    request_config: JsonObject | None = None
    callback_url: str | None = None
    callback_sent_at: datetime | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None
    ttft_ns: int | None = None
    total_duration_ns: int | None = None
    tools_used: tuple[str, ...] | None = None

    @property
    def group_id(self) -> str | None:
        """The group that it is a turn in."""
        told: JsonObject = (self.metadata or {}).get("group") or {}
        return told.get("id")

    @property
    def lane(self) -> str:
        return self.conversation_id or self.agent_id


class Step(Frozen):
    id: StepId
    organization_id: OrgId
    run_id: RunId | None
    agent_id: AgentId | None
    status: StepStatus = "success"
    stop_reason: StopReason | None = None
    created_at: datetime
    provider_name: str | None = None
    provider_category: str | None = None
    model: str | None = None
    model_handle: str | None = None
    model_endpoint: str | None = None
    context_window_limit: int | None = None
    usage: Usage | None = None
    request_id: str | None = None
    project_id: str | None = None
    tags: tuple[str, ...] = ()
    feedback: Literal["positive", "negative"] | None = None
    error_type: str | None = None
    error_data: JsonObject | None = None
    step_ns: int | None = None
    llm_request_ns: int | None = None
    first_token_ns: int | None = None
    """From the request to the model to its first sign of life."""
    tool_execution_ns: int | None = None
    database_ns: int | None = None
