"""Routes of groups."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.agents.groups import repository
from remanence.agents.groups.schemas import group_body
from remanence.core.group import ManagerType
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import AgentIdPath, id_path, page_parameters
from remanence.edge.responses import JsonBytes, message_body
from remanence.edge.routes import make_routes
from remanence.groups.schemas import GroupUpdate
from remanence.groups.service import Helpers

GroupIdPath = Annotated[str, id_path("group")]


def router(db: Database, helpers: Helpers) -> APIRouter:
    routes = make_routes("groups")

    @routes.get("/groups/", operation_id="list_groups")
    async def list_groups(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50, order="asc"))],
        manager_type: ManagerType | None = None,
        project_id: Annotated[StoredText | None, Query()] = None,
    ) -> JsonBytes:
        found = await db.read(
            repository.list_groups, actor, page, manager_type=manager_type, project_id=project_id
        )
        return JsonBytes([group_body(group) for group in found])

    @routes.get("/groups/count", operation_id="count_groups")
    async def count_groups(actor: ActingUser) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_groups, actor))

    @routes.get("/groups/{group_id}", operation_id="retrieve_group")
    async def retrieve_group(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        return JsonBytes(group_body(await db.read(repository.get_group, actor, group_id)))

    @routes.patch("/groups/{group_id}", operation_id="modify_group")
    async def modify_group(actor: ActingUser, group_id: GroupIdPath, body: GroupUpdate) -> JsonBytes:
        return JsonBytes(group_body(await db.write(helpers.update, actor, group_id, body)))

    @routes.delete("/groups/{group_id}", operation_id="delete_group")
    async def delete_group(actor: ActingUser, group_id: GroupIdPath) -> JsonBytes:
        await db.write(helpers.delete, actor, group_id)
        return message_body(f"Group {group_id} was deleted.")

    @routes.get("/agents/{agent_id}/groups", operation_id="list_groups_for_agent")
    async def list_agent_groups(
        actor: ActingUser,
        agent_id: AgentIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=100))],
        manager_type: ManagerType | None = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            agents.get_agent(connection, actor, agent_id)
            found = repository.list_groups(
                connection, actor, page, manager_type=manager_type, member_id=agent_id
            )
            return [group_body(group) for group in found]

        return JsonBytes(await db.read(read))

    return routes
