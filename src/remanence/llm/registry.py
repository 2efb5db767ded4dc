"""Who answers a call: from the configuration stored with an agent or archive to the way there."""

from collections.abc import Sequence

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.llm.adapters import Adapters, format_of
from remanence.llm.addresses import normalise_base_url
from remanence.llm.embedding import HostedEmbedder
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.sources import ModelSource
from remanence.llm.transport import Transport
from remanence.llm.vendors import get_vendor


class AdapterRegistry:
    def __init__(self, sources: Sequence[ModelSource], adapters: Adapters) -> None:
        self._sources = sources
        self._adapters = adapters

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
