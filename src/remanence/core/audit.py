"""What the audit log says of a request."""

from datetime import datetime
from typing import NamedTuple


class AuditEntry(NamedTuple):
    """Light to make: one is left behind by every change, each message among them."""

    id: str
    created_at: datetime
    method: str
    route: str
    status: int
    organization_id: str | None = None
    user_id: str | None = None
    key_id: str | None = None
    """None for the password, and where nobody is asked who he is."""
    object_id: str | None = None
    ip: str | None = None
    request_id: str | None = None
