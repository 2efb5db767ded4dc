"""The rules of providers that organisations bring: keys are sealed, addresses checked, models listed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remanence.core.actor import Actor
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.provider import ProviderRecord
from remanence.db.database import Database
from remanence.errors import BadArgument
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId, new_id
from remanence.kit.vault import Vault
from remanence.llm.adapters import Adapters
from remanence.llm.hosted import HostedSource, Provider
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.providers import repository
from remanence.llm.providers.schemas import ProviderAccess, ProviderCheck, ProviderCreate
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor

_FRESH_S = 15.0
"""After this long the database is asked again: another replica may have changed something."""
_MOST_ORGANIZATIONS = 1_000


@dataclass(slots=True)
class _Kept:
    read_at: float
    sources: dict[str, tuple[ProviderRecord, HostedSource]]
    """By the provider's id. A source lasts as long as its record, so that what it was told of models does."""


class ProviderService:
    def __init__(self, db: Database, vault: Vault, transport: Transport, adapters: Adapters) -> None:
        self._db = db
        self._vault = vault
        self._transport = transport
        self._adapters = adapters
        self._kept: dict[OrgId, _Kept] = {}

    async def create(self, actor: Actor, body: ProviderCreate) -> ProviderRecord:
        """Raises BadArgument and AlreadyExists; then nothing was made."""
        now = utc_now()
        record = ProviderRecord(
            id=new_id("provider"),
            organization_id=actor.organization_id,
            name=body.name,
            created_at=now,
            updated_at=now,
            created_by_id=actor.user_id,
            last_updated_by_id=actor.user_id,
            provider_type=get_vendor(body.provider_type).name,
            **self._sealed(body),
        )
        self._source(record)  # raises for an address that is none
        await self._db.write(repository.insert_provider, record)
        self._forget(actor)
        return record

    async def update(self, actor: Actor, provider_id: str, body: ProviderAccess) -> ProviderRecord:
        """What is null or absent stays. Raises NotFound and BadArgument."""
        changes = {key: value for key, value in self._sealed(body).items() if value is not None}
        record = await self._db.read(repository.get_provider, actor, provider_id)
        self._source(record.model_copy(update=changes))
        updated = await self._db.write(repository.update_provider, actor, provider_id, changes)
        self._forget(actor)
        return updated

    async def delete(self, actor: Actor, provider_id: str) -> None:
        """Agents that use its models keep their configuration, and fail until they get another."""
        await self._db.write(repository.delete_provider, actor, provider_id)
        self._forget(actor)

    async def check(self, body: ProviderCheck) -> str:
        """What was found. Raises BadArgument, and ProviderError where the provider will not have the key."""
        provider = Provider(
            "check",
            body.provider_type,
            body.base_url,
            body.api_key,
            "byok",
            access_key=body.access_key,
            region=body.region,
        )
        return await _try(HostedSource(provider, self._transport, self._adapters))

    async def check_existing(self, actor: Actor, provider_id: str) -> str:
        """Raises as `check`, and NotFound."""
        record = await self._db.read(repository.get_provider, actor, provider_id)
        return await _try(self._source(record))

    async def refresh(self, actor: Actor, provider_id: str) -> ProviderRecord:
        """Asks for its models now. Raises NotFound and ProviderError."""
        record = await self._db.read(repository.get_provider, actor, provider_id)
        await self.sources_of(actor.organization_id)
        kept = self._kept[actor.organization_id].sources.get(provider_id)
        await (kept[1] if kept else self._source(record)).sync()
        synced = utc_now()
        await self._db.write(repository.note_sync, provider_id, synced)
        return record.model_copy(update={"last_synced": synced})

    async def sources_of(self, organization_id: OrgId) -> Sequence[HostedSource]:
        kept = self._kept.get(organization_id)
        if kept is None or time.monotonic() - kept.read_at > _FRESH_S:
            records = await self._db.read(repository.list_all, organization_id)
            known = kept.sources if kept is not None else {}
            if len(self._kept) > _MOST_ORGANIZATIONS:
                self._kept.clear()
            kept = self._kept[organization_id] = _Kept(
                time.monotonic(), {record.id: self._renewed(record, known) for record in records}
            )
        return [source for _, source in kept.sources.values()]

    async def find_adapter(self, organization_id: OrgId, config: LLMConfig) -> ModelAdapter | None:
        sources = await self.sources_of(organization_id)
        return next((each.adapter(config) for each in sources if each.name == config.provider_name), None)

    async def find_embedder(self, organization_id: OrgId, config: EmbeddingConfig) -> Embedder | None:
        name = (config.handle or "").partition("/")[0]
        sources = await self.sources_of(organization_id)
        return next((each.embedder(config) for each in sources if each.name == name), None)

    def _renewed(
        self, record: ProviderRecord, known: dict[str, tuple[ProviderRecord, HostedSource]]
    ) -> tuple[ProviderRecord, HostedSource]:
        before = known.get(record.id)
        if before is not None and before[0].updated_at == record.updated_at:
            return before
        return record, self._source(record)

    def _source(self, record: ProviderRecord) -> HostedSource:
        provider = Provider(
            record.name,
            record.provider_type,
            record.base_url,
            self._vault.decrypt(record.api_key_enc) or None,
            "byok",
            access_key=self._vault.decrypt(record.access_key_enc) if record.access_key_enc else None,
            region=record.region,
        )
        return HostedSource(provider, self._transport, self._adapters)

    def _sealed(self, body: ProviderAccess) -> dict[str, Any]:
        if len(body.api_key) > 10_000:
            raise BadArgument("The key is longer than any provider's.")
        return {
            "api_key_enc": self._vault.encrypt(body.api_key),
            "access_key_enc": self._vault.encrypt(body.access_key) if body.access_key else None,
            "base_url": body.base_url,
            "region": body.region,
            "api_version": body.api_version,
        }

    def _forget(self, actor: Actor) -> None:
        kept = self._kept.get(actor.organization_id)
        if kept is not None:
            kept.read_at = float("-inf")


async def _try(source: HostedSource) -> str:
    found = await source.lister(source.vendor.name).check()
    return f"{source.vendor.name} accepts the key and lists {found} models."
