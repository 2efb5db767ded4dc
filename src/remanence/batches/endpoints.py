"""Routes of batches."""

from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.batches import repository
from remanence.batches.schemas import BatchCreate
from remanence.batches.service import Batches
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import id_path, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.jobs import repository as jobs
from remanence.jobs.schemas import job_body
from remanence.messages.repository import message_from
from remanence.messages.schemas import Body, stored_body

BatchIdPath = Annotated[str, id_path("job")]
Listing = Annotated[Page, Depends(page_parameters(limit=100))]


def router(db: Database, batches: Batches) -> APIRouter:
    routes = make_routes("batches", under="/messages/batches")

    @routes.post("", operation_id="create_batch")
    async def create_batch(actor: ActingUser, body: BatchCreate) -> JsonBytes:
        return JsonBytes(job_body(await batches.create(actor, body)))

    @routes.get("", operation_id="list_batches")
    async def list_batches(actor: ActingUser, page: Listing) -> JsonBytes:
        found = await db.read(jobs.list_jobs, actor, page, job_type="batch")
        return JsonBytes([job_body(job) for job in found])

    @routes.get("/{batch_id}", operation_id="retrieve_batch")
    async def retrieve_batch(actor: ActingUser, batch_id: BatchIdPath) -> JsonBytes:
        return JsonBytes(job_body(await db.read(jobs.get_job, actor, batch_id, job_type="batch")))

    @routes.patch("/{batch_id}/cancel", operation_id="cancel_batch")
    async def cancel_batch(actor: ActingUser, batch_id: BatchIdPath) -> JsonBytes:
        return JsonBytes(job_body(await batches.cancel(actor, batch_id)))

    @routes.get("/{batch_id}/messages", operation_id="list_messages_for_batch")
    async def list_batch_messages(
        actor: ActingUser, batch_id: BatchIdPath, page: Listing, agent_id: str | None = None
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            jobs.get_job(connection, actor, batch_id, job_type="batch")
            rows = repository.list_messages(connection, actor, batch_id, page, agent_id)
            return [stored_body(message_from(row)) for row in rows]

        return JsonBytes({"messages": await db.read(read)})

    return routes
