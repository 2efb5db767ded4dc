"""The door: checks the password, if there is one, and names the acting user."""

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from remanence.accounts import repository
from remanence.accounts.agent_token import is_token, read_token
from remanence.core.actor import Actor
from remanence.db.database import Database
from remanence.errors import BadArgument, Forbidden, Unauthenticated
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, OrgId, UserId, is_id

_DEFAULT = Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID)


class Auth:
    """Calling it with a request gives the actor. Raises Unauthenticated and BadArgument."""

    def __init__(
        self,
        db: Database,
        *,
        password: str | None,
        on_organization: Callable[[OrgId], Awaitable[None]],
        signing_key: bytes | None = None,
    ) -> None:
        self._db = db
        self._password = password
        self._signing_key = signing_key
        self._on_organization = on_organization
        self._actors: dict[str, Actor] = {}
        self._known_organizations: set[OrgId] = {DEFAULT_ORG_ID}

    @property
    def is_on(self) -> bool:
        return self._password is not None

    async def __call__(self, request: Request) -> Actor:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._signing_key is not None and is_token(bearer):
            return await self._find(self._check_token(request, bearer, self._signing_key))
        if self._password is not None:
            self._check_password(request, self._password)
        user_id = request.headers.get("user_id")
        if user_id is None or user_id == DEFAULT_USER_ID:
            return _DEFAULT
        if not is_id(user_id, "user"):
            raise BadArgument(f"The header user_id must look like {DEFAULT_USER_ID}, not {user_id!r}.")
        return await self._find(UserId(user_id))

    async def _find(self, user_id: UserId) -> Actor:
        actor = self._actors.get(user_id)
        if actor is None:
            # An id that nobody has is the default user: clients of the former server rely on it.
            actor = await self._db.read(repository.find_actor, user_id)
            if actor is None:
                return _DEFAULT
            if len(self._actors) > 10_000:
                self._actors.clear()
            self._actors[user_id] = actor
        if actor.organization_id not in self._known_organizations:
            await self._on_organization(actor.organization_id)
            self._known_organizations.add(actor.organization_id)
        return actor

    @staticmethod
    def _check_token(request: Request, text: str, key: bytes) -> UserId:
        """Raises Unauthenticated, and Forbidden for what the token does not open."""
        token = read_token(key, text, time.time())
        if token is None:
            raise Unauthenticated("The token has lapsed, or was not made here.")
        if not token.opens(request.method, request.url.path):
            raise Forbidden(f"This token is for agent {token.agent_id} alone.")
        return UserId(token.user_id)

    @staticmethod
    def _check_password(request: Request, password: str) -> None:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        bare = request.headers.get("x-bare-password", "").removeprefix("password ")
        expected = password.encode()
        # Headers are read as Latin-1, so this gives back the bytes that were sent.
        if not any(hmac.compare_digest(given.encode("latin-1"), expected) for given in (bearer, bare)):
            raise Unauthenticated("The password is missing or wrong; send it as a bearer token.")


async def _acting_user(request: Request) -> Actor:
    auth: Auth = request.app.state.auth
    return await auth(request)


ActingUser = Annotated[Actor, Depends(_acting_user)]
"""What a route takes to know who asks; the app it belongs to holds the `Auth`."""
