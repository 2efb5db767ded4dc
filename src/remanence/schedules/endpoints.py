"""Routes of schedules."""

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.core.page import Page
from remanence.core.schedule import Schedule
from remanence.db.database import Database
from remanence.edge.parameters import AgentIdPath, id_path
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.schedules import repository
from remanence.schedules.schemas import ScheduleCreate, schedule_body
from remanence.schedules.service import Scheduling

ScheduleIdPath = Annotated[str, id_path("schedule")]


def router(db: Database, scheduling: Scheduling) -> APIRouter:
    routes = make_routes("agents")

    @routes.post("/agents/{agent_id}/schedule", operation_id="create_schedule")
    async def create_schedule(actor: ActingUser, agent_id: AgentIdPath, body: ScheduleCreate) -> JsonBytes:
        made = await scheduling.create(actor, agent_id, body)
        return JsonBytes({"next_scheduled_at": made.next_run_at} | schedule_body(made), 201)

    @routes.get("/agents/{agent_id}/schedule", operation_id="list_schedules")
    async def list_schedules(
        actor: ActingUser,
        agent_id: AgentIdPath,
        after: str | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[Schedule]:
            agents.get_agent(connection, actor, agent_id)
            page = Page(after=after, limit=limit + 1)
            return repository.list_schedules(connection, actor, agent_id, page)

        found = await db.read(read)
        bodies = [schedule_body(each) for each in found[:limit]]
        return JsonBytes({"has_next_page": len(found) > limit, "scheduled_messages": bodies})

    @routes.get("/agents/{agent_id}/schedule/{scheduled_message_id}", operation_id="retrieve_schedule")
    async def retrieve_schedule(
        actor: ActingUser, agent_id: AgentIdPath, scheduled_message_id: ScheduleIdPath
    ) -> JsonBytes:
        found = await db.read(repository.get_schedule, actor, agent_id, scheduled_message_id)
        return JsonBytes(schedule_body(found))

    @routes.delete("/agents/{agent_id}/schedule/{scheduled_message_id}", operation_id="delete_schedule")
    async def delete_schedule(
        actor: ActingUser, agent_id: AgentIdPath, scheduled_message_id: ScheduleIdPath
    ) -> JsonBytes:
        await db.write(repository.delete_schedule, actor, agent_id, scheduled_message_id)
        return JsonBytes({"success": True})

    return routes
