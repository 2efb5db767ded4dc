"""Everything in an Anthropic request beside its messages: tools, limits, thinking."""

from remanence.core.llm import LLMConfig, ModelRequest, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.anthropic_encoding import starts_with_thought
from remanence.llm.claude_models import is_late, takes_schemas, thinks, thinks_at_will
from remanence.llm.strict_schema import find_strict_schema

_DEFAULT_OUTPUT = 8_192
"""The API insists on a limit; every model since Claude 3.5 has this much."""
_LEAST_BUDGET = 1_024


def make_options(request: ModelRequest) -> JsonObject:
    config = request.config
    limit = config.max_tokens or _DEFAULT_OUTPUT
    options: JsonObject = {"model": config.model, "max_tokens": limit, "stream": True}
    thinking = _thinking(request, limit)
    if thinking is not None:
        options["thinking"] = thinking
    elif not is_late(config.model):
        options["temperature"] = min(config.temperature, 1.0)
    output: JsonObject = {}
    if config.effort is not None:
        output["effort"] = config.effort
    if (schema := _answer_schema(request)) is not None:
        output["format"] = {"type": "json_schema", "schema": schema}
    if output:
        options["output_config"] = output
    return options | _tools(request)


def _thinking(request: ModelRequest, limit: int) -> JsonObject | None:
    """Left out where it is not wanted or not possible: some models refuse to be told that they must not."""
    config = request.config
    is_wanted = config.enable_reasoner and config.max_reasoning_tokens > 0 and thinks(config.model)
    if not is_wanted or request.tool_choice == "required":
        return None
    if thinks_at_will(config.model):
        shown = {"display": "summarized"} if is_late(config.model) else {}
        return {"type": "adaptive", **shown}
    budget = min(max(config.max_reasoning_tokens, _LEAST_BUDGET), limit - _LEAST_BUDGET)
    if budget < _LEAST_BUDGET or _is_midway_without_thoughts(request):
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _is_midway_without_thoughts(request: ModelRequest) -> bool:
    """A turn of tools that another model began, or one that did not think, cannot go on thinking."""
    for each in reversed(request.messages):
        message = each.message
        if message.role in ("assistant", "approval") and message.tool_calls:
            return not starts_with_thought(message, request.config.model)
        if message.role not in ("tool", "approval"):
            return False
    return False


def _answer_schema(request: ModelRequest) -> JsonObject | None:
    wanted = request.response_format or request.config.response_format
    if wanted is None or wanted.json_schema is None or not takes_schemas(request.config.model):
        return None
    return find_strict_schema(wanted.json_schema.get("schema", wanted.json_schema))


def _tools(request: ModelRequest) -> JsonObject:
    if not request.tools:
        return {}
    choice: JsonObject = {"type": "any" if request.tool_choice == "required" else request.tool_choice}
    if request.tool_choice == "required" and request.forced_tool is not None:
        choice = {"type": "tool", "name": request.forced_tool}
    if request.tool_choice != "none" and not request.parallel_tool_calls:
        choice["disable_parallel_tool_use"] = True
    return {"tools": [_tool(tool, request.config) for tool in request.tools], "tool_choice": choice}


def _tool(tool: ToolSpec, config: LLMConfig) -> JsonObject:
    encoded: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {"type": "object"} | tool.parameters,
    }
    if config.strict and takes_schemas(config.model):
        schema = find_strict_schema(tool.parameters)
        if schema is not None:
            encoded |= {"input_schema": schema, "strict": True}
    return encoded
