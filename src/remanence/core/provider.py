"""A provider of models that an organisation brought itself."""

from datetime import datetime

from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId, UserId


class ProviderRecord(Frozen):
    id: str
    organization_id: OrgId
    name: str
    """The first part of its handles."""
    provider_type: str
    base_url: str | None = None
    region: str | None = None
    api_version: str | None = None
    api_key_enc: str
    """Encrypted; so is the other."""
    access_key_enc: str | None = None
    created_at: datetime
    updated_at: datetime
    last_synced: datetime | None = None
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None
