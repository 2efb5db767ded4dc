"""Everything in a Chat Completions request beside its messages: tools, limits, sampling, vendor by vendor."""

from collections.abc import Sequence
from typing import Any

from remanence.core.llm import ModelRequest, ResponseFormat, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.openai_models import fitting_effort, is_gpt_5, is_o_series, is_reasoning_model
from remanence.llm.strict_schema import find_strict_schema
from remanence.llm.vendors import Quirks


def make_options(request: ModelRequest, quirks: Quirks, *, takes_cache_key: bool) -> JsonObject:
    config = request.config
    options: JsonObject = {"model": config.model, "stream": True}
    if quirks.takes_stream_options:
        options["stream_options"] = {"include_usage": True}
    if config.max_tokens:
        options[quirks.limit_field] = config.max_tokens
    options |= _sampling(request, quirks)
    options |= _tools(request, quirks)
    response_format = request.response_format or config.response_format
    if response_format is not None and response_format.type != "text":
        options["response_format"] = _response_format(response_format)
    if takes_cache_key and request.cache_key:
        options["prompt_cache_key"] = request.cache_key
    if quirks.marks_claude and "claude" in config.model:
        options["cache_control"] = {"type": "ephemeral"}
    if config.return_logprobs:
        options["logprobs"] = True
        if config.top_logprobs is not None:
            options["top_logprobs"] = config.top_logprobs
    if config.return_token_ids and not quirks.has_openai_models:
        options["return_token_ids"] = True
    return options


def _sampling(request: ModelRequest, quirks: Quirks) -> JsonObject:
    config = request.config
    options: JsonObject = {}
    is_reasoner = quirks.has_openai_models and is_reasoning_model(config.model)
    if not is_reasoner:
        options["temperature"] = config.temperature
        if config.frequency_penalty is not None and quirks.takes_penalty:
            options["frequency_penalty"] = config.frequency_penalty
    if config.reasoning_effort is not None:
        if is_reasoner:
            options["reasoning_effort"] = fitting_effort(config.model, config.reasoning_effort)
        elif quirks.takes_effort:
            options["reasoning_effort"] = config.reasoning_effort
    if config.verbosity is not None and quirks.has_openai_models and is_gpt_5(config.model):
        options["verbosity"] = config.verbosity
    return options


def _tools(request: ModelRequest, quirks: Quirks) -> JsonObject:
    tools: Sequence[ToolSpec] = request.tools
    choice: Any = request.tool_choice
    forced = request.forced_tool if choice == "required" else None
    options: JsonObject = {}
    is_forced = choice == "required" and quirks.tool_choice != "auto"
    if quirks.has_thinking_switch and (is_forced or not request.config.enable_reasoner):
        options["thinking"] = {"type": "disabled"}
    if forced is not None:
        if quirks.tool_choice == "named":
            choice = {"type": "function", "function": {"name": forced}}
        else:  # all that can be asked for is any tool: then there is but one
            tools = [tool for tool in tools if tool.name == forced] or tools
    if quirks.tool_choice == "auto" and choice != "auto":
        tools = () if choice == "none" else tools
        choice = "auto"
    if not tools:
        return options
    is_strict = request.config.strict and quirks.takes_strict
    options["tools"] = [_tool(tool, is_strict=is_strict) for tool in tools]
    options["tool_choice"] = choice
    is_refused = quirks.has_openai_models and is_o_series(request.config.model)
    if quirks.takes_parallel_flag and not is_refused:
        options["parallel_tool_calls"] = request.parallel_tool_calls
    return options


def _tool(tool: ToolSpec, *, is_strict: bool) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if is_strict and (schema := find_strict_schema(tool.parameters)) is not None:
        function |= {"parameters": schema, "strict": True}
    return {"type": "function", "function": function}


def _response_format(wanted: ResponseFormat) -> JsonObject:
    if wanted.type != "json_schema" or wanted.json_schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": schema_with_name(wanted.json_schema)}


def schema_with_name(schema: JsonObject) -> JsonObject:
    """The schema in the envelope that OpenAI wants around it."""
    if "schema" not in schema:
        return {"name": "response", "schema": schema}
    return {"name": "response", **schema}
