"""Requests to the embedded model: an agent with the usual tools, its memory and a conversation."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from remanence.core.block import Block
from remanence.core.llm import InContext, LLMConfig, ModelRequest, ResponseFormat, ToolSpec
from remanence.core.message import Message, Role, ToolCall, ToolReturn, text_parts
from remanence.core.packing import pack_tool_return
from remanence.core.profile import default_system, profile_of
from remanence.core.prompt import PromptMetadata, compile_system
from remanence.kit import json
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, BlockId, MessageId

AGENT = AgentId("agent-00000000-0000-4000-8000-000000000000")
MOMENT = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
CONFIG = LLMConfig(
    model="smollm2-135m", model_endpoint_type="llamacpp", provider_name="local", context_window=8192
)
STOCK = default_system(profile_of("letta_v1_agent"))


def tool(name: str, *required: str, description: str = "", **properties: Any) -> ToolSpec:
    """Named parameters are strings; others are given with their schema."""
    known: dict[str, Any] = {each: {"type": "string"} for each in required}
    return ToolSpec(
        name, description, {"type": "object", "properties": known | properties, "required": list(required)}
    )


V1_TOOLS = (
    tool("conversation_search", query={"type": "string"}, limit={"type": "integer"}),
    tool("memory_insert", "label", "new_string"),
    tool("memory_replace", "label", "old_string", "new_string"),
)
BEAT: dict[str, Any] = {"thinking": {"type": "string"}, "request_heartbeat": {"type": "boolean"}}
HEARTBEAT_TOOLS = (
    tool("send_message", "message", thinking={"type": "string"}),
    tool("conversation_search", query={"type": "string"}, **BEAT),
    tool("core_memory_append", "label", "content", **BEAT),
    tool("core_memory_replace", "label", "old_content", "new_content", **BEAT),
    tool("memory", "command", **BEAT),
)
DICE = tool("roll_dice", "sides", description="Rolls a die. And more.", sides={"type": "integer"})


def system(blocks: Mapping[str, str], *, prompt: str = STOCK, read_only: Sequence[str] = ()) -> Message:
    profile = profile_of("letta_v1_agent")
    made = [
        Block(
            id=BlockId(f"block-{label}"),
            organization_id=DEFAULT_ORG_ID,
            label=label,
            value=value,
            description=f"What is known of {label}",
            read_only=label in read_only,
        )
        for label, value in blocks.items()
    ]
    metadata = PromptMetadata(
        agent_id=AGENT, conversation_id=None, compiled_at=MOMENT, timezone=None, recall_count=3
    )
    text = compile_system(
        system=prompt, profile=profile, blocks=made, rules=(), metadata=metadata, line_numbers=True
    )
    return said("system", text)


def said(role: Role, text: str) -> Message:
    return message(role, content=text_parts(text))


def called(name: str, **arguments: Any) -> Message:
    call = ToolCall(id=f"call-{name}", name=name, arguments=json.readable(arguments))
    return message("assistant", tool_calls=(call,))


def returned(name: str, text: str, status: Literal["success", "error"] = "success") -> Message:
    packed = pack_tool_return(text, status=status, at=MOMENT, timezone=None)
    answer = ToolReturn(tool_call_id=f"call-{name}", name=name, status=status, content=packed)
    return message("tool", tool_returns=(answer,))


def message(role: Role, **fields: Any) -> Message:
    return Message(id=MessageId("message-1"), agent_id=AGENT, role=role, created_at=MOMENT, **fields)


def request(
    *messages: Message,
    tools: Sequence[ToolSpec] = V1_TOOLS,
    tool_choice: Literal["auto", "required", "none"] = "auto",
    forced_tool: str | None = None,
    response_format: ResponseFormat | None = None,
    cache_key: str = "",
) -> ModelRequest:
    return ModelRequest(
        config=CONFIG,
        messages=[InContext(each) for each in messages],
        tools=tools,
        tool_choice=tool_choice,
        forced_tool=forced_tool,
        response_format=response_format,
        cache_key=cache_key,
    )
