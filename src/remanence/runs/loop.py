"""What an agent does when it is spoken to: think, act, save, and again until the turn is over.

Ordinary code that yields events. It touches the world through `LoopDoors` alone, holds no
transaction while it waits, and announces nothing as saved before it is.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from remanence.core.event import Event, RunFinished, Streamed
from remanence.core.message import pending_request
from remanence.errors import ApprovalPending, EmptyReply, ProviderError
from remanence.kit.tasks import swallow_cancel
from remanence.runs.plan import LoopDoors, RunPlan
from remanence.runs.turn import Turn


async def run_agent(run: RunPlan, doors: LoopDoors) -> AsyncIterator[Event]:
    """Raises AppError where the run cannot begin; every run that begins ends with `RunFinished`."""
    turn = Turn(run, doors, await doors.load(run))
    if run.journal is not None and run.journal.draft is not None:
        yield await turn.take_up(run.journal, run.journal.draft)
    elif run.answer is not None:
        saved = await turn.take_answer(run.answer)
        if saved is not None:
            yield saved
    else:
        request = pending_request([each.message for each in turn.state.window[-1:]])
        if request is not None and turn.has_expired(request):
            yield await turn.let_expire(request)
        elif request is not None:
            raise ApprovalPending(
                "The agent waits for an answer to its last request. Approve or deny it, send the tool's "
                "result, or cancel; then send this message again.",
                pending_request_id=request.id,
            )
    while turn.stop_reason is None:
        step = turn.start_step()
        try:
            async with aclosing(doors.stream(step.request)) as replies:
                async for deltas in replies:
                    counted = step.note(deltas)
                    yield Streamed(step.id, step.message_id, step.at, counted, step.gates)
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
    yield RunFinished(turn.stop_reason, turn.usage, turns=turn.turns)
