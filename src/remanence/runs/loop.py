"""What an agent does when it is spoken to: think, act, save, and again until the turn is over.

Ordinary code that yields events. It touches the world through `LoopDoors` alone, holds no
transaction while it waits, and announces nothing as saved before it is.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.core.agent import AgentState, StopReason
from remanence.core.context import allows_in_parallel, compile_request
from remanence.core.event import Event, RunFinished, RunUsage, StepSaved, Streamed
from remanence.core.llm import InContext, ModelRequest
from remanence.core.message import Message, ToolReturn, text_parts
from remanence.core.packing import pack_heartbeat, pack_tool_return
from remanence.core.profile import ReplyStyle, profile_of
from remanence.core.reply import Reply, ReplyBuilder, keep_first_call
from remanence.core.rules import CallRecord, Continue, Stop, decide_next, plan_step
from remanence.core.run import Step
from remanence.errors import (
    AppError,
    BadReply,
    ContextOverflow,
    EmptyReply,
    ProviderCredits,
    ProviderError,
)
from remanence.kit.clock import later_than
from remanence.kit.ids import MessageId, StepId, new_message_id, new_step_id
from remanence.runs.acting import (
    Acted,
    InvalidPrefill,
    ReadCall,
    act,
    read_calls,
    records_of,
    stored_calls,
    with_thoughts,
)
from remanence.runs.plan import LoopDoors, RunPlan, StepRecord


@dataclass(slots=True)
class _Turn:
    """What the steps of one run hand on to each other."""

    usage: RunUsage = field(default_factory=RunUsage)
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    tools_used: dict[str, None] = field(default_factory=dict[str, None])
    unsaved: tuple[Message, ...] = ()
    """The run's inputs, until the first step is saved."""
    is_reminded: bool = False
    ttft_ns: int | None = None


@dataclass(slots=True)
class _StepClock:
    id: StepId
    message_id: MessageId
    at: datetime
    started_ns: int
    llm_ns: int = 0


async def run_agent(run: RunPlan, doors: LoopDoors) -> AsyncIterator[Event]:
    began_ns = time.perf_counter_ns()
    turn = _Turn(unsaved=run.inputs)
    state = await doors.load(run)
    if state.agent.message_buffer_autoclear:
        state = replace(state, window=state.window[:1])
    profile = profile_of(state.agent.agent_type)
    for index in range(run.max_steps):
        clock = _start_step(run, state, turn, index)
        names = [tool.name for tool in state.tools]
        plan = plan_step(
            state.agent.tool_rules, turn.calls, names, reply=profile.reply, is_reminded=turn.is_reminded
        )
        request = compile_request(
            state,
            plan,
            unsaved=[InContext(message) for message in turn.unsaved],
            override_config=run.override_config,
            override_system=run.override_system,
        )
        builder = ReplyBuilder()
        try:
            async for deltas in doors.stream(request):
                if turn.ttft_ns is None:
                    turn.ttft_ns = time.perf_counter_ns() - began_ns
                builder.add(deltas)
                yield Streamed(clock.id, clock.message_id, clock.at, deltas)
            reply = builder.build()
            if reply.is_empty:
                raise EmptyReply(
                    "The model answered with neither text nor a tool call; send the message again."
                )
            clock.llm_ns = time.perf_counter_ns() - clock.started_ns
            if not allows_in_parallel(state) or profile.reply == "heartbeat":
                reply = keep_first_call(reply)
            calls = read_calls(reply, {tool.name: tool for tool in state.tools}, profile.reply)
            acted = await act(run, state, plan, calls, doors)
        except (ProviderError, InvalidPrefill) as problem:
            error, reason = _explain(problem)
            await doors.fail(
                run, _failed_step(run, state, clock, request, reason, error), reason, error, turn.usage
            )
            yield RunFinished(reason, turn.usage, error)
            return

        turn.calls += records_of(acted)
        turn.tools_used |= {outcome.tool_id: None for outcome in acted.outcomes if outcome.tool_id}
        turn.usage = turn.usage.plus(reply.usage, tracks_context=profile.reply == "native")
        verdict = decide_next(
            state.agent.tool_rules,
            turn.calls,
            reply=profile.reply,
            calls=[outcome.step_call for outcome in acted.outcomes],
            tool_names=names,
            is_last_step=index == run.max_steps - 1,
            finish=reply.finish,
        )
        stop_reason = verdict.reason if isinstance(verdict, Stop) else None
        messages = _messages(run, state, clock, reply, calls, acted, verdict, profile.reply)
        record = StepRecord(
            step=_step(run, state, clock, request, reply, acted, stop_reason),
            inputs=turn.unsaved,
            messages=messages,
            edits=acted.edits,
            tools_used=tuple(turn.tools_used),
            stop_reason=stop_reason,
            ttft_ns=turn.ttft_ns,
            duration_ns=time.perf_counter_ns() - began_ns,
            replaces_window=state.agent.message_buffer_autoclear and index == 0,
        )
        state = await doors.checkpoint(run, state, record)
        turn.unsaved = ()
        turn.is_reminded = isinstance(verdict, Continue) and verdict.reason is not None and not calls
        yield StepSaved(clock.id, messages)
        if stop_reason is not None:
            yield RunFinished(stop_reason, turn.usage)
            return


