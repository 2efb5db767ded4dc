"""From a snapshot to the request that the model receives."""

from collections.abc import Sequence

from remanence.core.agent import AgentState
from remanence.core.conform import as_object
from remanence.core.directories import shows_shelf
from remanence.core.heartbeat import with_heartbeat_arguments
from remanence.core.llm import InContext, LLMConfig, ModelRequest, ToolSpec
from remanence.core.message import text_parts
from remanence.core.profile import profile_of, wants_line_numbers
from remanence.core.prompt import shows_blocks, split_system
from remanence.core.rules import StepPlan, allows_parallel
from remanence.core.tool import ExitLoop, Tool
from remanence.kit.json import JsonObject


def compile_request(
    state: AgentState,
    plan: StepPlan,
    *,
    unsaved: Sequence[InContext] = (),
    client_tools: Sequence[ToolSpec] = (),
    override_config: LLMConfig | None = None,
    override_system: str | None = None,
    skills: str = "",
) -> ModelRequest:
    """`unsaved` are messages of this run that are not in the window yet."""
    agent = state.agent
    profile = profile_of(agent.agent_type)
    config = override_config or agent.llm_config
    is_native = profile.reply == "native"
    window = state.window
    if override_system is not None and window:
        head = window[0].message.model_copy(update={"content": text_parts(override_system)})
        window = (InContext(head), *window[1:])
    if skills and window:
        head = window[0].message
        told = head.model_copy(update={"content": text_parts(f"{head.text}\n\n{skills}")})
        window = (InContext(told), *window[1:])
    client_names = {spec.name for spec in client_tools}
    thinks_in_arguments = not is_native and bool(config.put_inner_thoughts_in_kwargs)
    return ModelRequest(
        config=config,
        messages=(*window, *unsaved),
        tools=(
            *tool_specs(
                state,
                [name for name in plan.allowed if name not in client_names],
                thinks_in_arguments=thinks_in_arguments,
            ),
            *(spec for spec in client_tools if spec.name in plan.allowed),
        ),
        tool_choice="required" if plan.must_call else "auto",
        forced_tool=plan.forced_tool,
        parallel_tool_calls=is_native and allows_in_parallel(state),
        response_format=agent.response_format or config.response_format,
        thoughts_in_arguments=thinks_in_arguments,
        cache_key=state.lane,
    )


def is_compiled(state: AgentState) -> bool:
    """Whether the system message in the window shows memory and files as they are now."""
    agent = state.agent
    profile = profile_of(agent.agent_type)
    head = state.window[0].message if state.window else None
    if head is None or head.role != "system":
        return True
    section = split_system(head.text).directories if state.shelf.folders or state.file_changes else None
    if not shows_shelf(section or "", state.shelf):
        return False
    if not profile.has_memory_section:
        return True
    line_numbers = wants_line_numbers(profile, agent.llm_config.model_endpoint_type)
    return shows_blocks(head.text, state.blocks, line_numbers=line_numbers)


def allows_in_parallel(state: AgentState) -> bool:
    return bool(state.agent.llm_config.parallel_tool_calls) and allows_parallel(state.agent.tool_rules)


def tool_specs(
    state: AgentState, allowed: Sequence[str], *, thinks_in_arguments: bool
) -> tuple[ToolSpec, ...]:
    names = set(allowed)
    is_native = profile_of(state.agent.agent_type).reply == "native"
    final = {rule.tool_name for rule in state.agent.tool_rules if isinstance(rule, ExitLoop)}
    specs: list[ToolSpec] = []
    for tool in state.tools:
        if tool.name not in names:
            continue
        parameters = parameters_of(tool)
        if not is_native:
            parameters = with_heartbeat_arguments(
                parameters, thinking=thinks_in_arguments, heartbeat=tool.name not in final
            )
        specs.append(ToolSpec(tool.name, tool.description or "", parameters))
    return tuple(specs)


def parameters_of(tool: Tool) -> JsonObject:
    return as_object(tool.json_schema.get("parameters")) or {"type": "object", "properties": {}}
