"""The ring of keys: making them, knowing them again, and letting go of them.

A key is random and long, so one fast digest under the server's own secret is enough: whoever reads the
database can neither use nor make one. A key is looked up by its digest, so there is nothing to be timed.
"""

import hmac
import secrets
import time
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Connection

from remanence.accounts import repository as accounts
from remanence.accounts.keys import repository
from remanence.core.access import ApiKey, Grant, KeyKind, Role, Scope, allows
from remanence.core.actor import Actor
from remanence.db.database import Database
from remanence.errors import BadArgument, Forbidden, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import UserId, new_id

KEY_PREFIX = "rmn_"
SESSION_PREFIX = "rms_"
FRESH_S = 2.0
"""How long another replica may still take a key for good after it was revoked."""
TOKEN_LIFETIME = timedelta(minutes=5)
SESSION_LIFETIME = timedelta(hours=12)
_NOTED = timedelta(minutes=1)
_MOST_KNOWN = 10_000
_HINT_CHARS = 8


class KeyRing:
    def __init__(self, db: Database, signing_key: bytes, password: str | None = None) -> None:
        self._db = db
        self._secret = hmac.new(signing_key, b"api-keys", sha256).digest()
        # With another password every session is unknown: whoever knew the old one is signed out.
        self._session_secret = hmac.new(self._secret, f"sessions:{password or ''}".encode(), sha256).digest()
        self._known: dict[str, tuple[float, ApiKey]] = {}

    async def find(self, text: str) -> ApiKey | None:
        """The key behind this text; None if there is none, or it has expired."""
        digest = self._digest(text)
        read_at, key = self._known.get(digest, (float("-inf"), None))
        now = time.monotonic()
        if key is None or now - read_at > FRESH_S:
            key = await self._db.read(repository.find_key, digest)
            if key is None:
                self._known.pop(digest, None)
                return None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[digest] = (now, key)
            await self._note_use(key)
        return None if key.expires_at is not None and key.expires_at <= utc_now() else key

    async def create(
        self,
        grant: Grant,
        *,
        name: str,
        role: Role,
        scopes: tuple[Scope, ...] = (),
        kind: KeyKind = "key",
        user_id: str | None = None,
        hostname: str | None = None,
        expires_at: datetime | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[ApiKey, str]:
        """The key, and its text, which cannot be had again. Nobody hands on more than he has.

        Raises BadArgument, Forbidden and NotFound.
        """
        now = utc_now()
        if expires_at is not None and expires_at <= now:
            raise BadArgument("A key must not have expired before it is made; give a later expires_at.")
        actor = grant.actor
        if not allows(grant.role, role):
            raise Forbidden(f"This key {grant.describe()}; it cannot make one with the role {role}.")
        if user_id is not None and user_id != actor.user_id:
            actor = await self._find_user(grant, user_id)
        if role == "admin" and grant.scopes and not scopes:
            raise Forbidden(
                "An admin of one organisation makes admins of that organisation: give it as the scope."
            )
        if grant.until is not None:
            expires_at = min(expires_at or grant.until, grant.until)
        if (most := grant.key.requests_per_minute if grant.key else None) is not None:
            requests_per_minute = min(requests_per_minute or most, most)
        await self._db.read(_check_scopes, actor, scopes)
        key = ApiKey(
            id=new_id("key"),
            user_id=actor.user_id,
            organization_id=actor.organization_id,
            kind=kind,
            name=name,
            role=role,
            scopes=scopes,
            hint="",
            hostname=hostname,
            requests_per_minute=requests_per_minute,
            expires_at=expires_at,
            created_at=now,
        )
        return await self._save(key, KEY_PREFIX)

    async def sign_in(self, grant: Grant) -> tuple[ApiKey, str]:
        """A session that may do what was shown at the door, and ends with it."""
        now, key = utc_now(), grant.key
        ends = [now + SESSION_LIFETIME, *([grant.until] if grant.until else [])]
        session = ApiKey(
            id=new_id("key"),
            user_id=grant.actor.user_id,
            organization_id=grant.actor.organization_id,
            kind="session",
            name=key.name if key else "password",
            role=grant.role,
            scopes=grant.scopes,
            hint="",
            requests_per_minute=key.requests_per_minute if key else None,
            expires_at=min(ends),
            created_at=now,
            parent_id=(key.parent_id or key.id) if key else None,
        )
        return await self._save(session, SESSION_PREFIX)

    async def revoke(self, actor: Actor, key_id: str, *, everyones: bool) -> None:
        """Raises NotFound."""
        await self._delete(actor, {"id": key_id}, everyones=everyones)

    async def revoke_token(self, actor: Actor, text: str, *, everyones: bool) -> None:
        """By the token itself, as the published client does it, or by its id. Raises NotFound."""
        named = {"digest": self._digest(text)} if text.startswith(KEY_PREFIX) else {"id": text}
        await self._delete(actor, named | {"kind": "client"}, everyones=everyones)

    def forget(self) -> None:
        """Every key is asked for again."""
        self._known.clear()

    async def _note_use(self, key: ApiKey) -> None:
        """Seldom: nobody wants to know it by the second, and it is a write."""
        now = utc_now()
        if key.last_used_at is None or now - key.last_used_at > _NOTED:
            await self._db.write(repository.note_use, key.id, now)

    async def _delete(self, actor: Actor, named: dict[str, str], *, everyones: bool) -> None:
        user_id = None if everyones else actor.user_id
        await self._db.write(repository.delete_key, actor.organization_id, user_id=user_id, named=named)
        self._known.clear()  # with it the sessions that it has signed in

    async def _find_user(self, grant: Grant, user_id: str) -> Actor:
        if grant.role != "admin":
            raise Forbidden("Only an admin makes keys for others.")
        actor = await self._db.read(accounts.find_actor, UserId(user_id))
        if actor is None or (grant.scopes and actor.organization_id != grant.actor.organization_id):
            raise NotFound(f"There is no user {user_id}.")
        return actor

    async def _save(self, key: ApiKey, prefix: str) -> tuple[ApiKey, str]:
        text = prefix + secrets.token_urlsafe(32)
        key = key.model_copy(update={"hint": text[:_HINT_CHARS]})
        await self._db.write(repository.save_key, key, self._digest(text))
        return key, text

    def _digest(self, text: str) -> str:
        secret = self._session_secret if text.startswith(SESSION_PREFIX) else self._secret
        return hmac.new(secret, text.encode("utf-8", "replace"), sha256).hexdigest()


def _check_scopes(connection: Connection, actor: Actor, scopes: tuple[Scope, ...]) -> None:
    """Raises BadArgument."""
    for scope in scopes:
        if scope.type == "organization" and scope.id != actor.organization_id:
            raise BadArgument(f"A key of this user can only be for his organisation {actor.organization_id}.")
    agents = {scope.id for scope in scopes if scope.type == "agent"}
    if agents and not repository.has_agents(connection, actor.organization_id, agents):
        raise BadArgument("A key can only be for agents that there are; look at the ids in its scope.")
