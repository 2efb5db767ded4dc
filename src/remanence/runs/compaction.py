"""Keeps what a run sends to its model within the window: before a call, after a step, and when asked to."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.core.agent import AgentState, CompactionSettings
from remanence.core.budget import (
    Budget,
    budget_of,
    count_exactly,
    frame_tokens,
    largest_part,
    request_tokens,
    tokens_of,
    tools_tokens,
)
from remanence.core.compaction import CompactionPlan, CompactionStats, Fullness, Trigger, plan_compaction
from remanence.core.context import is_compiled, tool_specs
from remanence.core.event import CompactionStarted, Event, RunFinished, RunUsage, StepSaved
from remanence.core.llm import InContext, LLMConfig, ModelRequest, ToolSpec, Usage
from remanence.core.message import Message, text_parts
from remanence.core.packing import is_pressure_alert, pack_summary, unpack_summary
from remanence.core.run import Step as StepOfRecord
from remanence.core.tokenizer import tokenizer_of
from remanence.errors import ContextOverflow
from remanence.kit.clock import later_than
from remanence.kit.ids import StepId, new_message_id
from remanence.kit.tasks import unbroken
from remanence.runs.folding import fold
from remanence.runs.plan import CompactionRecord, Ending, LoopDoors, RunPlan, StaleWindow
from remanence.runs.step import Step
from remanence.runs.summarising import SummaryTask, write_summary

if TYPE_CHECKING:
    from remanence.runs.turn import Turn

_MAX_ROUNDS = 4
"""Of making room for one call; each takes at least one message out of the window."""
_NEAR = 0.8
"""Of the window: from here on an estimate is not good enough, and tokens are counted."""
_OVERFLOWN = 1.1


@dataclass(slots=True)
class Compaction:
    """One going-over of a window. Told in events; what came of it is here afterwards."""

    run: RunPlan
    doors: LoopDoors
    state: AgentState
    trigger: Trigger
    settings: CompactionSettings
    config: LLMConfig
    tools: Sequence[ToolSpec]
    step_id: StepId
    tokens_before: int
    """Of the request: window, tools, and what is just being said."""
    other_tokens: int
    """Of all in it that is not the window."""
    is_answering: bool
    ratio: float
    """The provider's tokens by our estimate."""
    paid_by: StepId | None = None
    ending: Ending | None = None
    summary: Message | None = None
    stats: CompactionStats | None = None
    """None as long as nothing has changed."""
    usage: Usage = field(default_factory=Usage)

    async def events(self) -> AsyncIterator[Event]:
        """Raises StaleWindow and LeaseLost; then the window is as it was."""
        plan = self._plan()
        if plan is None:
            return
        window = [self.state.window[place] for place in plan.kept]
        at = later_than(self.state.last_message_at)
        if plan.summary_tokens:
            yield CompactionStarted(
                self.run.run.id,
                self.step_id,
                at,
                self.trigger,
                self.tokens_before,
                self.config.context_window,
            )
            text = await self._summarise(plan)
            self.stats = self._stats(window, text)
            self.summary = self._message(text, later_than(at), self.stats)
            head = 1 if window and window[0].message.role == "system" else 0
            window.insert(head, InContext(self.summary))
        else:
            self.stats = self._stats(window, "")
        record = CompactionRecord(
            tuple(window),
            self.summary,
            step=self._step() if self.trigger == "requested" else None,
            paid_by=self.paid_by,
            usage=self.usage,
            ending=self.ending,
        )
        try:
            saving = self.doors.compact(self.run, self.state, record)
            self.state, was_cancelled = await unbroken(saving)
        except StaleWindow:
            self.stats = None
            raise
        if self.summary is not None:
            yield StepSaved(self.step_id, (self.summary,))
        if was_cancelled:
            raise asyncio.CancelledError

    def _plan(self) -> CompactionPlan | None:
        budget = self._budget
        fullness = Fullness(
            [self._size(each) for each in self.state.window], self.other_tokens, budget.window, budget.full
        )
        plan = plan_compaction(
            [each.message for each in self.state.window],
            fullness,
            mode=self.settings.mode,
            share=self.settings.sliding_window_percentage,
            is_answering=self.is_answering,
            is_asked_for=self.trigger == "requested",
        )
        if plan is None:
            return None
        # With room again, the warning that there is little has done its work.
        stale = {place for place in plan.kept if is_pressure_alert(self.state.window[place].message.text)}
        kept = tuple(place for place in plan.kept if place not in stale)
        return replace(plan, kept=kept, evicted=tuple(sorted({*plan.evicted, *stale})))

    async def _summarise(self, plan: CompactionPlan) -> str:
        task = SummaryTask(
            self.state,
            seen=self.state.window[: plan.evicted[-1] + 1],
            leaving=[self.state.window[place].message for place in plan.evicted],
            tools=self.tools,
            config=self.config,
            settings=self.settings,
            most_tokens=int(plan.summary_tokens / self.ratio),
        )
        written = await write_summary(task, self.doors)
        self.usage = self.usage.plus(written.usage)
        return written.text

    def _stats(self, kept: Sequence[InContext], summary: str) -> CompactionStats:
        tokens = self.other_tokens + sum(map(self._size, kept))
        if summary:
            draft = InContext(self._message(summary, later_than(None), None))
            tokens += self._size(draft)
        return CompactionStats(
            self.trigger,
            context_tokens_before=self.tokens_before,
            context_tokens_after=tokens,
            context_window=self.config.context_window,
            messages_count_before=len(self.state.window),
            messages_count_after=len(kept) + (1 if summary else 0),
        )

    def _message(self, text: str, at: datetime, stats: CompactionStats | None) -> Message:
        packed = pack_summary(
            text, at=at, timezone=self.state.agent.timezone, stats=stats.fields() if stats else None
        )
        return Message(
            id=new_message_id(),
            agent_id=self.state.agent.id,
            role="summary",
            content=text_parts(packed),
            created_at=at,
            conversation_id=self.state.conversation_id,
            run_id=self.run.run.id,
            step_id=self.step_id,
        )

    def _step(self) -> StepOfRecord:
        config = self.config
        return StepOfRecord(
            id=self.step_id,
            organization_id=self.run.run.organization_id,
            run_id=self.run.run.id,
            agent_id=self.state.agent.id,
            created_at=later_than(None),
            provider_name=config.provider_name or config.model_endpoint_type,
            model=config.model,
            model_handle=config.handle,
            context_window_limit=config.context_window,
            project_id=self.state.agent.project_id,
            usage=self.usage,
            stop_reason="end_turn",
        )

    def _size(self, each: InContext) -> int:
        return int(tokens_of(each) * self.ratio)

    @property
    def _budget(self) -> Budget:
        return budget_of(self.config, self.settings, self.doors.limits)


