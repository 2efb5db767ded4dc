"""The door: knows who asks by a password, a key or a session, and lets nobody do what is not his to do."""

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from remanence.accounts import repository, rules
from remanence.accounts.agent_token import is_token, read_token
from remanence.accounts.keys.service import KEY_PREFIX, SESSION_PREFIX, KeyRing
from remanence.accounts.limits import RateLimits
from remanence.accounts.scopes.checking import check_scope, read_body
from remanence.core.access import Grant, Scope, allows
from remanence.core.actor import Actor
from remanence.db.database import Database
from remanence.errors import BadArgument, Forbidden, Unauthenticated
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, OrgId, UserId, is_id

_DEFAULT = Grant(actor=Actor(user_id=DEFAULT_USER_ID, organization_id=DEFAULT_ORG_ID))
OWN_PAGE = "x-remanence-page"
"""Pages of other origins cannot send it without being asked about first, and we never agree."""
_MOST_KNOWN = 10_000
_FRESH_S = 5.0
"""After so long it is asked again whether a user is still there."""


class Auth:
    """Calling it with a request gives the grant. Raises Unauthenticated, Forbidden and BadArgument."""

    def __init__(
        self,
        db: Database,
        ring: KeyRing,
        *,
        password: str | None,
        signing_key: bytes,
        on_organization: Callable[[OrgId], Awaitable[None]],
        limits: RateLimits | None = None,
        cookie: str = "remanence",
    ) -> None:
        self._db = db
        self._ring = ring
        self._password = password
        self._signing_key = signing_key
        self._on_organization = on_organization
        self._limits = limits or RateLimits(None)
        self.cookie = cookie
        self._users: dict[str, tuple[float, Grant]] = {}
        self._known_organizations: set[OrgId] = {DEFAULT_ORG_ID}

    @property
    def is_on(self) -> bool:
        return self._password is not None

    async def __call__(self, request: Request) -> Grant:
        grant = await self._recognise(request)
        request.state.grant = grant
        if grant.key is not None:
            self._limits.take(grant.key)
        if not grant.is_unbounded:
            await self._check_rules(request, grant)
        return grant

    async def admit(self, request: Request, text: str) -> Grant:
        """What this password or key opens by itself. Raises Unauthenticated and TooManyRequests."""
        if text.startswith(KEY_PREFIX):
            grant = await self._read_key(request, text)
        else:
            if self._password is not None and not hmac.compare_digest(text.encode(), self._password.encode()):
                raise Unauthenticated("That is neither the password nor a key.")
            grant = await self._find(request.headers.get("user_id"))
        request.state.grant = grant
        if grant.key is not None:
            self._limits.take(grant.key)
        return grant

    def forget(self) -> None:
        """Who is who is asked again."""
        self._users.clear()
        self._ring.forget()

    async def _recognise(self, request: Request) -> Grant:
        headers = request.headers
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        bare = headers.get("x-bare-password", "").removeprefix("password ")
        if is_token(bearer):
            return await self._read_agent_token(bearer)
        for given in (bearer, bare):
            if given.startswith(KEY_PREFIX):
                return await self._read_key(request, given)
        if self._password is not None:
            if not (bearer or bare) and (session := request.cookies.get(self.cookie)) is not None:
                return await self._read_session(request, session)
            self._check_password((bearer, bare), self._password)
        return await self._find(request.headers.get("user_id"))

    async def _find(self, user_id: str | None) -> Grant:
        """Everything as this user; as the default one if none is named, or one that nobody has."""
        if user_id is None or user_id == DEFAULT_USER_ID:
            return _DEFAULT
        if not is_id(user_id, "user"):
            raise BadArgument(f"The header user_id must look like {DEFAULT_USER_ID}, not {user_id!r}.")
        read_at, grant = self._users.get(user_id, (float("-inf"), None))
        now = time.monotonic()
        if grant is None or now - read_at > _FRESH_S:
            # An id that nobody has is the default user: clients of the former server rely on it.
            actor = await self._db.read(repository.find_actor, UserId(user_id))
            if actor is None:
                return _DEFAULT
            if len(self._users) >= _MOST_KNOWN:
                self._users.clear()
            grant = Grant(actor=actor)
            self._users[user_id] = (now, grant)
            await self._furnish(actor)
        return grant

    async def _furnish(self, actor: Actor) -> None:
        if actor.organization_id not in self._known_organizations:
            await self._on_organization(actor.organization_id)
            self._known_organizations.add(actor.organization_id)

    async def _read_agent_token(self, text: str) -> Grant:
        token = read_token(self._signing_key, text, time.time())
        if token is None:
            raise Unauthenticated("The token has lapsed, or was not made here.")
        acting = await self._find(token.user_id)
        return Grant(actor=acting.actor, role="user", scopes=(Scope(type="agent", id=token.agent_id),))

    async def _read_key(self, request: Request, text: str) -> Grant:
        key = await self._ring.find(text)
        if key is None:
            raise Unauthenticated("There is no such key, or it has expired.")
        origin = request.headers.get("origin")
        if key.hostname is not None and origin is not None and origin != key.hostname:
            raise Forbidden(f"This token is for pages of {key.hostname}.")
        own = Actor(user_id=key.user_id, organization_id=key.organization_id)
        grant = Grant(actor=own, role=key.role, scopes=key.scopes, key=key)
        named = request.headers.get("user_id")
        if named is not None and named != key.user_id:
            acting = (await self._find(named)).actor if grant.role == "admin" else None
            if acting is None or (grant.scopes and acting.organization_id != own.organization_id):
                raise Forbidden("This key acts as its own user; leave the header user_id out.")
            grant = grant.model_copy(update={"actor": acting})
        await self._furnish(grant.actor)
        return grant

    async def _read_session(self, request: Request, text: str) -> Grant:
        """Browsers send cookies along with whatever any page has them send; our own pages say who they are."""
        if request.method not in rules.SAFE and OWN_PAGE not in request.headers:
            raise Forbidden(
                f"Signed in by a cookie, changes need the header {OWN_PAGE}, as our own pages send it."
            )
        if not text.startswith(SESSION_PREFIX):
            raise Unauthenticated("This is no session.")
        return await self._read_key(request, text)

    @staticmethod
    def _check_password(given: tuple[str, ...], password: str) -> None:
        expected = password.encode()
        # Headers are read as Latin-1, so this gives back the bytes that were sent.
        if not any(hmac.compare_digest(each.encode("latin-1"), expected) for each in given):
            raise Unauthenticated("The password is missing or wrong; send it as a bearer token.")

    async def _check_rules(self, request: Request, grant: Grant) -> None:
        """Raises Forbidden, saying what the key may do."""
        route = rules.plain(request.scope["route"].path)
        needed = rules.needed_role(request.method, route)
        if not allows(grant.role, needed):
            raise Forbidden(f"This key {grant.describe()}; this needs the role {needed}.")
        may_start = grant.role == "admin" or not route.startswith(rules.PROGRAMS)
        if not may_start and rules.starts_program(await read_body(request)):
            raise Forbidden(f"This key {grant.describe()}; starting a program here needs the role admin.")
        if grant.scopes and route.startswith(rules.UNCONFINED):
            raise Forbidden(f"This key {grant.describe()}; this spans organisations.")
        if grant.parts:
            await check_scope(self._db, request, grant, route)


async def _acting_user(request: Request) -> Actor:
    auth: Auth = request.app.state.auth
    return (await auth(request)).actor


ActingUser = Annotated[Actor, Depends(_acting_user)]
"""What a route takes to know who asks; the app it belongs to holds the `Auth`."""


async def _current_grant(request: Request, _actor: ActingUser) -> Grant:
    return request.state.grant


CurrentGrant = Annotated[Grant, Depends(_current_grant)]
"""For the few routes that hand on what the asker may do himself."""
