"""Routes of jobs."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import JobIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.jobs import repository
from remanence.jobs.schemas import job_body
from remanence.jobs.workers import Workers

Ascending = Annotated[
    bool | None, Query(description="In place of `order`, which is the newer way to say it.")
]


def router(db: Database, workers: Workers) -> APIRouter:
    routes = make_routes("jobs", under="/jobs")

    @routes.get("/")
    async def list_jobs(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
        source_id: StoredText | None = None,
        active: bool = False,
        ascending: Ascending = None,
    ) -> JsonBytes:
        jobs = await db.read(
            repository.list_jobs, actor, _in_order(page, ascending), is_open=active, source_id=source_id
        )
        return JsonBytes([job_body(job) for job in jobs])

    @routes.get("/active", deprecated=True)
    async def list_active_jobs(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        source_id: StoredText | None = None,
        ascending: bool = True,
    ) -> JsonBytes:
        jobs = await db.read(
            repository.list_jobs, actor, _in_order(page, ascending), is_open=True, source_id=source_id
        )
        return JsonBytes([job_body(job) for job in jobs])

    @routes.get("/{job_id}")
    async def retrieve_job(actor: ActingUser, job_id: JobIdPath) -> JsonBytes:
        return JsonBytes(job_body(await db.read(repository.get_job, actor, job_id)))

    @routes.patch("/{job_id}/cancel")
    async def cancel_job(actor: ActingUser, job_id: JobIdPath) -> JsonBytes:
        return JsonBytes(job_body(await workers.cancel(actor, job_id)))

    @routes.delete("/{job_id}")
    async def delete_job(actor: ActingUser, job_id: JobIdPath) -> JsonBytes:
        return JsonBytes(job_body(await workers.delete(actor, job_id)))

    return routes


def _in_order(page: Page, ascending: bool | None) -> Page:
    if ascending is None:
        return page
    return page.model_copy(update={"order": "asc" if ascending else "desc"})
