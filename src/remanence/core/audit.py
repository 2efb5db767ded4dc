"""What the audit log says of a request."""

from datetime import datetime

from remanence.core.frozen import Frozen


class AuditEntry(Frozen):
    id: str
    created_at: datetime
    organization_id: str | None = None
    user_id: str | None = None
    key_id: str | None = None
    """None for the password, and where nobody is asked who he is."""
    method: str
    route: str
    object_id: str | None = None
    status: int
    ip: str | None = None
    request_id: str | None = None
