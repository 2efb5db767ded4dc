"""Short ways to build what is asked of a model."""

from datetime import UTC, datetime
from typing import Any

from remanence.core.llm import InContext, LLMConfig, ModelRequest, ToolSpec
from remanence.core.message import Message, Role, ToolReturn, text_parts
from remanence.kit.ids import AgentId, MessageId

_AGENT = AgentId("agent-00000000-0000-4000-8000-000000000001")
_MESSAGE = MessageId("message-00000000-0000-4000-8000-000000000001")
_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def config(model: str = "gpt-4o-mini", **fields: Any) -> LLMConfig:
    defaults: dict[str, Any] = {"model_endpoint_type": "openai", "context_window": 128_000}
    return LLMConfig(model=model, **(defaults | fields))


def message(role: Role, text: str = "", **fields: Any) -> Message:
    content = text_parts(text) if text else ()
    defaults: dict[str, Any] = {"id": _MESSAGE, "agent_id": _AGENT, "content": content, "created_at": _MOMENT}
    return Message(role=role, **(defaults | fields))


def request(*messages: Message, **fields: Any) -> ModelRequest:
    """A request to answer these messages, or a plain greeting."""
    given = messages or (message("user", "Hello"),)
    defaults: dict[str, Any] = {"config": config(), "messages": [InContext(each) for each in given]}
    return ModelRequest(**(defaults | fields))


def tool(name: str, **properties: str) -> ToolSpec:
    """A tool whose parameters are all required; each is given by its JSON type."""
    return ToolSpec(
        name=name,
        description=f"Does {name}",
        parameters={
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties),
        },
    )


def returned(call_id: str, name: str, text: str) -> ToolReturn:
    return ToolReturn(tool_call_id=call_id, name=name, status="success", content=text)


def stored(*messages: Message) -> list[Message]:
    """The messages as they come back from a database."""
    return [Message.model_validate_json(each.model_dump_json(exclude_none=True)) for each in messages]
