"""Rows of the retired server in our own words. Raises ValueError for what cannot be said in them."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from remanence.core.agent import Agent, AgentType, CompactionSettings
from remanence.core.block import Block
from remanence.core.conform import as_list, as_object
from remanence.core.llm import EmbeddingConfig, LLMConfig, ResponseFormat
from remanence.core.tool import Tool, ToolRule
from remanence.core.vector import Vector, pack_vector
from remanence.kit import json
from remanence.kit.clock import find_zone, utc_now
from remanence.kit.json import JsonObject
from remanence.transfer.schemas import FileMessage

T = TypeVar("T")
Complain = Callable[[str], None]

_MESSAGE_FIELDS = (
    *("id", "role", "content", "name", "model", "otid", "sender_id", "group_id", "batch_item_id"),
    *("tool_calls", "tool_call_id", "tool_returns", "created_at", "approve", "approval_request_id"),
    *("denial_reason", "approvals"),
)
_rules: TypeAdapter[ToolRule] = TypeAdapter(ToolRule)


def to_agent(row: JsonObject, complain: Complain) -> Agent:
    """What of it cannot be read is left out with a complaint; without a model there is no agent."""
    if row.get("agent_type") not in (None, *get_args(AgentType)):
        raise ValueError(f"its type is {row['agent_type']}, which this server does not know")
    llm_config = _config(LLMConfig, row.get("llm_config"))
    if llm_config is None:
        raise ValueError("it has no model")
    timezone = row.get("timezone")
    if find_zone(timezone) is None:
        complain(f"timezone {timezone!r} is unknown and became UTC")
        timezone = "UTC"
    rules: list[ToolRule] = []
    for rule in as_list(row.get("tool_rules")):
        try:
            rules.append(_rules.validate_python(rule))
        except ValidationError:
            complain(f"a tool rule of type {as_object(rule).get('type')!r} cannot be read")
    given = {name: row.get(name) for name in Agent.model_fields if row.get(name) is not None}
    return Agent.model_validate(
        given
        | {
            "name": row.get("name") or "unnamed",
            "system": row.get("system") or "",
            "metadata": as_object(row.get("metadata_")) or None,
            "llm_config": llm_config,
            "embedding_config": _config(EmbeddingConfig, row.get("embedding_config")),
            "compaction_settings": _perhaps(CompactionSettings, row.get("compaction_settings"), complain),
            "response_format": _perhaps(ResponseFormat, row.get("response_format"), complain),
            "tool_rules": tuple(rules),
            "timezone": timezone or "UTC",
            "last_stop_reason": None,
            **dates_of(row),
        }
    )


def to_block(row: JsonObject) -> Block:
    value = row.get("value") or ""
    given = {name: row.get(name) for name in Block.model_fields if row.get(name) is not None}
    limit = row.get("limit") or 5000
    return Block.model_validate(
        given
        | {
            "label": row.get("label") or "block",
            "value": value,
            "limit": max(limit, len(value), 1),
            "metadata": as_object(row.get("metadata_")),
            "tags": tuple(str(tag) for tag in as_list(row.get("tags"))),
            "created_at": dates_of(row)["created_at"],
            "revision": 1,
        }
    )


def to_tool(row: JsonObject) -> Tool:
    given = {name: row.get(name) for name in Tool.model_fields if row.get(name) is not None}
    name = row.get("name") or as_object(row.get("json_schema")).get("name")
    if not name:
        raise ValueError("it has no name")
    schema = as_object(row.get("json_schema")) or {
        "name": name,
        "parameters": {"type": "object", "properties": {}},
    }
    return Tool.model_validate(
        given
        | {
            "name": name,
            "json_schema": schema,
            "tags": tuple(str(tag) for tag in as_list(row.get("tags"))),
            "metadata": as_object(row.get("metadata_")),
            "created_at": dates_of(row)["created_at"],
        }
    )


def to_messages(rows: Iterable[JsonObject], complain: Complain) -> list[FileMessage]:
    found: list[FileMessage] = []
    for row in rows:
        given = {name: row[name] for name in _MESSAGE_FIELDS if row.get(name) is not None}
        if given.get("content") is None and row.get("text"):
            given["content"] = row["text"]
        try:
            found.append(FileMessage.model_validate(given | {"created_at": dates_of(row)["created_at"]}))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            complain(
                f"{row.get('id')} cannot be read: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            )
    return found


def to_embedding(row: JsonObject) -> EmbeddingConfig | None:
    return _config(EmbeddingConfig, row.get("embedding_config"))


def to_vector(row: JsonObject, config: EmbeddingConfig | None) -> Vector | None:
    """Vectors are kept at one length for all models there: what is beyond the model's own is padding."""
    given = row.get("embedding")
    if config is None or given is None:
        return None
    try:
        values: Any = json.decode(given) if isinstance(given, str) else list(given)
        kept = [float(value) for value in values[: config.embedding_dim]]
    except (ValueError, TypeError):
        return None
    return pack_vector(kept) if len(kept) == config.embedding_dim and any(kept) else None


def dates_of(row: JsonObject) -> dict[str, datetime]:
    created = _moment(row.get("created_at")) or utc_now()
    return {"created_at": created, "updated_at": _moment(row.get("updated_at")) or created}


def _moment(given: Any) -> datetime | None:
    if not isinstance(given, datetime):
        return None
    return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)


def _config(kind: type[T], given: Any) -> T | None:
    """Nulls mean defaults. Raises ValueError for one that says too little."""
    fields = {name: value for name, value in as_object(given).items() if value is not None}
    if not fields:
        return None
    try:
        return TypeAdapter(kind).validate_python(fields)
    except ValidationError as error:
        raise ValueError(f"its {kind.__name__} cannot be read: {error.errors()[0]['msg']}") from None


def _perhaps(kind: type[T], given: Any, complain: Complain) -> T | None:
    try:
        return _config(kind, given)
    except ValueError as error:
        complain(str(error))
        return None
