"""Sessions on the wire."""

from pydantic import BaseModel

from remanence.core.access import Grant
from remanence.kit.json import JsonObject


class SignIn(BaseModel):
    password: str = ""
    """Or a key."""


def session_body(grant: Grant) -> JsonObject:
    key = grant.key
    return {
        "user_id": grant.actor.user_id,
        "organization_id": grant.actor.organization_id,
        "role": grant.role,
        "scope": [{"type": scope.type, "id": scope.id} for scope in grant.scopes],
        "is_session": key is not None and key.kind == "session",
        "expires_at": key.expires_at if key else None,
    }