def settings_of(state: AgentState) -> CompactionSettings:
    return state.agent.compaction_settings or CompactionSettings()


def budget_for(state: AgentState, config: LLMConfig, doors: LoopDoors) -> Budget:
    return budget_of(config, settings_of(state), doors.limits)


def tokens_in(turn: "Turn", request: ModelRequest) -> int:
    return int(request_tokens(request) * turn.ratio(request))


async def make_room(turn: "Turn", step: Step) -> AsyncIterator[Event]:
    """Before a call: relieves the window if the request would not fit.

    Raises ContextOverflow where there is nothing left to do without, naming what takes most.
    """
    for _ in range(_MAX_ROUNDS):
        tokens = await _measured(turn, step)
        budget = budget_for(turn.state, step.request.config, turn.doors)
        if tokens <= budget.window:
            return
        if _least_tokens(turn, step) > budget.window:
            if is_compiled(turn.state):
                break
            await fold(turn)
            turn.recompile(step)
            continue
        is_answering = not any(message.role == "user" for message in turn.inputs)
        compaction = _compaction(turn, step, "context_window_exceeded", tokens, is_answering=is_answering)
        try:
            async for event in compaction.events():
                yield event
        except StaleWindow:
            turn.state = await turn.doors.reload(turn.run, turn.state)
            turn.recompile(step)
            continue
        if compaction.stats is None:
            break
        turn.state = compaction.state
        step.spent = step.spent.plus(compaction.usage)
        turn.usage = turn.usage.plus_summary(
            compaction.usage, context_tokens=compaction.stats.context_tokens_after
        )
        turn.recompile(step)
    else:
        tokens = await _measured(turn, step)
    if tokens > step.request.config.context_window:
        raise _too_large(turn, step, tokens)


