"""Routes of organisations and users: for admins alone, which the door sees to."""

from collections.abc import Callable
from typing import Annotated, Concatenate, ParamSpec

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Connection

from remanence.accounts.admin import repository
from remanence.accounts.admin.schemas import OrganizationCreate, OrganizationUpdate, UserCreate, UserUpdate
from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject

P = ParamSpec("P")
Paged = Annotated[Page, Depends(page_parameters(limit=50, order="asc"))]
OrgQuery = Annotated[str, Query(pattern=id_pattern("org"))]
UserQuery = Annotated[str, Query(pattern=id_pattern("user"))]


def router(db: Database, forget: Callable[[], None]) -> APIRouter:
    """`forget` has the door ask again who is who."""
    routes = make_routes("admin", under="/admin")

    async def change(
        request: Request,
        fn: Callable[Concatenate[Connection, P], JsonObject],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> JsonBytes:
        body = await db.write(fn, *args, **kwargs)
        forget()
        request.state.object_id = body["id"]
        return JsonBytes(body)

    @routes.get("/orgs/", operation_id="list_orgs")
    async def list_orgs(actor: ActingUser, page: Paged) -> JsonBytes:
        return JsonBytes(await db.read(repository.list_organizations, page))

    @routes.post("/orgs/", operation_id="create_organization")
    async def create_org(request: Request, actor: ActingUser, body: OrganizationCreate) -> JsonBytes:
        return await change(request, repository.create_organization, body)

    @routes.patch("/orgs/", operation_id="update_organization")
    async def update_org(
        request: Request, actor: ActingUser, org_id: OrgQuery, body: OrganizationUpdate
    ) -> JsonBytes:
        return await change(request, repository.update_organization, org_id, body)

    @routes.delete("/orgs/", operation_id="delete_organization_by_id")
    async def delete_org(request: Request, actor: ActingUser, org_id: OrgQuery) -> JsonBytes:
        return await change(request, repository.delete_organization, org_id)

    @routes.get("/users/", operation_id="list_users")
    async def list_users(actor: ActingUser, page: Paged) -> JsonBytes:
        return JsonBytes(await db.read(repository.list_users, page))

    @routes.post("/users/", operation_id="create_user")
    async def create_user(request: Request, actor: ActingUser, body: UserCreate) -> JsonBytes:
        return await change(request, repository.create_user, body)

    @routes.put("/users/", operation_id="update_user")
    async def update_user(request: Request, actor: ActingUser, body: UserUpdate) -> JsonBytes:
        return await change(request, repository.update_user, body)

    @routes.delete("/users/", operation_id="delete_user")
    async def delete_user(request: Request, actor: ActingUser, user_id: UserQuery) -> JsonBytes:
        return await change(request, repository.delete_user, user_id)

    return routes
