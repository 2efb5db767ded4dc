"""A run that was started before, told again from what it stored."""

import asyncio

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.event import Event, RunFinished, RunUsage, StepSaved
from remanence.core.run import Run
from remanence.db.database import Database
from remanence.errors import AppError
from remanence.kit.ids import RunId
from remanence.messages import repository as messages
from remanence.runs import repository

_LOOK_S = 0.1


async def replay(db: Database, actor: Actor, run_id: RunId) -> list[Event]:
    """Its events in whole steps, once it is over."""
    while True:
        run = await db.read(repository.get_run, actor, run_id)
        if run.status not in ("created", "running"):
            return await db.read(_events, run)
        await asyncio.sleep(_LOOK_S)  # it may be at work in another process


def _events(connection: Connection, run: Run) -> list[Event]:
    events: list[Event] = [
        StepSaved(message.step_id, (message,))
        for message in messages.list_run_messages(connection, run.id)
        if message.step_id is not None
    ]
    return [*events, how_it_ended(connection, run)]


def how_it_ended(connection: Connection, run: Run) -> RunFinished:
    return RunFinished(run.stop_reason or "error", total_usage(connection, run.id), _error_of(run))


def total_usage(connection: Connection, run_id: RunId) -> RunUsage:
    """What the steps of a run have used so far."""
    usage = repository.run_usage(connection, run_id)
    return RunUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
        step_count=repository.count_steps(connection, run_id),
        cached_input_tokens=usage.cached_input_tokens or 0,
        cache_write_tokens=usage.cache_write_tokens or 0,
        reasoning_tokens=usage.reasoning_tokens or 0,
        cost_nanos=usage.cost_nanos or 0,
    )


def _error_of(run: Run) -> AppError | None:
    """What the record says of a failure; the kind of error is no longer known."""
    told = (run.metadata or {}).get("error")
    if run.status != "failed" or not isinstance(told, str):
        return None
    code, _, message = told.partition(": ")
    return AppError(message if code.isupper() else told)
