"""Providers on the wire. Keys come in and never go out."""

from typing import Annotated

from pydantic import BaseModel, Field

from remanence.core.provider import ProviderRecord
from remanence.edge.fields import StoredText
from remanence.kit.json import JsonObject

ProviderName = Annotated[StoredText, Field(pattern=r"^[^/\s][^/]{0,63}$")]
"""It is the first part of a handle, so it has no slash."""


class ProviderAccess(BaseModel):
    api_key: StoredText
    access_key: StoredText | None = None
    region: StoredText | None = None
    base_url: StoredText | None = None
    api_version: StoredText | None = None


class ProviderCheck(ProviderAccess):
    provider_type: StoredText


class ProviderCreate(ProviderCheck):
    name: ProviderName


def provider_body(provider: ProviderRecord) -> JsonObject:
    return {
        "id": provider.id,
        "name": provider.name,
        "provider_type": provider.provider_type,
        "provider_category": "byok",
        "api_key": None,
        "base_url": provider.base_url,
        "access_key": None,
        "region": provider.region,
        "api_version": provider.api_version,
        "organization_id": provider.organization_id,
        "created_at": provider.created_at,
        "updated_at": provider.updated_at,
        "last_synced": provider.last_synced,
        "api_key_enc": None,
        "access_key_enc": None,
    }
