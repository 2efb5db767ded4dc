"""Routes of templates."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Depends, Header
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents.schemas import ProjectRef
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.templates import repository
from remanence.templates.schemas import (
    AgentsFromTemplate,
    TemplateCreate,
    TemplateRollback,
    TemplateSave,
    TemplateUpdate,
    template_body,
    versions_body,
)

if TYPE_CHECKING:
    from remanence.templates.service import TemplateService


def router(db: Database, open_service: Callable[[], "TemplateService"]) -> APIRouter:
    """The service is loaded when it is first asked for."""
    routes = make_routes("templates")

    @routes.get("/templates", operation_id="list_templates")
    async def list_templates(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        name: StoredText | None = None,
        project_id: StoredText | None = None,
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            found = repository.list_templates(connection, actor, page, name=name, project_id=project_id)
            saved = repository.list_saved(connection, [each.id for each in found])
            return [template_body(each) | versions_body(saved.get(each.id, [])) for each in found]

        return JsonBytes(await db.read(read))

    @routes.post("/templates", operation_id="create_template")
    async def create_template(
        actor: ActingUser,
        body: Annotated[TemplateCreate, Body()],
        x_project_id: Annotated[ProjectRef | None, Header()] = None,
    ) -> JsonBytes:
        made = await open_service().create(actor, body, x_project_id or None)
        return JsonBytes(template_body(made), 201)

    @routes.patch("/templates/{template_name}", operation_id="update_template")
    async def update_template(actor: ActingUser, template_name: str, body: TemplateUpdate) -> JsonBytes:
        message = await open_service().update(actor, template_name, body)
        return JsonBytes({"success": True, "message": message})

    @routes.delete("/templates/{template_name}", operation_id="delete_template")
    async def delete_template(actor: ActingUser, template_name: str) -> JsonBytes:
        await open_service().delete(actor, template_name)
        return JsonBytes({"success": True})

    @routes.post("/templates/{template_name}/rollback", operation_id="roll_template_back")
    async def roll_back(actor: ActingUser, template_name: str, body: TemplateRollback) -> JsonBytes:
        message = await open_service().rollback(actor, template_name, body.version)
        return JsonBytes({"success": True, "message": message})

    @routes.post("/templates/{template_name}/save", operation_id="save_template")
    async def save_template(
        actor: ActingUser, template_name: str, body: TemplateSave | None = None
    ) -> JsonBytes:
        saved = await open_service().save(actor, template_name, body or TemplateSave())
        return JsonBytes(template_body(saved))

    @routes.post("/templates/{template_version:path}/agents", operation_id="create_agents_from_template")
    async def create_agents(
        actor: ActingUser, template_version: str, body: AgentsFromTemplate | None = None
    ) -> JsonBytes:
        made = await open_service().create_agents(actor, template_version, body or AgentsFromTemplate())
        told = {"agent_ids": made.agent_ids, "deployment_id": made.deployment_id, "group_id": made.group_id}
        return JsonBytes(told, 201)

    return routes
