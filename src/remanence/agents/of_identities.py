"""Routes between identities and what other rooms show: their agents, their blocks."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from sqlalchemy import Connection

from remanence.accounts.auth import ActingUser
from remanence.agents.endpoints import Wanted
from remanence.agents.queries import AgentQuery
from remanence.agents.schemas import agent_bodies
from remanence.agents.service import AgentService
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import BlockIdPath, IdentityIdPath, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.identities import repository as identities
from remanence.memory import repository as blocks
from remanence.memory.schemas import BlockFilter, block_body


def router(db: Database, service: AgentService) -> APIRouter:
    routes = make_routes()

    @routes.get("/identities/{identity_id}/agents", tags=["identities"])
    async def list_identity_agents(
        actor: ActingUser,
        identity_id: IdentityIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
        include: Wanted,
    ) -> JsonBytes:
        await db.read(identities.get_identity, actor, identity_id)
        query = AgentQuery(identity_id=identity_id, include_hidden=True)
        return JsonBytes(agent_bodies(await service.list_agents(actor, query, page, include)))

    @routes.get("/identities/{identity_id}/blocks", tags=["identities"])
    async def list_identity_blocks(
        actor: ActingUser,
        identity_id: IdentityIdPath,
        page: Annotated[Page, Depends(page_parameters(limit=50))],
    ) -> JsonBytes:
        def read(connection: Connection) -> list[dict[str, Any]]:
            identities.get_identity(connection, actor, identity_id)
            found = blocks.list_blocks(connection, actor, BlockFilter(identity_id=identity_id), page)
            return [block_body(block) for block in found]

        return JsonBytes(await db.read(read))

    @routes.patch("/blocks/{block_id}/identities/attach/{identity_id}", tags=["blocks"])
    async def attach_block_identity(
        actor: ActingUser, block_id: BlockIdPath, identity_id: IdentityIdPath
    ) -> JsonBytes:
        await db.write(identities.attach_block, actor, identity_id, block_id)
        return JsonBytes(block_body(await db.read(blocks.get_block, actor, block_id)))

    @routes.patch("/blocks/{block_id}/identities/detach/{identity_id}", tags=["blocks"])
    async def detach_block_identity(
        actor: ActingUser, block_id: BlockIdPath, identity_id: IdentityIdPath
    ) -> JsonBytes:
        await db.write(identities.detach_block, actor, identity_id, block_id)
        return JsonBytes(block_body(await db.read(blocks.get_block, actor, block_id)))

    return routes
