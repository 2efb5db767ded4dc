"""Runs and steps on the wire."""

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel

from remanence.core.llm import Usage
from remanence.core.run import Run, Step
from remanence.kit.clock import utc_now
from remanence.runs.overview.repository import Gist


class CancelRequest(BaseModel):
    run_ids: list[str] | None = None


class Feedback(BaseModel):
    feedback: Literal["positive", "negative"] | None = None
    tags: list[str] | None = None


def run_body(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "status": run.status,
        "created_at": run.created_at,
        "completed_at": run.completed_at,
        "agent_id": run.agent_id,
        "conversation_id": run.conversation_id,
        "base_template_id": None,
        "background": run.background,
        "metadata": run.metadata,
        "request_config": run.request_config,
        "stop_reason": run.stop_reason,
        "callback_url": run.callback_url,
        "callback_sent_at": run.callback_sent_at,
        "callback_status_code": run.callback_status_code,
        "callback_error": run.callback_error,
        "ttft_ns": run.ttft_ns,
        "total_duration_ns": run.total_duration_ns,
    }


def gist_body(gist: Gist | None) -> dict[str, Any]:
    """Beyond the contract, so that only those get it who ask for it."""
    if gist is None:
        return {}
    told = asdict(gist)
    nanos: int | None = told.pop("cost_nanos")
    return {"gist": told | {"cost_usd": nanos / 1e9 if nanos else None}}


def cost_of(usage: Usage | None) -> dict[str, Any]:
    """Beyond the contract, so that it is only shown where a price is known."""
    return {"cost_usd": usage.cost_nanos / 1e9} if usage and usage.cost_nanos else {}


def run_usage_body(usage: Usage) -> dict[str, Any]:
    return cost_of(usage) | {
        "completion_tokens": usage.completion_tokens,
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": _prompt_details(usage) if usage.cached_input_tokens else None,
        "completion_tokens_details": _completion_details(usage) if usage.reasoning_tokens else None,
    }


def run_metrics_body(run: Run, num_steps: int) -> dict[str, Any]:
    started_ns = int(run.created_at.timestamp() * 1_000_000_000)
    spent_ns = run.total_duration_ns
    if spent_ns is None and run.completed_at is None:
        spent_ns = int((utc_now() - run.created_at).total_seconds() * 1_000_000_000)
    return {
        "id": run.id,
        "organization_id": run.organization_id,
        "agent_id": run.agent_id,
        "project_id": None,
        "run_start_ns": started_ns,
        "run_ns": spent_ns,
        "num_steps": num_steps,
        "tools_used": list(run.tools_used) if run.tools_used else None,
        "template_id": None,
        "base_template_id": None,
    }


def step_body(step: Step) -> dict[str, Any]:
    usage = step.usage
    return {
        "id": step.id,
        "origin": None,
        "organization_id": step.organization_id,
        "provider_id": None,
        "run_id": step.run_id,
        "agent_id": step.agent_id,
        "provider_name": step.provider_name,
        "provider_category": step.provider_category,
        "model": step.model,
        "model_handle": step.model_handle,
        "model_endpoint": step.model_endpoint,
        "context_window_limit": step.context_window_limit,
        "completion_tokens": usage.completion_tokens if usage else None,
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "total_tokens": usage.total_tokens if usage else None,
        "cached_input_tokens": usage.cached_input_tokens if usage else None,
        "cache_write_tokens": usage.cache_write_tokens if usage else None,
        "reasoning_tokens": usage.reasoning_tokens if usage else None,
        "completion_tokens_details": _completion_details(usage) if usage else None,
        "prompt_tokens_details": _prompt_details(usage) if usage else None,
        "stop_reason": step.stop_reason,
        "tags": list(step.tags),
        "tid": None,
        "trace_id": step.request_id,
        "request_id": step.request_id,
        "messages": [],
        "feedback": step.feedback,
        "project_id": step.project_id,
        "error_type": step.error_type,
        "error_data": step.error_data,
        "status": step.status,
    } | cost_of(usage)


def step_metrics_body(step: Step) -> dict[str, Any]:
    started_ns = int(step.created_at.timestamp() * 1_000_000_000)
    return {
        "id": step.id,
        "organization_id": step.organization_id,
        "provider_id": None,
        "run_id": step.run_id,
        "agent_id": step.agent_id,
        "step_start_ns": started_ns,
        "llm_request_start_ns": started_ns,
        "llm_request_ns": step.llm_request_ns,
        "tool_execution_ns": step.tool_execution_ns,
        "database_ns": step.database_ns,
        "step_ns": step.step_ns,
        "base_template_id": None,
        "template_id": None,
        "project_id": step.project_id,
    }


def _completion_details(usage: Usage) -> dict[str, Any]:
    return {"reasoning_tokens": usage.reasoning_tokens or 0}


def _prompt_details(usage: Usage) -> dict[str, Any]:
    cached = usage.cached_input_tokens or 0
    return {
        "cached_tokens": cached,
        "cache_read_tokens": cached,
        "cache_creation_tokens": usage.cache_write_tokens or 0,
    }
