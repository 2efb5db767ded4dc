"""Routes of identities, and of the agents that belong to them."""

from typing import Annotated

from fastapi import APIRouter, Depends

from remanence.accounts.auth import ActingUser
from remanence.core.identity import IdentityType
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import AgentIdPath, IdentityIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.identities import repository
from remanence.identities.schemas import IdentityCreate, IdentityUpdate, Properties, identity_body


def router(db: Database) -> APIRouter:
    routes = make_routes()

    @routes.get("/identities/", tags=["identities"])
    async def list_identities(
        actor: ActingUser,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        name: StoredText | None = None,
        project_id: StoredText | None = None,
        identifier_key: StoredText | None = None,
        identity_type: IdentityType | None = None,
    ) -> JsonBytes:
        found = await db.read(
            repository.list_identities,
            actor,
            page,
            name=name,
            project_id=project_id,
            identifier_key=identifier_key,
            identity_type=identity_type,
        )
        return JsonBytes([identity_body(each) for each in found])

    @routes.post("/identities/", tags=["identities"])
    async def create_identity(actor: ActingUser, body: IdentityCreate) -> JsonBytes:
        return JsonBytes(identity_body(await db.write(repository.create_identity, actor, body)))

    @routes.put("/identities/", tags=["identities"])
    async def upsert_identity(actor: ActingUser, body: IdentityCreate) -> JsonBytes:
        return JsonBytes(identity_body(await db.write(repository.upsert_identity, actor, body)))

    @routes.get("/identities/count", tags=["identities"])
    async def count_identities(actor: ActingUser) -> JsonBytes:
        return JsonBytes(await db.read(repository.count_identities, actor))

    @routes.get("/identities/{identity_id}", tags=["identities"])
    async def retrieve_identity(actor: ActingUser, identity_id: IdentityIdPath) -> JsonBytes:
        return JsonBytes(identity_body(await db.read(repository.get_identity, actor, identity_id)))

    @routes.patch("/identities/{identity_id}", tags=["identities"])
    async def modify_identity(
        actor: ActingUser, identity_id: IdentityIdPath, body: IdentityUpdate
    ) -> JsonBytes:
        return JsonBytes(identity_body(await db.write(repository.update_identity, actor, identity_id, body)))

    @routes.delete("/identities/{identity_id}", tags=["identities"])
    async def delete_identity(actor: ActingUser, identity_id: IdentityIdPath) -> JsonBytes:
        await db.write(repository.delete_identity, actor, identity_id)
        return JsonBytes(None)

    @routes.put("/identities/{identity_id}/properties", tags=["identities"])
    async def upsert_properties(
        actor: ActingUser, identity_id: IdentityIdPath, body: Properties
    ) -> JsonBytes:
        changed = await db.write(repository.upsert_properties, actor, identity_id, body)
        return JsonBytes(identity_body(changed))

    @routes.patch("/agents/{agent_id}/identities/attach/{identity_id}", tags=["agents"])
    async def attach_identity(
        actor: ActingUser, agent_id: AgentIdPath, identity_id: IdentityIdPath
    ) -> JsonBytes:
        await db.write(repository.attach_agent, actor, identity_id, agent_id)
        return JsonBytes(None)

    @routes.patch("/agents/{agent_id}/identities/detach/{identity_id}", tags=["agents"])
    async def detach_identity(
        actor: ActingUser, agent_id: AgentIdPath, identity_id: IdentityIdPath
    ) -> JsonBytes:
        await db.write(repository.detach_agent, actor, identity_id, agent_id)
        return JsonBytes(None)

    return routes
