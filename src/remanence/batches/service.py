"""The rules of batches.

A batch is a job. Its items become background runs a few at a time, and never two of one agent at once, so
that somebody who speaks to that agent meanwhile waits for one of them at most. To begin an item is one
transaction with its run, under the job's fence: a crash begins none twice and loses none.
"""

import asyncio
from typing import TypeVar

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.batches import repository
from remanence.batches.schemas import BatchCreate, BatchRequest, kept_request
from remanence.core.actor import Actor
from remanence.core.job import Job
from remanence.db.database import Database
from remanence.errors import Invalid, NotFound
from remanence.jobs import repository as jobs
from remanence.jobs.repository import Grip
from remanence.jobs.workers import Task, Workers
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.messages.images import ImageFetcher
from remanence.messages.sending import MessageCreate, SendRequest
from remanence.runs import repository as runs
from remanence.runs.beginning import record_run
from remanence.runs.callback import Callbacks
from remanence.runs.repository import HeldRun
from remanence.runs.supervisor import Supervisor

R = TypeVar("R", bound=SendRequest)
KIND = "batch"
_BATCHES_AT_ONCE = 4
_LOOK_S = 0.2
_ATTEMPTS = 1000
"""A batch takes long, and may see many servers come and go."""


class Batches:
    def __init__(
        self,
        db: Database,
        workers: Workers,
        supervisor: Supervisor,
        callbacks: Callbacks,
        images: ImageFetcher,
        *,
        at_once: int,
    ) -> None:
        self._db = db
        self._workers = workers
        self._supervisor = supervisor
        self._callbacks = callbacks
        self._images = images
        self._at_once = at_once
        workers.register(
            KIND,
            self._work_off,
            at_once=_BATCHES_AT_ONCE,
            attempts=_ATTEMPTS,
            on_failure=self._on_failure,
            on_end=_stop_items,
        )

    async def create(self, actor: Actor, body: BatchCreate) -> Job:
        """Raises NotFound for an agent, Invalid, and BadArgument for an image that cannot be fetched."""
        items = [(each.agent_id, await self._kept(each)) for each in body.requests]
        job = await self._db.write(_insert, actor, items, body.callback_url)
        self._workers.wake()
        return job

    async def _kept(self, request: BatchRequest) -> JsonObject:
        inputs = request.inputs()
        if not inputs and request.answer() is None:
            raise Invalid(f"The request for {request.agent_id} says nothing: `messages` is empty.")
        embedded = await self._images.embed(inputs)
        if embedded is not inputs:
            request = with_inputs(request, embedded)
        return kept_request(request)

    async def cancel(self, actor: Actor, batch_id: str) -> Job:
        """Also what of it is under way. Raises NotFound and Conflict."""
        return await self._workers.cancel(actor, batch_id, job_type="batch")

    async def _on_failure(self, job: Job, reason: str) -> None:
        await self._db.write(_stop_items, job)

    async def _work_off(self, task: Task) -> JsonObject:
        while True:
            begun, progress = await self._db.write(_advance, task.grip, self._at_once)
            for found in begun:
                self._supervisor.take_up(found)
            if not progress["waiting"] and not progress["running"]:
                break
            while progress["running"] and not await self._db.read(repository.has_news, task.job.id):  # noqa: ASYNC110 - runs may end in another process
                await asyncio.sleep(_LOOK_S)
        shown: JsonObject = {"progress": progress}
        if task.job.callback_url is not None:
            await self._tell(task, task.job.callback_url, shown)
        return shown

    async def _tell(self, task: Task, url: str, shown: JsonObject) -> None:
        """Before the job is done with, so that no crash loses it; but whoever is told may ask at once."""
        job = task.job
        await self._db.write(jobs.save, task.grip, status="completed")
        body = {"batch_id": job.id, "status": "completed", "completed_at": utc_now(), "metadata": shown}
        status, error = await self._callbacks.post(url, json.encode(body), about=job.id)
        await self._db.write(jobs.note_callback, task.grip, sent_at=utc_now(), status=status, error=error)


def _insert(
    connection: Connection, actor: Actor, items: list[tuple[str, JsonObject]], callback_url: str | None
) -> Job:
    for agent_id in dict.fromkeys(agent_id for agent_id, _ in items):
        agents.get_agent(connection, actor, agent_id)
    counts = {"waiting": len(items), "running": 0, "completed": 0, "failed": 0, "cancelled": 0}
    job = jobs.enqueue(
        connection,
        actor,
        KIND,
        {},
        job_type="batch",
        metadata={"progress": counts},
        callback_url=callback_url,
    )
    repository.insert_items(connection, job.id, items)
    return job


def _advance(connection: Connection, grip: Grip, at_once: int) -> tuple[list[HeldRun], dict[str, int]]:
    """Raises LeaseLost."""
    jobs.hold(connection, grip)
    job = grip.job
    repository.settle(connection, job.id)
    room = at_once - repository.count_items(connection, job.id)["running"]
    begun = [
        found
        for item in repository.list_waiting(connection, job.id, max(room, 0))
        if (found := _begin(connection, job, item)) is not None
    ]
    progress = repository.count_items(connection, job.id)
    jobs.save(connection, grip, metadata={"progress": progress})
    return begun, progress


def with_inputs(request: R, inputs: list[MessageCreate]) -> R:
    """The same with other words; an answer to what the agent asked stays before them."""
    answers = [each for each in request.messages or () if not isinstance(each, MessageCreate)]
    return request.model_copy(update={"messages": [*answers, *inputs], "input": None})


def _begin(connection: Connection, job: Job, item: repository.Item) -> HeldRun | None:
    try:
        agents.get_agent(connection, job.actor, item.agent_id)
    except NotFound:  # it was deleted meanwhile
        repository.end_item(connection, item.id, "failed")
        return None
    request = SendRequest.model_validate(item.request)
    known = runs.find_started(connection, item.agent_id, request.otids())
    if known is not None:  # the client had sent it before, and did not hear of it perhaps
        repository.begin_item(connection, item.id, known)
        return None
    said = [message.model_copy(update={"batch_item_id": item.id}) for message in request.inputs()]
    request = with_inputs(request, said)
    told = {"run_type": "batch", "agent_id": item.agent_id, "source": {"batch_id": job.id}}
    found = record_run(connection, job.actor, item.agent_id, request, told)
    repository.begin_item(connection, item.id, found.id)
    return found


def _stop_items(connection: Connection, job: Job) -> None:
    """Whoever has its runs at work notices within a second."""
    for agent_id, run_id in repository.cancel_items(connection, job.id):
        runs.cancel_run(connection, job.actor, agent_id, run_id)
    repository.settle(connection, job.id)
    jobs.set_metadata(connection, job.id, {"progress": repository.count_items(connection, job.id)})
