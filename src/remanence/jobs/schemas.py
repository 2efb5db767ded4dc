"""The shape of a job on the wire."""

from typing import Any

from remanence.core.job import Job


def job_body(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "user_id": job.created_by_id,
        "created_by_id": job.created_by_id,
        "last_updated_by_id": job.created_by_id,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "completed_at": job.completed_at,
        "status": job.status,
        "stop_reason": None,
        "metadata": job.metadata,
        "job_type": job.job_type,
        "background": True,
        "agent_id": job.agent_id,
        "callback_url": job.callback_url,
        "callback_sent_at": job.callback_sent_at,
        "callback_status_code": job.callback_status_code,
        "callback_error": job.callback_error,
        "ttft_ns": None,
        "total_duration_ns": _duration_ns(job),
    }


def _duration_ns(job: Job) -> int | None:
    if job.completed_at is None:
        return None
    return int((job.completed_at - job.created_at).total_seconds() * 1e9)
