"""The second half of a step: the model has answered, now its calls are run one after the other."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remanence.core.agent import AgentState
from remanence.core.arguments import BadArguments, parse_arguments
from remanence.core.block import Block, BlockEdit, apply_edit
from remanence.core.context import parameters_of
from remanence.core.heartbeat import REQUEST_HEARTBEAT, HeartbeatArguments, take_heartbeat_arguments
from remanence.core.message import ReasoningPart, TextPart, ToolCall
from remanence.core.profile import ReplyStyle
from remanence.core.reply import Reply
from remanence.core.rules import CallRecord, StepCall, StepPlan, check_prefill, refusal
from remanence.core.tool import Tool
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.runs.plan import LoopDoors, RunPlan
from remanence.tools.executor import ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call with its arguments understood, as far as they can be."""

    call: ToolCall
    tool: Tool | None
    arguments: JsonObject | None
    fault: str | None
    thinking: str | None = None
    requested_heartbeat: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call."""

    call: ToolCall
    result: ToolResult
    step_call: StepCall
    tool_id: str | None


@dataclass(frozen=True, slots=True)
class Acted:
    outcomes: tuple[Outcome, ...]
    edits: tuple[BlockEdit, ...]
    blocks: tuple[Block, ...]
    ran_ns: int | None


class InvalidPrefill(Exception):
    """A tool rule fixes arguments that its tool does not take."""


def read_calls(reply: Reply, tools: Mapping[str, Tool], style: ReplyStyle) -> tuple[ReadCall, ...]:
    is_cut = reply.finish == "length"
    return tuple(_read(call, tools.get(call.name), style, is_cut) for call in reply.calls)


def _read(call: ToolCall, tool: Tool | None, style: ReplyStyle, is_cut: bool) -> ReadCall:
    try:
        args = parse_arguments(call.arguments, is_cut=is_cut)
    except BadArguments as error:
        return ReadCall(call, tool, None, str(error))
    if style == "native":
        return ReadCall(call, tool, args, None)
    own = parameters_of(tool) if tool else {}
    taken: HeartbeatArguments = take_heartbeat_arguments(args, own)
    return ReadCall(call, tool, taken.arguments, None, taken.thinking, taken.requested_heartbeat)


def with_thoughts(reply: Reply, calls: Sequence[ReadCall]) -> Reply:
    """A heartbeat agent's reply: its text and its `thinking` arguments are thoughts, not speech."""
    parts = [
        ReasoningPart(is_native=False, reasoning=part.text) if isinstance(part, TextPart) else part
        for part in reply.content
    ]
    parts += [ReasoningPart(is_native=False, reasoning=each.thinking) for each in calls if each.thinking]
    return replace(reply, content=tuple(parts))


def stored_calls(calls: Sequence[ReadCall], style: ReplyStyle, *, goes_on: bool) -> tuple[ToolCall, ...]:
    """As called; a heartbeat agent's without the thought, and with the decision that was taken."""
    if style == "native":
        return tuple(each.call for each in calls)
    return tuple(
        each.call
        if each.arguments is None
        else each.call.model_copy(
            update={"arguments": json.readable({**each.arguments, REQUEST_HEARTBEAT: goes_on})}
        )
        for each in calls
    )


async def act(
    run: RunPlan, state: AgentState, plan: StepPlan, calls: Sequence[ReadCall], doors: LoopDoors
) -> Acted:
    """Runs the calls in order; each sees the memory as the one before left it. Raises InvalidPrefill."""
    blocks = state.blocks
    edits: list[BlockEdit] = []
    outcomes: list[Outcome] = []
    ran_ns: int | None = None
    for each in calls:
        name = each.call.name
        was_allowed = name in plan.allowed
        if each.tool is None:
            known = ", ".join(tool.name for tool in state.tools) or "none"
            result = ToolResult(f"There is no tool {name}. Your tools: {known}.", succeeded=False)
            was_allowed = False
        elif not was_allowed:
            result = ToolResult(refusal(name, plan), succeeded=False)
        elif each.arguments is None:
            result = ToolResult(each.fault or "The arguments cannot be read.", succeeded=False)
        else:
            args = _prefilled(each.tool, each.arguments, plan.prefilled.get(name))
            context = ToolContext(run.actor, state.agent, blocks, state.conversation_id)
            started = time.perf_counter_ns()
            result = await doors.execute(each.tool, args, context)
            ran_ns = (ran_ns or 0) + time.perf_counter_ns() - started
            for edit in result.edits:
                blocks = apply_edit(blocks, edit)
            edits += result.edits
        step_call = StepCall(
            name,
            succeeded=result.succeeded,
            was_allowed=was_allowed,
            requested_heartbeat=each.requested_heartbeat,
        )
        outcomes.append(Outcome(each.call, result, step_call, each.tool.id if each.tool else None))
    return Acted(tuple(outcomes), tuple(edits), blocks, ran_ns)


def records_of(acted: Acted) -> list[CallRecord]:
    """The calls that were run, as the tool rules count them."""
    return [
        CallRecord(outcome.call.name, outcome.result.text)
        for outcome in acted.outcomes
        if outcome.step_call.was_allowed
    ]


def _prefilled(tool: Tool, args: JsonObject, fixed: JsonObject | None) -> JsonObject:
    if not fixed:
        return args
    fault = check_prefill(fixed, parameters_of(tool))
    if fault is not None:
        raise InvalidPrefill(f"The tool rules fix arguments of {tool.name} that it cannot take: {fault}.")
    return args | fixed
