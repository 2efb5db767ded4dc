"""One turn of an agent, step by step: what the steps hand on to each other, and how each is saved."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from remanence.core.agent import AgentState, StopReason
from remanence.core.approval import (
    CANCELLED,
    DENIED,
    EXPIRED,
    Answer,
    cut_result,
    gated,
    in_order,
    is_given_already,
    match_answer,
)
from remanence.core.block import Block
from remanence.core.budget import context_tokens, corrected_ratio, is_counted, request_tokens
from remanence.core.context import compile_request
from remanence.core.event import RunFinished, StepSaved, TurnTokens
from remanence.core.journal import NOT_RUN, Draft, Journal
from remanence.core.llm import FinishReason, InContext, LLMConfig, ModelRequest, Tape, Usage
from remanence.core.message import Approval, Message, ToolCall, ToolReturn, pending_request
from remanence.core.notes import knows_after, knows_all, knows_before
from remanence.core.packing import is_pressure_alert
from remanence.core.passage import PassageAdded
from remanence.core.profile import profile_of
from remanence.core.rules import CallRecord, Continue, StepPlan, Stop, decide_next, needs_approval, plan_step
from remanence.core.tokenizer import tokenizer_of
from remanence.errors import (
    BadArgument,
    ProviderError,
)
from remanence.kit.clock import later_than, utc_now
from remanence.kit.ids import id_before, new_step_id
from remanence.kit.tasks import swallow_cancel, unbroken
from remanence.runs.acting import (
    Acted,
    ReadCall,
    act,
    note_outcome,
    note_rest,
    read_calls,
    records_of,
    with_gates,
)
from remanence.runs.compaction import budget_for
from remanence.runs.diary import Diary, result_from, results_of
from remanence.runs.keeping import Keeper, reason_of, stamped_after
from remanence.runs.plan import Ending, LoopDoors, RunCancelled, RunPlan, StaleMemory, StepRecord
from remanence.runs.step import Step
from remanence.tools.executor import ToolResult

_MIN_CLIENT_CHARS = 5000


class Turn:
    def __init__(self, run: RunPlan, doors: LoopDoors, state: AgentState) -> None:
        self.run = self._run = run
        self.doors = self._doors = doors
        self._began_ns = time.perf_counter_ns()
        self._profile = profile_of(state.agent.agent_type)
        self._keeper = Keeper(run, self._profile.reply)
        self._calls: list[CallRecord] = list(run.earlier_calls)
        self._tools_used: dict[str, None] = {}
        self._unsaved = run.inputs
        self._notes: tuple[Message, ...] = ()
        self._is_reminded = False
        self._ttft_ns: int | None = None
        self._steps = run.earlier_steps
        self._forgets = state.agent.message_buffer_autoclear and run.answer is None
        """Whether the next save leaves only the system message before it."""
        self.state = replace(state, window=state.window[:1]) if self._forgets else state
        self._told = knows_before(state)
        """What the model knows of its memory and files."""
        self.usage = run.earlier_usage
        self.turns: list[TurnTokens] = []
        self.stop_reason: StopReason | None = run.ended
        self.is_held = run.ended is not None
        """The run goes on after its last step, because the window is full."""
        self.is_full = False
        self.overflown = 0.0
        """By what our estimate must be multiplied at least, since the provider found the prompt too long."""

    def ratio(self, request: ModelRequest) -> float:
        return max(self.usual_ratio(request), self.overflown)

    def usual_ratio(self, request: ModelRequest) -> float:
        """The provider's tokens by ours: as the model counts them, or as it counted this history last."""
        if is_counted(request):
            return self.doors.factors.of(request.config)
        return self.state.token_ratio or tokenizer_of(request.config).margin

    @property
    def inputs(self) -> tuple[Message, ...]:
        """What is said to the agent and is not in the window yet."""
        return self._unsaved

    @property
    def unsaved(self) -> tuple[Message, ...]:
        """The same with what it is told of its memory."""
        return (*self._notes, *self._unsaved)

    def start_step(self) -> Step:
        state = self.state
        client_names = {spec.name for spec in self._run.client_tools} if self._is_native else set[str]()
        names = [tool.name for tool in state.tools if tool.name not in client_names] + sorted(client_names)
        rules = state.agent.tool_rules
        plan = plan_step(rules, self._calls, names, reply=self._profile.reply, is_reminded=self._is_reminded)
        request = self._compile(plan)
        last = self.unsaved[-1].created_at if self.unsaved else state.last_message_at
        id = self._run.first_step_id if self._steps == 0 and self._unsaved else new_step_id()
        self._steps += 1
        gates = {name for name in names if needs_approval(rules, name)} | client_names
        return Step(id, later_than(last), plan, request, frozenset(gates))

    def recompile(self, step: Step) -> None:
        """The window has changed since the step was started, and nothing was asked yet."""
        step.request = self._compile(step.plan)

    def _compile(self, plan: StepPlan) -> ModelRequest:
        self._notes = self._keeper.memory_notes(self.state, self._unsaved)
        self._told = knows_all(self.state)
        request = compile_request(
            self.state,
            plan,
            unsaved=[InContext(message) for message in self.unsaved],
            client_tools=self._run.client_tools if self._is_native else (),
            override_config=self._run.override_config,
            override_system=self._run.override_system,
            skills=self._run.skills,
        )
        return replace(request, tape=Tape())

    async def finish_step(self, step: Step) -> StepSaved | None:
        """The model has answered: runs its calls and saves the step, or leaves them to be answered."""
        now = time.perf_counter_ns()
        step.llm_ns = now - step.started_ns
        if self._ttft_ns is None and step.first_token_ns is not None:
            self._ttft_ns = step.first_token_ns - self._began_ns
        reply = step.builder.build()
        step.reply = reply
        step.calls = self._read(reply.calls, step, is_cut=reply.finish == "length")
        self.usage = self.usage.plus(reply.usage, tracks_context=self._is_native)
        self._measure(step, reply.usage)
        if any(each.call.gate is not None for each in step.calls):
            return await self._ask(step)
        return await self._act_and_save(step, settled={})

    def _measure(self, step: Step, usage: Usage) -> None:
        estimated, config = request_tokens(step.request), step.request.config
        step.context_tokens = context_tokens(usage, estimated)
        if step.reply is not None and step.reply.answered_by is not None:
            return  # another model counted
        if is_counted(step.request):
            self.doors.factors.learn(config, reported=usage.prompt_tokens, counted=estimated)
            return
        ratio = corrected_ratio(config, reported=usage.prompt_tokens, estimated=estimated)
        if ratio is not None:
            self.state = replace(self.state, token_ratio=ratio)

    async def take_up(self, journal: Journal, draft: Draft) -> StepSaved:
        """Saves the step in which the process of this run died, from what its journal says.

        A call that may have had its effect is not made again; one that was not made yet is, unless the
        run is over.
        """
        step = self.start_step()
        step.id, step.message_id, step.at, step.reply = draft.step_id, draft.message_id, draft.at, draft.reply
        step.calls = self._read(draft.reply.calls, step, is_cut=draft.reply.finish == "length")
        self.usage = self.usage.plus(draft.reply.usage, tracks_context=self._is_native)
        settled = results_of(journal)
        if self._run.is_over:
            settled = {
                each.call.id: settled.get(each.call.id) or ToolResult(NOT_RUN, succeeded=False)
                for each in step.calls
            }
        return await self._act_and_save(step, settled)

    async def cut_short(self, step: Step) -> StepSaved | None:
        """The run was cancelled in the middle of a step: what was said is kept, and well-formed."""
        if step.reply is None:
            reply = replace(step.builder.build(), calls=())
            if reply.is_empty:
                await self._close("cancelled")
                return None
            step.reply, step.calls = reply, ()
        acted = step.acted or Acted(self.state.blocks)
        note_rest(acted, step.calls, ToolResult(CANCELLED, succeeded=False))
        try:
            return await self._save(step, acted, Stop("cancelled"))
        except StaleMemory as stale:  # a cancelled call is not made again: its edit is given up
            self.state = await self._doors.reload(self._run, self.state)
            acted = _without_edits(acted, step.calls, stale.refused, self.state.blocks)
            return await self._save(step, acted, Stop("cancelled"))

    async def fail(self, step: Step, error: ProviderError) -> RunFinished:
        reason = reason_of(error)
        record = self._keeper.failed_step(self.state, step, reason, error)
        await self._doors.fail(self._run, record, reason, error, step.request.tape)
        return RunFinished(reason, self.usage, error)

    async def take_answer(self, answer: Answer) -> StepSaved | None:
        """Gives the calls of the open request their results. Raises BadArgument if nothing fits."""
        window = [each.message for each in self.state.window]
        request = pending_request(window)
        if request is None:
            if is_given_already(window, answer):
                return None  # a retry: the answer is in the history, the agent goes on from there
            raise BadArgument("No request of this agent waits for an answer.")
        answers = match_answer(request, answer)
        tools = {tool.name: tool for tool in self.state.tools}
        calls = read_calls(request.tool_calls, tools, self._profile.reply, is_cut=False)
        settled = {
            call.id: result
            for call in request.tool_calls
            if (result := self._given_result(call, answers)) is not None
        }
        journal = self._run.journal or Journal(answer=answer)
        settled |= results_of(journal)
        diary = Diary(self._run, self._doors, journal, is_written=self._run.journal is not None)
        # A tool may have been taken from the agent while the request was open.
        runnable = tuple(call.name for call in request.tool_calls if call.name in tools or call.id in settled)
        plan = StepPlan(allowed=runnable, must_call=False)
        seen = self.state.blocks
        verdict: Continue | Stop = Continue()
        acted = Acted(self.state.blocks, seen, self.state.shelf.files)
        while True:
            try:
                if verdict != Stop("cancelled"):
                    await act(self._run, self.state, plan, calls, self._doors, acted, settled, diary)
                    verdict = self._decide(acted, finish="tool_calls")
            except asyncio.CancelledError:
                swallow_cancel()
                note_rest(acted, calls, ToolResult(CANCELLED, succeeded=False))
                verdict = Stop("cancelled")
            if self._unsaved and verdict != Stop("cancelled"):
                verdict = Continue()  # there is more to be said to the agent
            messages = self._keeper.answer_messages(
                self.state, request, in_order(answers), answer.otid, acted, verdict
            )
            try:
                await self._commit(None, (), messages, acted, verdict, strikes_journal=diary.is_written)
            except StaleMemory as stale:
                self.state = await self._doors.reload(self._run, self.state)
                if verdict == Stop("cancelled"):
                    acted = _without_edits(acted, calls, stale.refused, self.state.blocks)
                else:
                    settled |= {**acted.settled, **stale.refused}
                    acted = Acted(self.state.blocks, seen, self.state.shelf.files)
                continue
            assert request.step_id is not None
            return StepSaved(request.step_id, messages)

    def has_expired(self, request: Message) -> bool:
        limit_s = self._run.approval_expiry_s
        return limit_s is not None and (utc_now() - request.created_at).total_seconds() > limit_s

    async def let_expire(self, request: Message) -> StepSaved:
        """Closes a request that nobody answered in time: none of its calls is made."""
        calls = read_calls(request.tool_calls, {}, self._profile.reply, is_cut=False)
        acted = Acted(self.state.blocks)
        note_rest(acted, calls, ToolResult(EXPIRED, succeeded=False))
        denials = [
            Approval(tool_call_id=call.id, approve=False, reason=EXPIRED)
            for call in gated(request.tool_calls)
        ]
        messages = self._keeper.answer_messages(self.state, request, denials, None, acted, Continue())
        await self._commit(None, (), messages, acted, Continue())
        self._calls = list(self._run.earlier_calls)  # those were the calls of another turn
        assert request.step_id is not None
        return StepSaved(request.step_id, messages)

    def _given_result(
        self, call: ToolCall, answers: Mapping[str, Approval | ToolReturn]
    ) -> ToolResult | None:
        """What an answer says of a call; None if the call is to be run now."""
        answer = answers.get(call.id)
        if isinstance(answer, Approval):
            if answer.approve:
                return None
            return ToolResult(f"{DENIED} {answer.reason}" if answer.reason else DENIED, succeeded=False)
        if answer is None:
            return None
        limit = max(_MIN_CLIENT_CHARS, int(0.8 * self.state.agent.llm_config.context_window))
        return result_from(answer.model_copy(update={"content": cut_result(answer.content, limit)}))

    async def _ask(self, step: Step) -> StepSaved | None:
        """Leaves the calls of this step to whoever must answer them. Those that need nobody wait too."""
        assert step.reply is not None
        messages = self._keeper.request_messages(self.state, step, id_before(step.message_id))
        verdict = Stop("requires_approval")
        try:
            await self._commit(step, self._unsaved, messages, Acted(self.state.blocks), verdict)
        except RunCancelled:
            return await self.cut_short(step)
        return StepSaved(step.id, messages)

    async def _act_and_save(self, step: Step, settled: Mapping[str, ToolResult]) -> StepSaved:
        assert step.reply is not None
        journal = self._run.journal
        draft = Draft(step.id, step.message_id, step.at, step.reply)
        is_written = journal is not None and journal.draft is not None and journal.draft.step_id == step.id
        step.diary = Diary(
            self._run,
            self._doors,
            journal if journal is not None and is_written else Journal(draft),
            is_written=is_written,
        )
        seen = self.state.blocks
        while True:
            acted = step.acted = Acted(self.state.blocks, seen, self.state.shelf.files)
            await act(self._run, self.state, step.plan, step.calls, self._doors, acted, settled, step.diary)
            try:
                return await self._save(step, acted, self._decide(acted, finish=step.reply.finish))
            except StaleMemory as stale:
                settled = {**acted.settled, **stale.refused}
                self.state = await self._doors.reload(self._run, self.state)

    def _decide(self, acted: Acted, *, finish: FinishReason) -> Continue | Stop:
        if self._run.is_over:
            return Stop("error")
        if acted.has_bad_rule:
            return Stop("invalid_tool_call")
        return decide_next(
            self.state.agent.tool_rules,
            [*self._calls, *records_of(acted)],
            reply=self._profile.reply,
            calls=[outcome.step_call for outcome in acted.outcomes],
            tool_names=[tool.name for tool in self.state.tools],
            is_last_step=self._steps >= self._run.max_steps,
            finish=finish,
        )

    async def _save(self, step: Step, acted: Acted, verdict: Continue | Stop) -> StepSaved:
        budget = budget_for(self.state, step.request.config, self._doors)
        is_full = step.context_tokens > budget.full and verdict != Stop("cancelled")
        is_filling = not is_full and step.context_tokens > budget.warning and not self._is_warned()
        messages = self._keeper.step_messages(
            self.state, step, acted, verdict, warns_of=step.context_tokens if is_filling else None
        )
        strikes = step.diary is not None and step.diary.is_written
        await self._commit(
            step, self._unsaved, messages, acted, verdict, strikes_journal=strikes, is_full=is_full
        )
        return StepSaved(step.id, messages)

    def _is_warned(self) -> bool:
        return any(
            each.message.role == "user" and is_pressure_alert(each.message.text)
            for each in reversed(self.state.window)
        )

    async def _commit(
        self,
        step: Step | None,
        inputs: tuple[Message, ...],
        messages: tuple[Message, ...],
        acted: Acted,
        verdict: Continue | Stop,
        *,
        strikes_journal: bool = False,
        is_full: bool = False,
    ) -> None:
        """Raises StaleMemory, RunCancelled and LeaseLost; then nothing was saved or has changed here."""
        stop_reason = verdict.reason if isinstance(verdict, Stop) else None
        later = () if step is not None else stamped_after(self._unsaved, messages[-1].created_at)
        notes = self._notes if step is not None else ()
        is_told = bool(notes) or any(not isinstance(edit, PassageAdded) for edit in acted.edits)
        told = knows_after(self._told, acted.blocks, acted.edits) if is_told else None
        used = self._tools_used | {each.tool_id: None for each in acted.outcomes if each.tool_id}
        record = StepRecord(
            step=self._keeper.step_record(self.state, step, acted, stop_reason) if step else None,
            inputs=inputs,
            messages=messages,
            notes=notes,
            told=told,
            edits=tuple(acted.edits),
            tools_used=tuple(used),
            stop_reason=stop_reason,
            ttft_ns=self._ttft_ns,
            duration_ns=time.perf_counter_ns() - self._began_ns,
            replaces_window=self._forgets,
            postponed=later,
            tape=step.request.tape if step else None,
            strikes_journal=strikes_journal,
            makes_room=is_full,
        )
        if step is not None and step.reply is not None and _wants_tokens(step.request.config):
            self.turns.append(TurnTokens(messages[0].text, step.reply.tokens))
            self.turns += [TurnTokens(each.result.text, tool_name=each.call.name) for each in acted.outcomes]
        saved, was_cancelled = await unbroken(self._doors.checkpoint(self._run, self.state, record))
        self.state = saved.state
        self._notes = () if step is not None else self._notes
        self._told = told or self._told
        if saved.followed_by:
            self.usage = replace(self.usage, run_ids=saved.followed_by)
        self._forgets = False
        self._unsaved = later
        self._tools_used = used
        self._calls += records_of(acted)
        self._is_reminded = (
            isinstance(verdict, Continue) and verdict.reason is not None and not acted.outcomes
        )
        self.stop_reason = stop_reason
        self.is_full = is_full
        self.is_held = is_full and stop_reason is not None
        if was_cancelled and (stop_reason is None or self.is_held):
            await self._close(stop_reason or "cancelled")

    def ending(self) -> Ending | None:
        """How the run ends, once its last step is saved."""
        if self.stop_reason is None:
            return None
        spent = time.perf_counter_ns() - self._began_ns
        return Ending(self.stop_reason, self._ttft_ns, spent, tuple(self._tools_used))

    async def let_go(self) -> None:
        """Ends a run that was only held to make room."""
        if self.is_held and self.stop_reason is not None:
            await self._close(self.stop_reason)

    async def give_up(self) -> None:
        """The run was cancelled while it made room: its last step stands, and so does the window."""
        await self._close(self.stop_reason or "cancelled")

    async def _close(self, reason: StopReason) -> None:
        spent = time.perf_counter_ns() - self._began_ns
        await unbroken(self._doors.close(self._run, reason, None, spent))
        self.stop_reason = reason
        self.is_held = self.is_full = False

    def _read(self, calls: Sequence[ToolCall], step: Step, *, is_cut: bool) -> tuple[ReadCall, ...]:
        client_names = {spec.name for spec in self._run.client_tools} if self._is_native else set[str]()
        tools = {tool.name: tool for tool in self.state.tools if tool.name not in client_names}
        read = read_calls(calls, tools, self._profile.reply, is_cut=is_cut)
        return with_gates(read, step.plan, self.state.agent.tool_rules, client_names)

    @property
    def _is_native(self) -> bool:
        return self._profile.reply == "native"


def _without_edits(
    acted: Acted, calls: Sequence[ReadCall], refused: Mapping[str, ToolResult], blocks: tuple[Block, ...]
) -> Acted:
    """The same outcomes, but that calls which would have edited memory count as cancelled."""
    kept = {**acted.settled, **refused}
    rest = Acted(blocks, ran_ns=acted.ran_ns)
    for each in calls:
        result = kept.get(each.call.id) or ToolResult(CANCELLED, succeeded=False)
        note_outcome(rest, each, result, was_allowed=True)
    return rest


def _wants_tokens(config: LLMConfig) -> bool:
    return config.return_logprobs or config.return_token_ids
