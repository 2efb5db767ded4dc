"""The two views of one truth: `llm_config` as stored, `model_settings` as newer clients write it."""

from typing import Any

from remanence.core.conform import as_object
from remanence.core.llm import LLMConfig
from remanence.errors import Invalid
from remanence.kit.json import JsonObject

_THINKING_BUDGET = 1024

_FIELDS: dict[str, tuple[str, ...]] = {
    "openai": ("reasoning", "response_format", "strict"),
    "chatgpt_oauth": ("reasoning",),
    "sglang": ("reasoning", "response_format", "strict", "tool_call_parser"),
    "anthropic": ("thinking", "verbosity", "effort", "strict", "response_format"),
    "moonshot_coding": ("thinking", "verbosity", "effort", "strict", "response_format"),
    "moonshot": ("response_format", "strict"),
    "google_ai": ("thinking_config", "response_schema"),
    "google_vertex": ("thinking_config", "response_schema"),
    "zai": ("zai_thinking", "response_format"),
    "zai_coding": ("zai_thinking", "response_format"),
    "baseten": (),
} | dict.fromkeys(
    ("deepseek", "groq", "xai", "together", "bedrock", "openrouter", "azure"), ("response_format",)
)
"""What each type of provider can be told beside what all can."""


def model_settings_of(config: LLMConfig) -> JsonObject | None:
    """What the config says, in the shape of its provider; None where the schema knows no such provider."""
    kind = config.model_endpoint_type
    if kind not in _FIELDS:
        return None
    body: dict[str, Any] = {
        "max_output_tokens": config.max_tokens or 4096,
        "parallel_tool_calls": bool(config.parallel_tool_calls),
        "provider_type": kind,
        "temperature": config.temperature,
    }
    return body | {field.removeprefix("zai_"): _value(field, config) for field in _FIELDS[kind]}


def _value(field: str, config: LLMConfig) -> Any:
    match field:
        case "response_format" | "response_schema":
            return config.response_format.model_dump(exclude_none=True) if config.response_format else None
        case "reasoning":
            return {"reasoning_effort": config.reasoning_effort or "minimal"}
        case "thinking":
            is_on = config.enable_reasoner and config.max_reasoning_tokens > 0
            return {
                "type": "enabled" if is_on else "disabled",
                "budget_tokens": config.max_reasoning_tokens or _THINKING_BUDGET,
            }
        case "thinking_config":
            return {
                "include_thoughts": config.enable_reasoner,
                "thinking_budget": config.max_reasoning_tokens or _THINKING_BUDGET,
            }
        case "zai_thinking":
            return {"type": "enabled" if config.enable_reasoner else "disabled", "clear_thinking": False}
        case _:
            return getattr(config, field)


def apply_model_settings(config: LLMConfig, settings: JsonObject) -> LLMConfig:
    """The config with the settings that were given; what is not mentioned stays. Raises Invalid."""
    changes: dict[str, Any] = {}
    for ours, theirs in (
        ("max_tokens", "max_output_tokens"),
        ("parallel_tool_calls", "parallel_tool_calls"),
        ("temperature", "temperature"),
        ("verbosity", "verbosity"),
        ("effort", "effort"),
        ("strict", "strict"),
        ("tool_call_parser", "tool_call_parser"),
        ("fallback_models", "fallback_models"),
    ):
        if settings.get(theirs) is not None:
            changes[ours] = settings[theirs]
    for key in ("response_format", "response_schema"):
        if key in settings:
            changes["response_format"] = settings[key]
    reasoning = as_object(settings.get("reasoning"))
    if "reasoning_effort" in reasoning:
        changes["reasoning_effort"] = reasoning["reasoning_effort"]
        changes["enable_reasoner"] = reasoning["reasoning_effort"] not in ("none", None)
    for key, switch, budget in (
        ("thinking", "type", "budget_tokens"),
        ("thinking_config", "include_thoughts", "thinking_budget"),
    ):
        thinking = as_object(settings.get(key))
        if thinking:
            changes["enable_reasoner"] = thinking.get(switch, True) not in (False, "disabled")
            changes["max_reasoning_tokens"] = thinking.get(budget, _THINKING_BUDGET)
    try:
        return LLMConfig.model_validate(config.model_dump() | changes)
    except ValueError as error:
        raise Invalid(
            f"model_settings cannot be used with {config.handle or config.model}: {error}"
        ) from error
