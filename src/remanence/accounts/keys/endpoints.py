"""Routes of keys, and of the access tokens of the published client, which are keys for a page in a browser."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from remanence.accounts.auth import CurrentGrant
from remanence.accounts.keys import repository
from remanence.accounts.keys.schemas import AccessTokenCreate, KeyCreate, key_body, token_body
from remanence.accounts.keys.service import TOKEN_LIFETIME, KeyRing
from remanence.core.access import Grant
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.fields import StoredText
from remanence.edge.parameters import id_path, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.kit.clock import utc_now
from remanence.kit.ids import UserId

_MOST_TOKENS = 1000


def router(db: Database, ring: KeyRing) -> APIRouter:
    routes = make_routes()

    @routes.get("/keys/", tags=["keys"], operation_id="list_keys")
    async def list_keys(
        grant: CurrentGrant, page: Annotated[Page, Depends(page_parameters(limit=100))]
    ) -> JsonBytes:
        """An admin sees those of the organisation, anybody else his own."""
        keys = await db.read(repository.list_keys, grant.actor.organization_id, page, user_id=_whose(grant))
        return JsonBytes([key_body(key) for key in keys])

    @routes.post("/keys/", tags=["keys"], operation_id="create_key")
    async def create_key(request: Request, grant: CurrentGrant, body: KeyCreate) -> JsonBytes:
        key, text = await ring.create(
            grant,
            name=body.name,
            role=body.role,
            scopes=body.scopes,
            user_id=body.user_id,
            expires_at=body.expires_at,
            requests_per_minute=body.requests_per_minute,
        )
        request.state.object_id = key.id
        return JsonBytes(key_body(key) | {"key": text}, 201)

    @routes.delete("/keys/{key_id}", tags=["keys"], operation_id="revoke_key")
    async def revoke_key(grant: CurrentGrant, key_id: Annotated[str, id_path("key")]) -> JsonBytes:
        await ring.revoke(grant.actor, key_id, everyones=grant.role == "admin")
        return JsonBytes(None)

    @routes.post("/client-side-access-tokens", tags=["access tokens"], operation_id="create_access_token")
    async def create_token(request: Request, grant: CurrentGrant, body: AccessTokenCreate) -> JsonBytes:
        key, text = await ring.create(
            grant,
            kind="client",
            name=body.hostname,
            role="user",
            scopes=body.scopes,
            hostname=body.hostname.rstrip("/"),
            expires_at=body.expires_at or utc_now() + TOKEN_LIFETIME,
        )
        request.state.object_id = key.id
        return JsonBytes(token_body(key, text), 201)

    @routes.get("/client-side-access-tokens", tags=["access tokens"], operation_id="list_access_tokens")
    async def list_tokens(
        grant: CurrentGrant,
        agent_id: Annotated[StoredText | None, Query(alias="agentId")] = None,
        offset: Annotated[float, Query(ge=0, le=1e9)] = 0,
        limit: Annotated[float, Query(ge=1, le=_MOST_TOKENS)] = 10,
    ) -> JsonBytes:
        """The tokens themselves are kept nowhere: each is named by an id, which revokes it as well."""
        keys = await db.read(
            repository.list_client_keys,
            grant.actor.organization_id,
            user_id=_whose(grant),
            offset=int(offset),
            limit=int(limit) + 1,
            agent_id=agent_id,
        )
        shown = [token_body(key, key.id) for key in keys[: int(limit)]]
        return JsonBytes({"tokens": shown, "hasNextPage": len(keys) > int(limit)})

    @routes.delete(
        "/client-side-access-tokens/{token}", tags=["access tokens"], operation_id="delete_access_token"
    )
    async def delete_token(grant: CurrentGrant, token: StoredText) -> Response:
        await ring.revoke_token(grant.actor, token, everyones=grant.role == "admin")
        return Response(status_code=204)

    return routes


def _whose(grant: Grant) -> UserId | None:
    """None for everybody's in the organisation."""
    return None if grant.role == "admin" else grant.actor.user_id
