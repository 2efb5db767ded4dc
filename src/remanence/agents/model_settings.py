"""The two views of one truth: `llm_config` as stored, `model_settings` as newer clients write it."""

from typing import Any

from remanence.core.conform import as_object
from remanence.core.llm import LLMConfig
from remanence.errors import Invalid
from remanence.kit.json import JsonObject

_THINKING_BUDGET = 1024

_PLAIN = {
    "openai",
    "deepseek",
    "groq",
    "xai",
    "together",
    "bedrock",
    "baseten",
    "openrouter",
    "zai",
    "zai_coding",
    "azure",
    "sglang",
    "chatgpt_oauth",
    "moonshot",
    "moonshot_coding",
}
_GOOGLE = {"google_ai", "google_vertex"}


def model_settings_of(config: LLMConfig) -> JsonObject | None:
    """What the config says, in the shape of its provider; None where the schema knows no such provider."""
    kind = config.model_endpoint_type
    body: dict[str, Any] = {
        "max_output_tokens": config.max_tokens or 4096,
        "parallel_tool_calls": bool(config.parallel_tool_calls),
        "provider_type": kind,
        "temperature": config.temperature,
    }
    response_format = config.response_format.model_dump(exclude_none=True) if config.response_format else None
    if kind == "anthropic":
        has_budget = config.enable_reasoner and config.max_reasoning_tokens > 0
        body["thinking"] = {
            "type": "enabled" if has_budget else "disabled",
            "budget_tokens": config.max_reasoning_tokens or _THINKING_BUDGET,
        }
        body |= {"verbosity": config.verbosity, "effort": config.effort, "strict": config.strict}
    elif kind in _GOOGLE:
        body["thinking_config"] = {
            "include_thoughts": config.enable_reasoner,
            "thinking_budget": config.max_reasoning_tokens or _THINKING_BUDGET,
        }
    elif kind in ("openai", "chatgpt_oauth"):
        body["reasoning"] = {"reasoning_effort": config.reasoning_effort or "minimal"}
        body["response_format"] = response_format
        body["strict"] = config.strict
        return body
    elif kind not in _PLAIN:
        return None
    body["response_format"] = response_format
    return body


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
    ):
        if settings.get(theirs) is not None:
            changes[ours] = settings[theirs]
    if "response_format" in settings:
        changes["response_format"] = settings["response_format"]
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
