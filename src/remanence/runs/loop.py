"""What an agent does when it is spoken to: think, act, save, and again until the turn is over.

Ordinary code that yields events. It touches the world through `LoopDoors` alone, holds no
transaction while it waits, and announces nothing as saved before it is.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from remanence.core.event import Event, RunFinished, StepSaved, Streamed
from remanence.core.message import pending_request
from remanence.errors import ApprovalPending, ContextOverflow, EmptyReply, ProviderError
from remanence.kit.tasks import swallow_cancel
from remanence.runs.compaction import make_room, note_overflow, relieve
from remanence.runs.folding import fold_memory
from remanence.runs.plan import LoopDoors, RunPlan
from remanence.runs.step import Step
from remanence.runs.turn import Turn

_MAX_OVERFLOWS = 3


async def run_agent(run: RunPlan, doors: LoopDoors) -> AsyncIterator[Event]:
    """Raises AppError where the run cannot begin; every run that begins ends with `RunFinished`."""
    turn = Turn(run, doors, await doors.load(run))
    saved = await _begin(turn)
    if saved is not None:
        yield saved
    while turn.stop_reason is None:
        await fold_memory(turn)
        step = turn.start_step()
        try:
            async for event in _ask(turn, step):
                yield event
            if step.builder.build().is_empty:
                raise EmptyReply(
                    "The model answered with neither text nor a tool call; send the message again."
                )
            saved = await turn.finish_step(step)
        except ProviderError as error:
            yield await turn.fail(step, error)
            return
        except asyncio.CancelledError:
            swallow_cancel()
            saved = await turn.cut_short(step)
        if saved is not None:
            yield saved
        if turn.is_full:
            async for event in _relieve(turn, step):
                yield event
    yield RunFinished(turn.stop_reason, turn.usage, turns=turn.turns)


async def _begin(turn: Turn) -> StepSaved | None:
    """What comes before the first question to the model: the end of what was begun earlier."""
    run = turn.run
    if turn.is_held:
        await turn.let_go()
        return None
    if run.journal is not None and run.journal.draft is not None:
        return await turn.take_up(run.journal, run.journal.draft)
    if run.answer is not None:
        return await turn.take_answer(run.answer)
    request = pending_request([each.message for each in turn.state.window[-1:]])
    if request is not None and turn.has_expired(request):
        return await turn.let_expire(request)
    if request is not None:
        raise ApprovalPending(
            "The agent waits for an answer to its last request. Approve or deny it, send the tool's "
            "result, or cancel; then send this message again.",
            pending_request_id=request.id,
        )
    return None


async def _relieve(turn: Turn, step: Step) -> AsyncIterator[Event]:
    try:
        async for event in relieve(turn, step):
            yield event
    except asyncio.CancelledError:
        swallow_cancel()
        await turn.give_up()
    await turn.let_go()


async def _ask(turn: Turn, step: Step) -> AsyncIterator[Event]:
    """The model's answer, piece by piece; where the provider finds the prompt too long, room is made for it."""
    overflows = 0
    while True:
        async for event in make_room(turn, step):
            yield event
        try:
            async with aclosing(turn.doors.stream(step.request)) as replies:
                async for deltas in replies:
                    counted = step.note(deltas)
                    yield Streamed(step.id, step.message_id, step.at, counted, step.gates)
            return
        except ContextOverflow:
            overflows += 1
            if overflows > _MAX_OVERFLOWS or step.first_token_ns is not None:
                raise
            await note_overflow(turn, step)
