"""Keys on the wire, and the access tokens that pages in browsers are given."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from remanence.core.access import Access, ApiKey, Role, Scope
from remanence.edge.fields import MAX_NUMBER, StoredMoment, StoredText
from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject

Name = Annotated[StoredText, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
ScopeId = Annotated[StoredText, StringConstraints(min_length=1, max_length=200)]


class ScopeGiven(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["organization", "project", "agent"]
    id: ScopeId


class KeyCreate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    role: Role = "user"
    scope: ScopeGiven | None = None
    expires_at: StoredMoment | None = None
    requests_per_minute: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None
    user_id: Annotated[str | None, Field(pattern=id_pattern("user"))] = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return (Scope(type=self.scope.type, id=self.scope.id),) if self.scope else ()


class AgentPolicy(BaseModel):
    type: Literal["agent"]
    id: Annotated[str, Field(pattern=id_pattern("agent"))]
    access: Annotated[list[Access], Field(min_length=1, max_length=4)]


class AccessTokenCreate(BaseModel):
    policy: Annotated[list[AgentPolicy], Field(min_length=1, max_length=100)]
    hostname: Annotated[StoredText, StringConstraints(pattern=r"^https?://[^/\s]+/?$", max_length=300)]
    expires_at: StoredMoment | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple(Scope(type="agent", id=each.id, access=tuple(each.access)) for each in self.policy)


def key_body(key: ApiKey) -> JsonObject:
    return {
        "id": key.id,
        "name": key.name,
        "kind": key.kind,
        "role": key.role,
        "scope": _scope_body(key.scopes[0]) if key.scopes else None,
        "hint": key.hint,
        "user_id": key.user_id,
        "organization_id": key.organization_id,
        "requests_per_minute": key.requests_per_minute,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "created_at": key.created_at,
    }


def token_body(key: ApiKey, token: str) -> JsonObject:
    data = [_scope_body(scope) | {"access": list(scope.access or ())} for scope in key.scopes]
    return {
        "token": token,
        "hostname": key.hostname,
        "expiresAt": key.expires_at,
        "policy": {"version": "1", "data": data},
    }


def _scope_body(scope: Scope) -> JsonObject:
    return {"type": scope.type, "id": scope.id}
