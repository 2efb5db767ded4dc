"""Which requests the audit log tells of: changes, sign-ins, and whatever was refused at the door."""

from collections.abc import Callable
from functools import cache
from typing import Any

from starlette.types import Scope

from remanence.accounts import rules
from remanence.core.access import Grant
from remanence.core.audit import AuditEntry
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id
from remanence.kit.logging import request_id

_REFUSED = frozenset({401, 403, 429})


def watcher(note: Callable[[AuditEntry], None]) -> Callable[[Scope, int], None]:
    """To be told of each answer that begins. A route may say what it was about in `request.state.object_id`."""

    def watch(scope: Scope, status: int) -> None:
        route: Any = scope.get("route")
        if route is None or not (status in _REFUSED or _is_told(scope["method"], route.path)):
            return
        state: dict[str, Any] = scope.get("state", {})
        grant: Grant | None = state.get("grant")
        client = scope.get("client")
        note(
            AuditEntry(
                id=new_id("audit"),
                created_at=utc_now(),
                organization_id=grant.actor.organization_id if grant else None,
                user_id=grant.actor.user_id if grant else None,
                key_id=grant.key.id if grant and grant.key else None,
                method=scope["method"],
                route=route.path,
                object_id=state.get("object_id") or _object_of(scope.get("path_params", {})),
                status=status,
                ip=client[0] if client else None,
                request_id=request_id.get(),
            )
        )

    return watch


@cache
def _is_told(method: str, route: str) -> bool:
    return (route == "/v1/session/" and method != "GET") or not rules.is_reading(method, rules.plain(route))


def _object_of(named: dict[str, Any]) -> str | None:
    """The last id of the address: of what is inside, and not of what it is in."""
    return next((str(value) for name, value in reversed(named.items()) if name.endswith("_id")), None)
