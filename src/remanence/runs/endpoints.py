"""Routes that speak to agents, and the record of it: runs and steps."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy import Connection, Row

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.core.agent import StopReason
from remanence.core.page import Page
from remanence.core.profile import profile_of
from remanence.core.run import RunStatus
from remanence.db.database import Database
from remanence.edge.fields import StoredMoment
from remanence.edge.parameters import AgentIdPath, RunIdPath, StepIdPath, is_sdk_client, page_parameters
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.errors import Invalid
from remanence.kit.vault import Vault
from remanence.messages import repository as messages
from remanence.messages.schemas import Body, View, typed_messages
from remanence.messages.sending import SendRequest
from remanence.runs import repository
from remanence.runs.overview import repository as overview
from remanence.runs.queries import RunQuery, StepQuery
from remanence.runs.schemas import (
    CancelRequest,
    Feedback,
    gist_body,
    run_body,
    run_metrics_body,
    run_usage_body,
    step_body,
    step_metrics_body,
)
from remanence.runs.service import Address, RunService
from remanence.runs.speaking import ResumeRequest, Speaker
from remanence.runs.traces import span_bodies, trace_body

Listing = Annotated[Page, Depends(page_parameters(limit=100))]
OldestFirst = Annotated[Page, Depends(page_parameters(limit=100, order="asc"))]


def router(db: Database, service: RunService, speaker: Speaker, vault: Vault) -> APIRouter:
    routes = make_routes("runs")

    @routes.post("/agents/{agent_id}/messages")
    async def send_message(
        request: Request, actor: ActingUser, agent_id: AgentIdPath, body: SendRequest
    ) -> Response:
        if body.streaming:
            if not is_sdk_client(request):
                raise Invalid("Stream with POST …/messages/stream; here `streaming` is for newer SDKs.")
            return await speaker.stream(actor, Address(agent_id), body)
        refuse_stream_options(body)
        return await speaker.answer(actor, Address(agent_id), body)

    @routes.post("/agents/{agent_id}/messages/stream")
    async def stream_message(actor: ActingUser, agent_id: AgentIdPath, body: SendRequest) -> Response:
        return await speaker.stream(actor, Address(agent_id), body)

    @routes.post("/agents/{agent_id}/messages/async")
    async def send_message_async(actor: ActingUser, agent_id: AgentIdPath, body: SendRequest) -> JsonBytes:
        return await speaker.start(actor, Address(agent_id), body)

    @routes.post("/runs/{run_id}/stream")
    async def resume_stream(
        actor: ActingUser, run_id: RunIdPath, body: ResumeRequest | None = None
    ) -> Response:
        return await speaker.resume(actor, run_id, body or ResumeRequest())

    @routes.post("/agents/{agent_id}/messages/cancel")
    async def cancel_messages(
        actor: ActingUser, agent_id: AgentIdPath, body: CancelRequest | None = None
    ) -> JsonBytes:
        await db.read(messages.check_agent, actor, agent_id)
        return JsonBytes(await service.cancel(actor, agent_id, body.run_ids if body else None))

    @routes.post("/agents/{agent_id}/messages/preview-raw-payload")
    async def preview_payload(actor: ActingUser, agent_id: AgentIdPath, body: SendRequest) -> JsonBytes:
        return JsonBytes(await service.preview(actor, Address(agent_id), body))

    _add_run_routes(routes, db)
    _add_step_routes(routes, db, vault)
    return routes


def _add_run_routes(routes: APIRouter, db: Database) -> None:

    @routes.get("/runs/")
    async def list_runs(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=100, max_limit=1000))],
        agent_id: str | None = None,
        agent_ids: Annotated[list[str] | None, Query()] = None,
        statuses: Annotated[list[RunStatus] | None, Query()] = None,
        background: bool | None = None,
        stop_reason: StopReason | None = None,
        conversation_id: str | None = None,
        active: bool = False,
        ascending: bool = False,
        include_gist: bool = False,
    ) -> JsonBytes:
        """`include_gist` adds to each what a list shows: whose it is, what was said, steps, tokens, cost."""
        query = RunQuery(
            agent_ids=(*(agent_ids or ()), *([agent_id] if agent_id else ())),
            statuses=("created", "running") if active else tuple(statuses or ()),
            background=background,
            stop_reason=stop_reason,
            conversation_id=conversation_id,
        )
        if ascending:
            page = page.model_copy(update={"order": "asc"})

        def read(connection: Connection) -> list[Body]:
            runs = repository.list_runs(connection, actor, query, page)
            found = overview.gists(connection, runs) if include_gist else {}
            return [run_body(run) | gist_body(found.get(run.id)) for run in runs]

        return JsonBytes(await db.read(read))

    @routes.get("/runs/active", deprecated=True)
    async def list_active_runs(
        actor: ActingUser,
        agent_ids: Annotated[list[str] | None, Query()] = None,
        background: bool | None = None,
    ) -> JsonBytes:
        query = RunQuery(
            agent_ids=tuple(agent_ids or ()), statuses=("created", "running"), background=background
        )
        page = Page(limit=1000)
        return JsonBytes([run_body(run) for run in await db.read(repository.list_runs, actor, query, page)])

    @routes.get("/runs/{run_id}")
    async def retrieve_run(actor: ActingUser, run_id: RunIdPath) -> JsonBytes:
        return JsonBytes(run_body(await db.read(repository.get_run, actor, run_id)))

    @routes.delete("/runs/{run_id}")
    async def delete_run(actor: ActingUser, run_id: RunIdPath) -> JsonBytes:
        await db.write(repository.delete_run, actor, run_id)
        return message_body(f"Run {run_id} was deleted.")

    @routes.get("/runs/{run_id}/messages")
    async def list_run_messages(actor: ActingUser, run_id: RunIdPath, page: OldestFirst) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            repository.get_run(connection, actor, run_id)
            rows = messages.list_messages(connection, actor, page, run_id=run_id, include_err=True)
            return typed_rows(rows, page)

        return JsonBytes(await db.read(read))

    @routes.get("/runs/{run_id}/usage")
    async def retrieve_usage(actor: ActingUser, run_id: RunIdPath) -> JsonBytes:
        def read(connection: Connection) -> Body:
            run = repository.get_run(connection, actor, run_id)
            return run_usage_body(repository.run_usage(connection, run.id))

        return JsonBytes(await db.read(read))

    @routes.get("/runs/{run_id}/metrics")
    async def retrieve_metrics(actor: ActingUser, run_id: RunIdPath) -> JsonBytes:
        def read(connection: Connection) -> Body:
            run = repository.get_run(connection, actor, run_id)
            return run_metrics_body(run, repository.count_steps(connection, run.id))

        return JsonBytes(await db.read(read))

    @routes.get("/runs/{run_id}/trace")
    async def retrieve_trace(
        actor: ActingUser, run_id: RunIdPath, limit: Annotated[int, Query(ge=1, le=5000)] = 1000
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            run = repository.get_run(connection, actor, run_id)
            page = Page(limit=1000, order="asc")
            steps = repository.list_steps(connection, actor, StepQuery(run_id=run_id), page)
            return span_bodies(run.id, steps, started=run.created_at, spent_ns=run.total_duration_ns)[:limit]

        return JsonBytes(await db.read(read))

    @routes.get("/runs/{run_id}/steps")
    async def list_run_steps(actor: ActingUser, run_id: RunIdPath, page: Listing) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            repository.get_run(connection, actor, run_id)
            query = StepQuery(run_id=run_id)
            return [step_body(step) for step in repository.list_steps(connection, actor, query, page)]

        return JsonBytes(await db.read(read))


def _add_step_routes(routes: APIRouter, db: Database, vault: Vault) -> None:

    @routes.get("/steps/")
    async def list_steps(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        start_date: StoredMoment | None = None,
        end_date: StoredMoment | None = None,
        model: str | None = None,
        agent_id: str | None = None,
        trace_ids: Annotated[list[str] | None, Query()] = None,
        feedback: str | None = None,
        has_feedback: bool | None = None,
        tags: Annotated[list[str] | None, Query()] = None,
        project_id: str | None = None,
    ) -> JsonBytes:
        query = StepQuery(
            agent_id=agent_id,
            model=model,
            request_ids=tuple(trace_ids or ()),
            feedback=feedback,
            has_feedback=has_feedback,
            project_id=project_id,
            tags=tuple(tags or ()),
            start=start_date,
            end=end_date,
        )
        return JsonBytes(
            [step_body(step) for step in await db.read(repository.list_steps, actor, query, page)]
        )

    @routes.get("/steps/{step_id}")
    async def retrieve_step(actor: ActingUser, step_id: StepIdPath) -> JsonBytes:
        return JsonBytes(step_body(await db.read(repository.get_step, actor, step_id)))

    @routes.get("/steps/{step_id}/metrics")
    async def retrieve_step_metrics(actor: ActingUser, step_id: StepIdPath) -> JsonBytes:
        return JsonBytes(step_metrics_body(await db.read(repository.get_step, actor, step_id)))

    @routes.get("/steps/{step_id}/trace")
    async def retrieve_step_trace(actor: ActingUser, step_id: StepIdPath) -> JsonBytes:
        def read(connection: Connection) -> Body | None:
            step = repository.get_step(connection, actor, step_id)
            trace = repository.find_trace(connection, step.id)
            if trace is None:
                return None
            secrets = agents.secret_values(connection, step.agent_id, vault) if step.agent_id else []
            return trace_body(trace, step, secrets)

        return JsonBytes(await db.read(read))

    @routes.get("/steps/{step_id}/messages")
    async def list_step_messages(actor: ActingUser, step_id: StepIdPath, page: OldestFirst) -> JsonBytes:
        def read(connection: Connection) -> list[Body]:
            repository.get_step(connection, actor, step_id)
            rows = messages.list_messages(connection, actor, page, step_id=step_id, include_err=True)
            return typed_rows(rows, page)

        return JsonBytes(await db.read(read))

    @routes.patch("/steps/{step_id}/feedback")
    async def give_feedback(actor: ActingUser, step_id: StepIdPath, body: Feedback) -> JsonBytes:
        step = await db.write(repository.set_feedback, actor, step_id, body.feedback, body.tags)
        return JsonBytes(step_body(step))


def refuse_stream_options(body: SendRequest) -> None:
    for name in ("stream_tokens", "background"):
        if getattr(body, name):
            raise Invalid(f"`{name}` is about streams: set `streaming` to true as well.")
    if not body.include_pings:
        raise Invalid("`include_pings` is about streams: set `streaming` to true as well.")


def typed_rows(rows: list[Row[Any]], page: Page) -> list[Body]:
    bodies: list[Body] = []
    for row in rows:
        typed = typed_messages(messages.message_from(row), View(reply=profile_of(row.agent_type).reply))
        bodies += typed if page.order == "asc" else typed[::-1]
    return bodies
