"""The second half of a step: the model has answered, now its calls are run."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from remanence.core.agent import AgentState
from remanence.core.arguments import BadArguments, parse_arguments
from remanence.core.block import Block, MemoryEdit, apply_edit
from remanence.core.context import parameters_of
from remanence.core.heartbeat import REQUEST_HEARTBEAT, take_heartbeat_arguments
from remanence.core.message import ReasoningPart, TextPart, ToolCall
from remanence.core.open_files import AgentFile, apply_file_edit
from remanence.core.profile import ReplyStyle
from remanence.core.reply import Reply
from remanence.core.rules import CallRecord, StepCall, StepPlan, check_prefill, needs_approval, refusal
from remanence.core.tool import Tool, ToolRule
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.runs.diary import Diary
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


@dataclass(slots=True)
class Acted:
    """How far the calls of a step have come; filled as they are run."""

    blocks: tuple[Block, ...]
    seen: tuple[Block, ...] | None = None
    """What the model knew of the blocks, where somebody else has written to them since."""
    files: tuple[AgentFile, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    edits: list[MemoryEdit] = field(default_factory=list[MemoryEdit])
    ran_ns: int | None = None
    has_bad_rule: bool = False
    """A tool rule fixed arguments that its tool does not take."""

    @property
    def settled(self) -> dict[str, ToolResult]:
        """Results that stand whatever happens to memory: those that edited none of it."""
        return {each.call.id: each.result for each in self.outcomes if not each.result.edits}


def read_calls(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool], style: ReplyStyle, *, is_cut: bool
) -> tuple[ReadCall, ...]:
    return tuple(_read(call, tools.get(call.name), style, is_cut) for call in calls)


def _read(call: ToolCall, tool: Tool | None, style: ReplyStyle, is_cut: bool) -> ReadCall:
    try:
        args = parse_arguments(call.arguments, is_cut=is_cut)
    except BadArguments as error:
        return ReadCall(call, tool, None, str(error))
    if style == "native":
        return ReadCall(call, tool, args, None)
    taken = take_heartbeat_arguments(args, parameters_of(tool) if tool else {})
    return ReadCall(call, tool, taken.arguments, None, taken.thinking, taken.requested_heartbeat)


def with_gates(
    calls: Sequence[ReadCall], plan: StepPlan, rules: Sequence[ToolRule], client_names: Collection[str]
) -> tuple[ReadCall, ...]:
    """Marks the calls that somebody else must answer; a call that would be refused anyway is not one."""

    def mark(each: ReadCall) -> ReadCall:
        name = each.call.name
        if name not in plan.allowed or each.arguments is None:
            return each
        if name in client_names:
            return replace(each, call=each.call.model_copy(update={"gate": "client"}))
        if each.tool is not None and needs_approval(rules, name):
            args, fault = prefilled(each.tool, each.arguments, plan.prefilled.get(name))
            changes: JsonObject = {"gate": "approval"}
            if fault is None and args != each.arguments:  # people see, and allow, what will be run
                changes["arguments"] = json.readable(args)
            return replace(each, call=each.call.model_copy(update=changes), arguments=args)
        return each

    return tuple(map(mark, calls))


def with_thoughts(reply: Reply, calls: Sequence[ReadCall]) -> Reply:
    """A heartbeat agent's reply: its text and its `thinking` arguments are thoughts, not speech."""
    parts = [
        ReasoningPart(is_native=False, reasoning=part.text) if isinstance(part, TextPart) else part
        for part in reply.content
    ]
    parts += [ReasoningPart(is_native=False, reasoning=each.thinking) for each in calls if each.thinking]
    return replace(reply, content=tuple(parts))


def stored_calls(
    calls: Sequence[ReadCall], style: ReplyStyle, *, goes_on: bool | None
) -> tuple[ToolCall, ...]:
    """As called; a heartbeat agent's without the thought, and with the decision that was taken.

    Where nothing is decided yet (`None`), the model's own wish stands.
    """
    if style == "native":
        return tuple(each.call for each in calls)
    return tuple(each.call if each.arguments is None else _decided(each, goes_on) for each in calls)


def _decided(each: ReadCall, goes_on: bool | None) -> ToolCall:
    wish = each.requested_heartbeat if goes_on is None else goes_on
    arguments = json.readable({**(each.arguments or {}), REQUEST_HEARTBEAT: wish})
    return each.call.model_copy(update={"arguments": arguments})


