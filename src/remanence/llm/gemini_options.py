"""Everything in a Gemini request beside its contents: tools, limits, thinking."""

from typing import Any

from remanence.core.llm import LLMConfig, ModelRequest, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.gemini_encoding import needs_signatures
from remanence.llm.gemini_schema import gemini_schema

_LEVELS = {"none": "minimal", "xhigh": "high"}
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def make_options(request: ModelRequest) -> JsonObject:
    config = request.config
    generation: JsonObject = {"temperature": config.temperature}
    if config.max_tokens:
        generation["maxOutputTokens"] = config.max_tokens
    if thinking := _thinking(config):
        generation["thinkingConfig"] = thinking
    wanted = request.response_format or config.response_format
    # Gemini writes JSON or calls tools, not both.
    if wanted is not None and wanted.type != "text" and not request.tools:
        generation["responseMimeType"] = "application/json"
        if wanted.json_schema is not None:
            schema: JsonObject = wanted.json_schema.get("schema", wanted.json_schema)
            generation["responseJsonSchema"] = gemini_schema(schema)
    return {"generationConfig": generation} | _tools(request)


def thinks(model: str) -> bool:
    name = model.rpartition("/")[2]
    return name.startswith("gemini-2.5") or needs_signatures(model)


def _thinking(config: LLMConfig) -> JsonObject:
    if not thinks(config.model):
        return {}
    is_pro = "pro" in config.model
    thinking: JsonObject = {"includeThoughts": config.enable_reasoner}
    if needs_signatures(config.model):
        if config.reasoning_effort is not None:
            thinking["thinkingLevel"] = _LEVELS.get(config.reasoning_effort, config.reasoning_effort)
    elif config.enable_reasoner and config.max_reasoning_tokens:
        thinking["thinkingBudget"] = config.max_reasoning_tokens
    elif not config.enable_reasoner:
        thinking["thinkingBudget"] = 128 if is_pro else 0  # the larger ones cannot stop thinking
    return thinking


def _tools(request: ModelRequest) -> JsonObject:
    if not request.tools:
        return {}
    choice: dict[str, Any] = {"mode": _MODES[request.tool_choice]}
    if request.tool_choice == "required" and request.forced_tool is not None:
        choice["allowedFunctionNames"] = [request.forced_tool]
    return {
        "tools": [{"functionDeclarations": [_tool(tool) for tool in request.tools]}],
        "toolConfig": {"functionCallingConfig": choice},
    }


def _tool(tool: ToolSpec) -> JsonObject:
    declared: JsonObject = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        declared["parametersJsonSchema"] = gemini_schema({"type": "object"} | tool.parameters)
    return declared
