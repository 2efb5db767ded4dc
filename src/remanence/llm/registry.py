"""Who answers a call: from the configuration stored with an agent or archive to the way there."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from remanence.core.llm import Delta, EmbeddingConfig, LLMConfig, ModelRequest
from remanence.core.vector import Vector
from remanence.errors import ModelUnavailable
from remanence.kit.ids import OrgId
from remanence.llm.adapters import Adapters, format_of
from remanence.llm.addresses import normalise_base_url
from remanence.llm.embedding import HostedEmbedder
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.sources import ModelSource
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor


class OwnAdapters(Protocol):
    """The way to providers that organisations brought themselves."""

    async def find_adapter(self, organization_id: OrgId, config: LLMConfig) -> ModelAdapter | None: ...


class AdapterRegistry:
    def __init__(
        self, sources: Sequence[ModelSource], adapters: Adapters, own: OwnAdapters | None = None
    ) -> None:
        self._sources = sources
        self._adapters = adapters
        self._own = own

    async def stream(self, request: ModelRequest, organization_id: OrgId) -> AsyncGenerator[Sequence[Delta]]:
        """The answer of the model that is configured. Raises `ProviderError`, and as `adapter_for`."""
        adapter = await self.find_adapter(request.config, organization_id)
        async with aclosing(adapter.stream(request)) as batches:
            async for batch in batches:
                yield batch

    async def find_adapter(self, config: LLMConfig, organization_id: OrgId) -> ModelAdapter:
        """As `adapter_for`, or the organisation's own provider. Raises `ModelUnavailable` if that is gone."""
        if config.provider_category != "byok" or self._own is None:
            return self.adapter_for(config)
        adapter = await self._own.find_adapter(organization_id, config)
        if adapter is None:
            raise ModelUnavailable(
                f"The provider '{config.provider_name}' is gone: create it again, or choose another model."
            )
        return adapter

    def adapter_for(self, config: LLMConfig) -> ModelAdapter:
        """A configured source that serves this; else the address in the configuration, without a key.

        Raises `BadArgument` for an endpoint type that nobody here speaks.
        """
        for source in self._sources:
            if source.serves(config):
                return source.adapter(config)
        vendor = get_vendor(config.model_endpoint_type)
        typed = config.model_endpoint or vendor.base_url
        base_url = normalise_base_url(typed, default=vendor.base_url, version=vendor.version)
        format = format_of(vendor, base_url, config.model, typed_url=typed)
        return self._adapters.get(format, vendor, base_url, None, config.provider_name or vendor.name)


class EmbedderRegistry:
    def __init__(self, sources: Sequence[ModelSource], transport: Transport) -> None:
        self._sources = sources
        self._transport = transport

    async def embed(
        self, config: EmbeddingConfig, texts: Sequence[str], *, is_query: bool = False
    ) -> list[Vector]:
        """Raises ProviderError, and BadArgument for an endpoint type that nobody here speaks."""
        return await self.embedder_for(config).embed(texts, is_query=is_query)

    def embedder_for(self, config: EmbeddingConfig) -> Embedder:
        """As `AdapterRegistry.adapter_for`."""
        for source in self._sources:
            if source.embeds(config):
                return source.embedder(config)
        vendor = get_vendor(config.embedding_endpoint_type)
        typed = config.embedding_endpoint or vendor.base_url
        base_url = normalise_base_url(typed, default=vendor.base_url, version=vendor.version)
        return HostedEmbedder(
            self._transport, config, base_url=base_url, api_key=None, provider_name=vendor.name
        )
