"""Signing in and out, and who one is."""

from fastapi import APIRouter, Request, Response

from remanence.accounts.auth import Auth, CurrentGrant
from remanence.accounts.keys.service import SESSION_LIFETIME, KeyRing
from remanence.accounts.sessions.schemas import SignIn, session_body
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes


def router(auth: Auth, ring: KeyRing) -> APIRouter:
    routes = make_routes("session")

    @routes.post("/session/", operation_id="sign_in")
    async def sign_in(request: Request, body: SignIn) -> Response:
        """Takes the password or a key once. Where neither is asked for, there is nothing to sign in to."""
        grant = await auth.admit(request, body.password)
        if not auth.is_on:
            return JsonBytes(session_body(grant))
        session, text = await ring.sign_in(grant)
        request.state.object_id = session.id
        response = JsonBytes(session_body(grant.model_copy(update={"key": session})), 201)
        response.set_cookie(
            auth.cookie,
            text,
            max_age=round(SESSION_LIFETIME.total_seconds()),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    @routes.get("/session/", operation_id="retrieve_session")
    async def retrieve(grant: CurrentGrant) -> JsonBytes:
        return JsonBytes(session_body(grant))

    @routes.delete("/session/", operation_id="sign_out")
    async def sign_out(grant: CurrentGrant) -> Response:
        if grant.key is not None and grant.key.kind == "session":
            await ring.revoke(grant.actor, grant.key.id, everyones=True)
        response = Response(status_code=204)
        response.delete_cookie(auth.cookie, httponly=True, samesite="strict")
        return response

    return routes
