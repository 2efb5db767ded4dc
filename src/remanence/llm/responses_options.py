"""Everything in a Responses request beside its input: tools, limits, reasoning."""

from typing import Any

from remanence.core.llm import LLMConfig, ModelRequest, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.chat_options import schema_with_name
from remanence.llm.openai_models import fitting_effort, is_gpt_5, is_o_series, is_reasoning_model
from remanence.llm.strict_schema import find_strict_schema


def make_options(request: ModelRequest, *, takes_cache_key: bool, shows_summaries: bool) -> JsonObject:
    config = request.config
    # Nothing is left with the provider: reasoning comes to us encrypted and goes back with its turn.
    options: JsonObject = {"model": config.model, "stream": True, "store": False}
    if config.max_tokens:
        options["max_output_tokens"] = config.max_tokens
    if is_reasoning_model(config.model):
        options["include"] = ["reasoning.encrypted_content"]
        if reasoning := _reasoning(config, shows_summaries=shows_summaries):
            options["reasoning"] = reasoning
    else:
        options["temperature"] = config.temperature
    if text := _text(request):
        options["text"] = text
    if takes_cache_key and request.cache_key:
        options["prompt_cache_key"] = request.cache_key
    return options | _tools(request)


def _reasoning(config: LLMConfig, *, shows_summaries: bool) -> JsonObject:
    reasoning: JsonObject = {}
    if config.reasoning_effort is not None:
        reasoning["effort"] = fitting_effort(config.model, config.reasoning_effort)
    if shows_summaries and config.enable_reasoner:
        reasoning["summary"] = "auto"
    return reasoning


def _text(request: ModelRequest) -> JsonObject:
    config = request.config
    text: JsonObject = {}
    wanted = request.response_format or config.response_format
    if wanted is not None and wanted.type != "text":
        text["format"] = {"type": "json_object"}
        if wanted.type == "json_schema" and wanted.json_schema is not None:
            text["format"] = {"type": "json_schema"} | schema_with_name(wanted.json_schema)
    if config.verbosity is not None and is_gpt_5(config.model):
        text["verbosity"] = config.verbosity
    return text


def _tools(request: ModelRequest) -> JsonObject:
    if not request.tools:
        return {}
    choice: Any = request.tool_choice
    if choice == "required" and request.forced_tool is not None:
        choice = {"type": "function", "name": request.forced_tool}
    tools: JsonObject = {
        "tools": [_tool(tool, is_strict=request.config.strict) for tool in request.tools],
        "tool_choice": choice,
    }
    if not is_o_series(request.config.model):
        tools["parallel_tool_calls"] = request.parallel_tool_calls
    return tools


def _tool(tool: ToolSpec, *, is_strict: bool) -> JsonObject:
    schema = find_strict_schema(tool.parameters) if is_strict else None
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if schema is None else schema,
        "strict": schema is not None,  # here it is on unless it is said to be off
    }
