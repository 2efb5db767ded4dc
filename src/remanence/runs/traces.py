"""What a provider was asked and what it said, for people who want to see it to the letter.

Kept for steps that failed or for all of them, as the operator likes, and only for some days: requests
repeat the whole context, so they are far larger than the messages they lead to.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from remanence.core.llm import Tape
from remanence.core.run import Step
from remanence.kit import json
from remanence.kit.ids import StepId
from remanence.kit.json import JsonObject

TraceMode = Literal["off", "errors", "all"]
_HIDDEN = "[secret]"
_LEAST_SECRET_CHARS = 4
"""Shorter ones would blot out ordinary words."""


@dataclass(frozen=True, slots=True)
class Trace:
    step_id: StepId
    created_at: datetime
    request: bytes
    response: bytes
    latency_ms: int | None


def pack(tape: Tape) -> tuple[bytes, bytes]:
    return zlib.compress(tape.request, 1), zlib.compress(tape.text(), 1)


def trace_body(trace: Trace, step: Step, secrets: Sequence[str]) -> dict[str, Any]:
    """`secrets` are hidden wherever they stand."""
    return {
        "id": f"provider_trace-{step.id.removeprefix('step-')}",
        "step_id": step.id,
        "run_id": step.run_id,
        "agent_id": step.agent_id,
        "org_id": step.organization_id,
        "call_type": "agent_step",
        "created_at": trace.created_at,
        "request_json": _object(_hide(_unpack(trace.request), secrets)),
        "response_json": _response(_hide(_unpack(trace.response), secrets)),
        "latency_ms": trace.latency_ms,
    }


def _unpack(packed: bytes) -> str:
    return zlib.decompress(packed).decode(errors="replace")


def _hide(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        if len(secret) >= _LEAST_SECRET_CHARS:
            for spelling in (secret, json.encode_text(secret)[1:-1]):
                text = text.replace(spelling, _HIDDEN)
    return text


def _response(text: str) -> JsonObject:
    """One JSON object as it came; a stream as the list of its events."""
    events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    if not events:
        return _object(text)
    return {"events": [_value(event) for event in events]}


def _object(text: str) -> JsonObject:
    value = _value(text)
    return cast("JsonObject", value) if isinstance(value, dict) else {"body": value}


def _value(text: str) -> Any:
    try:
        return json.decode(text.encode())
    except ValueError:
        return text


def span_bodies(run_id: str, steps: Sequence[Step], *, started: datetime, spent_ns: int | None) -> list[Any]:
    """The run as a tree of spans: itself, its steps, and in each the model, the tools and the database."""
    root = _span("run", run_id, None, int(started.timestamp() * 1e9), spent_ns)
    spans = [root]
    for step in steps:
        at = int(step.created_at.timestamp() * 1e9)
        spans.append(_span("step", step.id, run_id, at, step.step_ns, model=step.model, status=step.status))
        for name, spent in (
            ("model", step.llm_request_ns),
            ("tools", step.tool_execution_ns),
            ("database", step.database_ns),
        ):
            if spent is not None:
                told = {"first_token_ns": step.first_token_ns} if name == "model" else {}
                spans.append(_span(name, f"{step.id}-{name}", step.id, at, spent, **told))
                at += spent
    return spans


def _span(
    name: str, id: str, parent: str | None, start_ns: int, spent_ns: int | None, **attributes: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "span_id": id,
        "parent_span_id": parent,
        "start_ns": start_ns,
        "duration_ns": spent_ns,
        "attributes": attributes,
    }