def _start_step(run: RunPlan, state: AgentState, turn: _Turn, index: int) -> _StepClock:
    last = turn.unsaved[-1].created_at if turn.unsaved else state.last_message_at
    step_id = run.first_step_id if index == 0 else new_step_id()
    return _StepClock(step_id, new_message_id(), later_than(last), time.perf_counter_ns())


def _messages(
    run: RunPlan,
    state: AgentState,
    clock: _StepClock,
    reply: Reply,
    calls: tuple[ReadCall, ...],
    acted: Acted,
    verdict: Continue | Stop,
    style: ReplyStyle,
) -> tuple[Message, ...]:
    """The model's message, the returns of its calls, and a notice if it must be told why it goes on."""
    zone = state.agent.timezone
    shown = with_thoughts(reply, calls) if style == "heartbeat" else reply
    config = run.override_config or state.agent.llm_config

    def message(role: str, at: datetime, **fields: object) -> Message:
        return Message.model_validate(
            {
                "id": new_message_id(),
                "agent_id": state.agent.id,
                "role": role,
                "created_at": at,
                "conversation_id": state.conversation_id,
                "run_id": run.run.id,
                "step_id": clock.id,
                **fields,
            }
        )

    said = message(
        "assistant",
        clock.at,
        id=clock.message_id,
        content=shown.content,
        tool_calls=stored_calls(calls, style, goes_on=isinstance(verdict, Continue)),
        model=config.model,
    )
    messages = [said]
    if acted.outcomes:
        at = later_than(clock.at)
        returns = tuple(
            ToolReturn(
                tool_call_id=outcome.call.id,
                name=outcome.call.name,
                status="success" if outcome.result.succeeded else "error",
                content=pack_tool_return(
                    outcome.result.text,
                    status="success" if outcome.result.succeeded else "error",
                    at=at,
                    timezone=zone,
                ),
                stdout=outcome.result.stdout,
                stderr=outcome.result.stderr,
            )
            for outcome in acted.outcomes
        )
        messages.append(message("tool", at, tool_returns=returns))
    if isinstance(verdict, Continue) and verdict.reason is not None:
        at = later_than(messages[-1].created_at)
        notice = pack_heartbeat(verdict.reason, at=at, timezone=zone)
        messages.append(message("user", at, content=text_parts(notice)))
    return tuple(messages)


def _step(
    run: RunPlan,
    state: AgentState,
    clock: _StepClock,
    request: ModelRequest,
    reply: Reply,
    acted: Acted,
    stop_reason: StopReason | None,
) -> Step:
    return _bare_step(run, state, clock, request).model_copy(
        update={
            "stop_reason": stop_reason,
            "usage": reply.usage,
            "request_id": reply.request_id,
            "llm_request_ns": clock.llm_ns,
            "tool_execution_ns": acted.ran_ns,
        }
    )


def _failed_step(
    run: RunPlan,
    state: AgentState,
    clock: _StepClock,
    request: ModelRequest,
    reason: StopReason,
    error: AppError,
) -> Step:
    return _bare_step(run, state, clock, request).model_copy(
        update={
            "status": "failed",
            "stop_reason": reason,
            "error_type": type(error).__name__,
            "error_data": {"code": error.code, "message": error.message},
        }
    )


def _bare_step(run: RunPlan, state: AgentState, clock: _StepClock, request: ModelRequest) -> Step:
    config = request.config
    return Step(
        id=clock.id,
        organization_id=run.run.organization_id,
        run_id=run.run.id,
        agent_id=state.agent.id,
        created_at=clock.at,
        provider_name=config.provider_name or config.model_endpoint_type,
        provider_category=config.provider_category,
        model=config.model,
        model_handle=config.handle,
        model_endpoint=config.model_endpoint,
        context_window_limit=config.context_window,
        project_id=state.agent.project_id,
        step_ns=time.perf_counter_ns() - clock.started_ns,
    )


def _explain(problem: ProviderError | InvalidPrefill) -> tuple[AppError, StopReason]:
    match problem:
        case InvalidPrefill():
            return AppError(str(problem)), "invalid_tool_call"
        case ContextOverflow():
            return problem, "context_window_overflow_in_system_prompt"
        case ProviderCredits():
            return problem, "insufficient_credits"
        case BadReply():
            return problem, "invalid_llm_response"
        case _:
            return problem, "llm_api_error"
