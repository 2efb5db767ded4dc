"""Routes of the providers that an organisation brings itself."""

from typing import Annotated

from fastapi import APIRouter, Depends

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import id_path, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.llm.providers import repository
from remanence.llm.providers.schemas import ProviderAccess, ProviderCheck, ProviderCreate, provider_body
from remanence.llm.providers.service import ProviderService

ProviderIdPath = Annotated[str, id_path("provider")]


def router(db: Database, service: ProviderService) -> APIRouter:
    routes = make_routes("providers", under="/providers")

    @routes.get("/", operation_id="list_providers")
    async def list_providers(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        name: str | None = None,
        provider_type: str | None = None,
    ) -> JsonBytes:
        found = await db.read(repository.list_providers, actor, page, name=name, provider_type=provider_type)
        return JsonBytes([provider_body(each) for each in found])

    @routes.post("/", operation_id="create_provider")
    async def create_provider(actor: ActingUser, body: ProviderCreate) -> JsonBytes:
        return JsonBytes(provider_body(await service.create(actor, body)))

    @routes.post("/check", operation_id="check_provider")
    async def check_provider(actor: ActingUser, body: ProviderCheck) -> JsonBytes:
        return JsonBytes({"message": await service.check(body)})

    @routes.get("/{provider_id}", operation_id="retrieve_provider")
    async def retrieve_provider(actor: ActingUser, provider_id: ProviderIdPath) -> JsonBytes:
        return JsonBytes(provider_body(await db.read(repository.get_provider, actor, provider_id)))

    @routes.patch("/{provider_id}", operation_id="modify_provider")
    async def modify_provider(
        actor: ActingUser, provider_id: ProviderIdPath, body: ProviderAccess
    ) -> JsonBytes:
        return JsonBytes(provider_body(await service.update(actor, provider_id, body)))

    @routes.delete("/{provider_id}", operation_id="delete_provider")
    async def delete_provider(actor: ActingUser, provider_id: ProviderIdPath) -> JsonBytes:
        await service.delete(actor, provider_id)
        return JsonBytes({"message": f"Provider {provider_id} is deleted."})

    @routes.post("/{provider_id}/check", operation_id="check_existing_provider")
    async def check_existing_provider(actor: ActingUser, provider_id: ProviderIdPath) -> JsonBytes:
        return JsonBytes({"message": await service.check_existing(actor, provider_id)})

    @routes.patch("/{provider_id}/refresh", operation_id="refresh_provider_models")
    async def refresh_provider_models(actor: ActingUser, provider_id: ProviderIdPath) -> JsonBytes:
        return JsonBytes(provider_body(await service.refresh(actor, provider_id)))

    return routes