async def act(
    run: RunPlan,
    state: AgentState,
    plan: StepPlan,
    calls: Sequence[ReadCall],
    doors: LoopDoors,
    acted: Acted,
    settled: Mapping[str, ToolResult],
    diary: Diary,
) -> None:
    """Runs the calls into `acted`, with their results in the order of the calls.

    Those that may run at once start together; the others follow each other, and each sees the memory
    as the one before left it. Calls whose result is known already (`settled`) are not run.
    """

    senders = tuple((run.run.metadata or {}).get("senders") or ())

    async def execute(each: _Ready) -> ToolResult:
        context = ToolContext(
            run.actor,
            state.agent,
            acted.blocks,
            state.conversation_id,
            acted.seen,
            senders,
            run.run.group_id,
            acted.files,
            _told(run, state) if each.tool.tool_type == "letta_voice_sleeptime_core" else "",
        )
        return await doors.execute(each.tool, each.arguments, context)

    async def note_start(*starting: _Ready) -> None:
        done = [(outcome.call.id, outcome.call.name, outcome.result) for outcome in acted.outcomes]
        await diary.note_start([(each.read.call.id, each.tool) for each in starting], done)

    prepared = [_prepare(each, plan, state, acted, settled) for each in calls]
    ready = [each for each in prepared if isinstance(each, _Ready)]
    at_once = [each for each in ready if each.tool.enable_parallel_execution and not each.tool.edits_memory]
    began = time.perf_counter_ns()
    tasks: dict[str, asyncio.Task[ToolResult]] = {}
    try:
        if len(at_once) > 1:
            await note_start(*at_once)
            tasks = {each.read.call.id: asyncio.create_task(execute(each)) for each in at_once}
        for read, each in zip(calls, prepared, strict=True):
            if isinstance(each, ToolResult):
                result = each
            elif read.call.id in tasks:
                result = await tasks[read.call.id]
            else:
                await note_start(each)
                result = await execute(each)
            note_outcome(acted, read, result, was_allowed=read.call.name in plan.allowed)
    except BaseException:
        await _put_down(tasks, calls, acted)
        raise
    finally:
        if ready:
            acted.ran_ns = time.perf_counter_ns() - began


def _told(run: RunPlan, state: AgentState) -> str:
    """What was said to the agent in this run; in one that was taken over it is in the window only."""
    heard = [each.message for each in state.window if each.message.run_id == run.run.id]
    said = {message.id: message.text for message in (*heard, *run.inputs) if message.role == "user"}
    return "\n".join(said.values())


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that is to be run."""

    read: ReadCall
    tool: Tool
    arguments: JsonObject


def _prepare(
    each: ReadCall, plan: StepPlan, state: AgentState, acted: Acted, settled: Mapping[str, ToolResult]
) -> _Ready | ToolResult:
    result = settled.get(each.call.id) or _refused(each, plan, state, each.call.name in plan.allowed)
    if result is not None:
        return result
    assert each.tool is not None, "a call without a tool is refused or settled"
    args, fault = prefilled(each.tool, each.arguments or {}, plan.prefilled.get(each.call.name))
    if fault is not None:
        acted.has_bad_rule = True
        return ToolResult(fault, succeeded=False)
    return _Ready(each, each.tool, args)


async def _put_down(
    tasks: Mapping[str, "asyncio.Task[ToolResult]"], calls: Sequence[ReadCall], acted: Acted
) -> None:
    """Stops the calls that are still at work, and keeps the results of those that are done."""
    working = [task for task in tasks.values() if not task.done()]
    for task in working:
        task.cancel()
    if working:
        await asyncio.wait(working)
    known = {outcome.call.id for outcome in acted.outcomes}
    for each in calls:
        task = tasks.get(each.call.id)
        is_whole = task is not None and not task.cancelled() and task.exception() is None
        if task is not None and is_whole and each.call.id not in known:
            note_outcome(acted, each, task.result(), was_allowed=True)


def note_outcome(acted: Acted, each: ReadCall, result: ToolResult, *, was_allowed: bool) -> None:
    for edit in result.edits:
        acted.blocks = apply_edit(acted.blocks, edit)
        acted.files = apply_file_edit(acted.files, edit)
        acted.edits.append(edit.model_copy(update={"tool": each.call.name, "call_id": each.call.id}))
    if acted.seen is not None:
        for edit in result.unmerged or result.edits:
            acted.seen = apply_edit(acted.seen, edit)
    step_call = StepCall(
        each.call.name,
        succeeded=result.succeeded,
        was_allowed=was_allowed,
        requested_heartbeat=each.requested_heartbeat,
    )
    acted.outcomes.append(Outcome(each.call, result, step_call, each.tool.id if each.tool else None))


def note_rest(acted: Acted, calls: Sequence[ReadCall], result: ToolResult) -> None:
    """Gives the calls that have no outcome yet this one."""
    known = {outcome.call.id for outcome in acted.outcomes}
    for each in calls:
        if each.call.id not in known:
            note_outcome(acted, each, result, was_allowed=True)
    places = {each.call.id: place for place, each in enumerate(calls)}
    acted.outcomes.sort(key=lambda outcome: places[outcome.call.id])


def records_of(acted: Acted) -> list[CallRecord]:
    """The calls that were run, as the tool rules count them."""
    return [
        CallRecord(outcome.call.name, outcome.result.text)
        for outcome in acted.outcomes
        if outcome.step_call.was_allowed
    ]


def _refused(each: ReadCall, plan: StepPlan, state: AgentState, was_allowed: bool) -> ToolResult | None:
    if each.tool is None and not was_allowed:
        known = ", ".join(tool.name for tool in state.tools) or "none"
        return ToolResult(f"There is no tool {each.call.name}. Your tools: {known}.", succeeded=False)
    if not was_allowed:
        return ToolResult(refusal(each.call.name, plan), succeeded=False)
    if each.arguments is None:
        return ToolResult(each.fault or "The arguments cannot be read.", succeeded=False)
    return None


def prefilled(tool: Tool, args: JsonObject, fixed: JsonObject | None) -> tuple[JsonObject, str | None]:
    if not fixed:
        return args, None
    fault = check_prefill(fixed, parameters_of(tool))
    if fault is not None:
        return args, f"The tool rules fix arguments of {tool.name} that it cannot take: {fault}."
    return args | fixed, None
