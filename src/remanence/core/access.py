"""What somebody may do here: a role, perhaps confined to a part of the house, and the key that carries both."""

from datetime import datetime
from typing import Literal, get_args

from pydantic import Field

from remanence.core.actor import Actor
from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId, UserId

Role = Literal["read_only", "user", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may."""

Access = Literal["read_messages", "write_messages", "read_agent", "write_agent"]
KeyKind = Literal["key", "client", "session"]
"""Made for a program; for a page in somebody's browser; by signing in."""


class Scope(Frozen):
    type: Literal["organization", "project", "agent"]
    id: str
    access: tuple[Access, ...] | None = None
    """What of an agent it opens; None for all that the role may."""


class ApiKey(Frozen):
    """A key as it is stored: what it opens and until when, and not the key itself."""

    id: str
    user_id: UserId
    organization_id: OrgId
    kind: KeyKind
    name: str
    role: Role
    scopes: tuple[Scope, ...] = ()
    hint: str
    hostname: str | None = None
    requests_per_minute: int | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    created_at: datetime
    parent_id: str | None = None
    parent_expires_at: datetime | None = None


class Grant(Frozen):
    """Who asks, and what he may do."""

    actor: Actor
    role: Role = "admin"
    scopes: tuple[Scope, ...] = ()
    key: ApiKey | None = Field(default=None)

    @property
    def is_unbounded(self) -> bool:
        return self.role == "admin" and not self.scopes

    @property
    def parts(self) -> tuple[Scope, ...]:
        """The projects and agents it is confined to; every query is confined to the organisation anyway."""
        return tuple(scope for scope in self.scopes if scope.type != "organization")

    @property
    def until(self) -> datetime | None:
        """When what it hands on must end. Somebody who has signed in is not bound by the end of his session."""
        if self.key is None:
            return None
        return self.key.parent_expires_at if self.key.kind == "session" else self.key.expires_at

    def describe(self) -> str:
        """For people: what this opens."""
        what = {"admin": "do everything", "user": "read and write", "read_only": "read"}[self.role]
        where = " or ".join(f"{each.type} {each.id}" for each in self.scopes)
        limits = sorted({word for each in self.scopes for word in each.access or ()})
        return (
            f"may {what}" + (f" in {where}" if where else "") + (f" ({', '.join(limits)})" if limits else "")
        )


def allows(held: Role, needed: Role) -> bool:
    return ROLES.index(held) >= ROLES.index(needed)