async def relieve(turn: "Turn", step: Step) -> AsyncIterator[Event]:
    """After a step that left the window full. A run that was to end with it ends with this."""
    compaction = _compaction(
        turn,
        step,
        "post_step_context_check",
        step.context_tokens,
        is_answering=turn.stop_reason is None,
    )
    compaction.paid_by = step.id
    compaction.ending = turn.ending()
    try:
        async for event in compaction.events():
            yield event
    except StaleWindow:
        turn.state = await turn.doors.reload(turn.run, turn.state)
    if compaction.stats is not None:
        turn.state = compaction.state
        turn.usage = turn.usage.plus_summary(
            compaction.usage, context_tokens=compaction.stats.context_tokens_after
        )
        turn.is_held = False


async def note_overflow(turn: "Turn", step: Step) -> None:
    """The provider says that it was too much: so much it must have been."""
    await asyncio.to_thread(count_exactly, step.request)
    counted = request_tokens(step.request)
    least = step.request.config.context_window * _OVERFLOWN / max(counted, 1)
    turn.overflown = max(turn.overflown, least)


@dataclass(frozen=True, slots=True)
class Compacted:
    """The answer to whoever asked for it."""

    summary: str
    messages_before: int
    messages_after: int


async def compact_now(
    run: RunPlan,
    doors: LoopDoors,
    settings: CompactionSettings | None,
    done: list[Compacted],
) -> AsyncIterator[Event]:
    """A run that does nothing else; what came of it is put into `done`."""
    began_ns = time.perf_counter_ns()
    state = await doors.load(run)
    config = run.override_config or state.agent.llm_config
    ratio = state.token_ratio or tokenizer_of(config).margin
    before = len(state.window)
    thinks = bool(config.put_inner_thoughts_in_kwargs)
    tools = tool_specs(state, [tool.name for tool in state.tools], thinks_in_arguments=thinks)
    other = int(tools_tokens(tools) * ratio)
    compaction = Compaction(
        run,
        doors,
        state,
        "requested",
        settings or settings_of(state),
        config,
        tools,
        run.first_step_id,
        tokens_before=other + int(sum(map(tokens_of, state.window)) * ratio),
        other_tokens=other,
        is_answering=False,
        ratio=ratio,
    )
    compaction.ending = Ending("end_turn", None, time.perf_counter_ns() - began_ns, ())
    async for event in compaction.events():
        yield event
    if compaction.stats is None:
        await doors.close(run, "end_turn", None, time.perf_counter_ns() - began_ns)
    summaries = [each.message for each in compaction.state.window if each.message.role == "summary"]
    text = unpack_summary(summaries[0].text)[0] if summaries else ""
    done.append(Compacted(text, before, len(compaction.state.window)))
    yield RunFinished("end_turn", RunUsage().plus(compaction.usage, tracks_context=False))


def _compaction(turn: "Turn", step: Step, trigger: Trigger, tokens: int, *, is_answering: bool) -> Compaction:
    state = turn.state
    said = sum(tokens_of(InContext(message)) for message in turn.unsaved)
    ratio = turn.ratio(step.request)
    return Compaction(
        turn.run,
        turn.doors,
        state,
        trigger,
        settings_of(state),
        step.request.config,
        step.request.tools,
        step.id,
        tokens_before=tokens,
        other_tokens=int((frame_tokens(step.request) + said) * ratio),
        is_answering=is_answering,
        ratio=ratio,
    )


def _least_tokens(turn: "Turn", step: Step) -> int:
    """What a request takes that has no history."""
    head = [each for each in step.request.messages[:1] if each.message.role == "system"]
    said = map(InContext, turn.unsaved)
    tokens = frame_tokens(step.request) + sum(map(tokens_of, (*head, *said)))
    return int(tokens * turn.usual_ratio(step.request))


async def _measured(turn: "Turn", step: Step) -> int:
    tokens = tokens_in(turn, step.request)
    budget = budget_for(turn.state, step.request.config, turn.doors)
    if tokens > budget.window * _NEAR:
        await asyncio.to_thread(count_exactly, step.request)
        tokens = tokens_in(turn, step.request)
    return tokens


def _too_large(turn: "Turn", step: Step, tokens: int) -> ContextOverflow:
    kept = [each.message for each in turn.state.window if each.message.role != "system"]
    part = largest_part(turn.state, step.request, [*turn.unsaved, *kept])
    window = step.request.config.context_window
    return ContextOverflow(
        f"The prompt takes about {tokens} tokens even with no history to leave out, and the window of "
        f"{step.request.config.model} is {window}. Most of it is {part.name}, with {part.tokens} tokens: "
        "make it shorter, or choose a larger window."
    )
