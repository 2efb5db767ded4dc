"""The older agent file: one agent with its tools and blocks inside it. Told in the words of the newer one."""

from typing import Any

from remanence.core.conform import as_list, as_object
from remanence.kit.json import JsonObject

_RULES = {
    "InitToolRule": "run_first",
    "TerminalToolRule": "exit_loop",
    "ChildToolRule": "constrain_child_tools",
    "ToolRule": "constrain_child_tools",
    "ConditionalToolRule": "conditional",
    "ContinueToolRule": "continue_loop",
    "MaxCountPerStepToolRule": "max_count_per_step",
}
"""How the oldest files spell the kinds of rules."""

_KEPT = (
    *("agent_type", "description", "embedding_config", "llm_config", "message_buffer_autoclear", "name"),
    *("system", "timezone", "response_format"),
)


def is_legacy(file: JsonObject) -> bool:
    return "agents" not in file and "core_memory" in file and "messages" in file


def modernise(file: JsonObject) -> JsonObject:
    """The same agent in the newer form. What does not fit stays as it is, for the newer form to refuse."""
    blocks = _numbered("block", file.get("core_memory"))
    tools = _numbered("tool", file.get("tools"))
    messages = _numbered("message", file.get("messages"))
    for block in blocks:
        block["metadata"] = block.pop("metadata_", None)
    for tool in tools:
        tool["metadata_"] = as_object(tool.get("metadata_")) or None
    for message in messages:
        if message.get("content") is None and isinstance(message.get("text"), str):
            message["content"] = message["text"]
    agent = {key: file[key] for key in _KEPT if file.get(key) is not None}
    agent |= {
        "id": "agent-0",
        "include_base_tools": False,
        "include_base_tool_rules": False,
        "metadata": file.get("metadata_"),
        "tags": [as_object(tag).get("tag", tag) for tag in as_list(file.get("tags"))],
        "tool_rules": [_rule(rule) for rule in as_list(file.get("tool_rules"))],
        "secrets": _secrets(file.get("tool_exec_environment_variables")),
        "block_ids": [block["id"] for block in blocks],
        "tool_ids": [tool["id"] for tool in tools],
        "messages": messages,
        "in_context_message_ids": [
            f"message-{place}" for place in as_list(file.get("in_context_message_indices"))
        ],
    }
    return {"agents": [agent], "blocks": blocks, "tools": tools}


def _numbered(prefix: str, given: Any) -> list[JsonObject]:
    return [as_object(each) | {"id": f"{prefix}-{place}"} for place, each in enumerate(as_list(given))]


def _rule(rule: Any) -> Any:
    fields = as_object(rule)
    return {**fields, "type": _RULES.get(str(fields.get("type")), fields.get("type"))} if fields else rule


def _secrets(given: Any) -> dict[str, str]:
    found = [as_object(each) for each in as_list(given)]
    return {str(each.get("key")): str(each.get("value") or "") for each in found}
