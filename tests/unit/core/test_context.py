"""From a snapshot of an agent to the request that its model receives."""

from datetime import UTC, datetime
from typing import Any

from remanence.core.agent import Agent, AgentState
from remanence.core.context import allows_in_parallel, compile_request
from remanence.core.llm import InContext, LLMConfig, ResponseFormat, ToolSpec
from remanence.core.message import Message, text_parts
from remanence.core.rules import StepPlan
from remanence.core.tool import ExitLoop, RequiresApproval, Tool
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, MessageId, ToolId

_MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
_SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def message(role: str, text: str) -> Message:
    return Message.model_validate(
        {
            "id": MessageId(f"message-{text}"),
            "agent_id": "agent-1",
            "role": role,
            "content": text_parts(text),
            "created_at": _MOMENT,
        }
    )


def tool(name: str) -> Tool:
    return Tool(
        id=ToolId(f"tool-{name}"),
        organization_id=DEFAULT_ORG_ID,
        name=name,
        description=f"Does {name}",
        json_schema={"name": name, "parameters": _SCHEMA},
    )


def config(**fields: Any) -> LLMConfig:
    given: dict[str, Any] = {"model": "m", "model_endpoint_type": "openai", "context_window": 8000, **fields}
    return LLMConfig(**given)


def state_of(agent_type: str = "letta_v1_agent", **fields: Any) -> AgentState:
    agent = Agent.model_validate(
        {
            "id": "agent-1",
            "organization_id": DEFAULT_ORG_ID,
            "name": "Ada",
            "agent_type": agent_type,
            "system": "Be kind.",
            "llm_config": config(),
            "created_at": _MOMENT,
            "updated_at": _MOMENT,
            **fields,
        }
    )
    return AgentState(
        agent=agent,
        blocks=(),
        tools=(tool("search"), tool("speak")),
        window=(InContext(message("system", "Be kind.")), InContext(message("user", "Hello"))),
        conversation_id=None,
        agent_version=1,
        window_version=1,
        next_position=2,
        last_message_at=_MOMENT,
    )


ANY = StepPlan(allowed=("search", "speak"), must_call=False)


def texts(messages: Any) -> list[str]:
    return [each.message.text for each in messages]


def test_the_window_comes_first_and_then_what_is_not_saved_yet() -> None:
    state = state_of()
    request = compile_request(state, ANY, unsaved=[InContext(message("user", "And now?"))])
    assert texts(request.messages) == ["Be kind.", "Hello", "And now?"]
    assert request.messages[:2] == state.window
    assert request.cache_key == AgentId("agent-1")


def test_only_allowed_tools_are_offered_in_the_agents_order() -> None:
    request = compile_request(state_of(), StepPlan(allowed=("speak",), must_call=True, forced_tool="speak"))
    assert [spec.name for spec in request.tools] == ["speak"]
    assert (request.tool_choice, request.forced_tool) == ("required", "speak")
    assert [spec.name for spec in compile_request(state_of(), ANY).tools] == ["search", "speak"]
    assert compile_request(state_of(), ANY).tool_choice == "auto"


def test_a_native_agents_tools_are_offered_as_they_are() -> None:
    request = compile_request(state_of(llm_config=config(put_inner_thoughts_in_kwargs=True)), ANY)
    assert request.tools[0] == ToolSpec("search", "Does search", _SCHEMA)
    assert not request.thoughts_in_arguments


def test_a_heartbeat_agents_tools_take_a_thought_and_a_heartbeat() -> None:
    rules = (ExitLoop(tool_name="speak"),)
    state = state_of("memgpt_agent", llm_config=config(put_inner_thoughts_in_kwargs=True), tool_rules=rules)
    request = compile_request(state, ANY)
    names = {spec.name: list(spec.parameters["properties"]) for spec in request.tools}
    assert names == {"search": ["thinking", "query", "request_heartbeat"], "speak": ["thinking", "query"]}
    assert request.thoughts_in_arguments
    plain = compile_request(state_of("memgpt_agent", tool_rules=rules), ANY)
    assert list(plain.tools[0].parameters["properties"]) == ["query", "request_heartbeat"]


def test_parallel_calls_need_a_native_agent_that_wants_them_and_no_order() -> None:
    wants = config(parallel_tool_calls=True)
    gated = (RequiresApproval(tool_name="search"),)
    ordered = (ExitLoop(tool_name="speak"),)
    assert compile_request(state_of(llm_config=wants), ANY).parallel_tool_calls
    assert compile_request(state_of(llm_config=wants, tool_rules=gated), ANY).parallel_tool_calls
    assert not compile_request(state_of(), ANY).parallel_tool_calls
    assert not compile_request(state_of(llm_config=wants, tool_rules=ordered), ANY).parallel_tool_calls
    assert not compile_request(state_of("memgpt_agent", llm_config=wants), ANY).parallel_tool_calls
    assert allows_in_parallel(state_of(llm_config=wants))


def test_another_model_and_another_prompt_hold_for_one_request() -> None:
    state = state_of()
    request = compile_request(
        state, ANY, override_config=config(model="other"), override_system="Be a pirate."
    )
    assert request.config.model == "other"
    assert texts(request.messages) == ["Be a pirate.", "Hello"]
    assert texts(state.window) == ["Be kind.", "Hello"]
    assert request.messages[0].message.id == state.window[0].message.id


def test_a_clients_tool_hides_the_servers_of_that_name() -> None:
    given = ToolSpec("search", "In the browser", {"type": "object", "properties": {}})
    request = compile_request(state_of(), ANY, client_tools=[given])
    assert {spec.name: spec.description for spec in request.tools} == {
        "speak": "Does speak",
        "search": "In the browser",
    }


def test_the_agents_format_wins_over_its_models() -> None:
    mine, models = ResponseFormat(type="json_object"), ResponseFormat(type="text")
    state = state_of(response_format=mine, llm_config=config(response_format=models))
    assert compile_request(state, ANY).response_format == mine
    assert compile_request(state_of(llm_config=config(response_format=models)), ANY).response_format == models
