"""Who answers a call: from the configuration stored with an agent or archive to the way there."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from remanence.core.llm import Delta, EmbeddingConfig, Finished, LLMConfig, ModelRequest
from remanence.core.vector import Vector
from remanence.errors import BadArgument, ModelUnavailable, NotFound, ProviderError
from remanence.kit.ids import OrgId
from remanence.llm.adapters import Adapters, format_of
from remanence.llm.addresses import normalise_base_url
from remanence.llm.embedding import HostedEmbedder
from remanence.llm.failures import is_out_of_reach
from remanence.llm.keys import Site
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.prices import price_of
from remanence.llm.sources import ModelSource
from remanence.llm.transport import Transport
from remanence.llm.vendors import find_vendor, get_vendor

log = logging.getLogger(__name__)

Resolve = Callable[[str, OrgId], Awaitable[LLMConfig]]
"""From a handle to the configuration of its model."""


class OwnAdapters(Protocol):
    """The way to providers that organisations brought themselves."""

    async def find_adapter(self, organization_id: OrgId, config: LLMConfig) -> ModelAdapter | None: ...


class OwnEmbedders(Protocol):
    async def find_embedder(self, organization_id: OrgId, config: EmbeddingConfig) -> Embedder | None: ...


class AdapterRegistry:
    def __init__(
        self,
        sources: Sequence[ModelSource],
        adapters: Adapters,
        own: OwnAdapters | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self._sources = sources
        self._adapters = adapters
        self._own = own
        self._resolve = resolve

    async def stream(
        self,
        request: ModelRequest,
        organization_id: OrgId,
        may_spend: Callable[[], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Sequence[Delta]]:
        """The answer of the model that is configured, or of the first that steps in, with its price.

        Raises `ProviderError` of the last one asked, and as `adapter_for` and `may_spend`.
        """
        if may_spend is not None:
            await may_spend()
        config = request.config
        others = list(config.fallback_models or ())
        while True:
            has_begun = False
            try:
                adapter = await self.find_adapter(config, organization_id)
                asked = request if config is request.config else replace(request, config=config)
                async with aclosing(adapter.stream(asked)) as batches:
                    async for batch in batches:
                        has_begun = True
                        last = batch[-1]
                        if isinstance(last, Finished):
                            await _note_end(last, config, request.config)
                        yield batch
                return
            except ProviderError as error:
                if has_begun or not others or self._resolve is None or not is_out_of_reach(error):
                    raise
                log.warning("%s; %s steps in", error.message, others[0])
                config = await self._stand_in(others.pop(0), request.config, organization_id, error)
                if request.tape is not None:
                    request.tape.answered_by = config

    async def _stand_in(
        self, handle: str, asked: LLMConfig, organization_id: OrgId, error: ProviderError
    ) -> LLMConfig:
        """Another model with the habits of the first, as far as it can have them."""
        assert self._resolve is not None
        try:
            found = await self._resolve(handle, organization_id)
        except (NotFound, BadArgument) as missing:
            log.warning("The model that was to step in is not to be had: %s", missing.message)
            raise error from missing
        kept = (
            "temperature",
            "parallel_tool_calls",
            "response_format",
            "strict",
            "put_inner_thoughts_in_kwargs",
        )
        return found.model_copy(update={name: getattr(asked, name) for name in kept})

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
        if vendor.cloud is not None:
            raise BadArgument(f"{vendor.name} is not configured here, and cannot be asked without keys.")
        typed = config.model_endpoint or vendor.base_url
        base_url = normalise_base_url(typed, default=vendor.base_url, version=vendor.version)
        format = format_of(vendor, base_url, config.model, typed_url=typed)
        return self._adapters.get(
            format,
            vendor,
            base_url,
            None,
            config.provider_name or vendor.name,
            is_foreign=config.model_endpoint is not None,
        )


class EmbedderRegistry:
    def __init__(
        self, sources: Sequence[ModelSource], transport: Transport, own: OwnEmbedders | None = None
    ) -> None:
        self._sources = sources
        self._transport = transport
        self._own = own

    async def embed(
        self,
        config: EmbeddingConfig,
        texts: Sequence[str],
        *,
        organization_id: str | None = None,
        is_query: bool = False,
    ) -> list[Vector]:
        """Raises ProviderError, and BadArgument for an endpoint type that nobody here speaks."""
        own = None
        if self._own is not None and organization_id is not None and config.handle is not None:
            own = await self._own.find_embedder(OrgId(organization_id), config)
        return await (own or self.embedder_for(config)).embed(texts, is_query=is_query)

    def embedder_for(self, config: EmbeddingConfig) -> Embedder:
        """As `AdapterRegistry.adapter_for`."""
        for source in self._sources:
            if source.embeds(config):
                return source.embedder(config)
        vendor = get_vendor(config.embedding_endpoint_type)
        typed = config.embedding_endpoint or vendor.base_url
        base_url = normalise_base_url(typed, default=vendor.base_url, version=vendor.version)
        is_foreign = config.embedding_endpoint is not None
        site = Site(vendor, base_url, None, vendor.name, is_foreign=is_foreign)
        return HostedEmbedder(self._transport, config, site)


async def _note_end(last: Finished, config: LLMConfig, asked: LLMConfig) -> None:
    """What the answer cost, and who gave it."""
    vendor = find_vendor(config.provider_name or "") or find_vendor(config.model_endpoint_type)
    if vendor is not None and vendor.prices is not None:
        cost = await price_of(vendor.prices, config.model, last.usage)
        if cost is not None:
            last.usage = replace(last.usage, cost_nanos=round(cost * 1e9))
    if config is not asked:
        last.answered_by = config
