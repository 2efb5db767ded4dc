"""The context window as people see it: what is in it, and how many tokens each part takes."""

from typing import Any

from remanence.core.agent import AgentState
from remanence.core.budget import PER_MESSAGE_TOKENS, message_tokens
from remanence.core.context import tool_specs
from remanence.core.notes import note_of
from remanence.core.prompt import split_system
from remanence.core.tokenizer import count_tools, tokenizer_of
from remanence.kit.json import JsonObject
from remanence.messages.schemas import stored_body


def overview_of(state: AgentState, *, recall_count: int, archival_count: int) -> dict[str, Any]:
    """Slow for long histories (it counts every token): call it off the event loop."""
    window = [each.message for each in state.window]
    head = window[0].text if window and window[0].role == "system" else ""
    sections = split_system(head)
    rest = window[1:] if head else window
    summary = next((message.text for message in rest if message.role == "summary"), None)
    spoken = [message for message in rest if message.role != "summary"]
    thinks = bool(state.agent.llm_config.put_inner_thoughts_in_kwargs)
    specs = tool_specs(state, [tool.name for tool in state.tools], thinks_in_arguments=thinks)
    functions: list[JsonObject] = [
        {
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
                "strict": None,
            },
            "type": "function",
        }
        for spec in specs
    ]
    tokenizer = tokenizer_of(state.agent.llm_config)
    count = tokenizer.count
    tokens = {
        "core_memory": count(sections.core_memory or ""),
        "tool_usage_rules": count(sections.tool_usage_rules or ""),
        "directories": count(sections.directories or ""),
        "external_memory_summary": count(sections.metadata or ""),
    }
    # What stands between the sections is the prompt's, so that all of them together are the message as sent.
    whole = message_tokens(window[0], tokenizer) if head else 0
    untold = note_of(state)
    note = count(untold) + PER_MESSAGE_TOKENS if untold else 0
    tokens |= {
        "system": whole - sum(tokens.values()),
        "summary_memory": sum(message_tokens(each, tokenizer) for each in rest if each.role == "summary"),
        "functions_definitions": count_tools(specs, tokenizer),
        "messages": sum(message_tokens(message, tokenizer) for message in spoken) + note,
    }
    return {
        "context_window_size_max": state.agent.llm_config.context_window,
        "context_window_size_current": sum(tokens.values()),
        "num_messages": len(window),
        "num_archival_memory": archival_count,
        "num_recall_memory": recall_count,
        "num_tokens_external_memory_summary": tokens["external_memory_summary"],
        "external_memory_summary": sections.metadata or "",
        "num_tokens_system": tokens["system"],
        "system_prompt": sections.system_prompt,
        "num_tokens_core_memory": tokens["core_memory"],
        "core_memory": sections.core_memory or "",
        "num_tokens_memory_filesystem": 0,
        "memory_filesystem": None,
        "num_tokens_tool_usage_rules": tokens["tool_usage_rules"],
        "tool_usage_rules": sections.tool_usage_rules,
        "num_tokens_directories": tokens["directories"],
        "directories": sections.directories,
        "num_tokens_summary_memory": tokens["summary_memory"],
        "summary_memory": summary,
        "num_tokens_functions_definitions": tokens["functions_definitions"],
        "functions_definitions": functions,
        "num_tokens_messages": tokens["messages"],
        "messages": [stored_body(message) for message in window],
    }
