"""A provider reached over HTTP as a source of models: its list, its address and its key."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.vector import dimensions_of
from remanence.errors import BadArgument, ProviderError, ProviderRefused
from remanence.llm import claude_models, gemini_options
from remanence.llm.adapters import Adapters, format_of
from remanence.llm.addresses import is_same_origin, normalise_base_url
from remanence.llm.clouds import Access, home_of, signer_of
from remanence.llm.embedding import HostedEmbedder
from remanence.llm.keys import Site
from remanence.llm.known_models import KnownModels, known_models
from remanence.llm.listing import Lister
from remanence.llm.model_lists import ListedModel, is_language_model
from remanence.llm.openai_models import is_reasoning_model
from remanence.llm.ports import Embedder, ModelAdapter
from remanence.llm.prices import load_windows
from remanence.llm.sources import DEFAULT_CONTEXT_WINDOW, EmbeddingInfo, ModelInfo
from remanence.llm.transport import Transport
from remanence.llm.vendors import Format, Vendor, find_vendor, get_vendor

_REASONING_BUDGET = 1_024

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Provider:
    """A configured provider, in plain values."""

    name: str
    """The first part of its handles."""
    vendor: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    category: Literal["base", "byok"] = "base"
    is_found: bool = False
    """Nobody set it: it may be there or not."""
    access_key: str | None = field(default=None, repr=False)
    region: str | None = None
    project: str | None = None

    def access(self) -> Access:
        return Access(
            self.api_key, self.access_key, self.region, self.project, may_use_ours=self.category == "base"
        )


class HostedSource:
    """A `ModelSource`. Raises `BadArgument` for an unknown vendor or a base URL that is none."""

    def __init__(self, provider: Provider, transport: Transport, adapters: Adapters) -> None:
        self._provider = provider
        self._transport = transport
        self._adapters = adapters
        self._vendor = get_vendor(provider.vendor)
        access = provider.access()
        self._home = "" if provider.base_url and self._vendor.cloud else home_of(self._vendor, access)
        typed = provider.base_url or self._home
        if not typed:
            raise BadArgument(f"{self._vendor.name} has no address of its own: give a base URL.")
        self._base_url = self._normalise(typed)
        self._is_own_host = self._base_url == self._home or self._vendor.cloud is not None
        self._sign = signer_of(self._vendor, access, self._base_url)
        self._key = provider.api_key if self._sign is None else None
        """What goes over the wire as it is."""
        self._known = known_models(self._vendor.known_as or self._vendor.name)
        if self._vendor.cloud is not None:
            self._known = KnownModels(self._known.models)  # vectors are asked for in ways of their own there
        self._dimensions: dict[str, int] = {}
        """Of vectors, learned by asking for one."""
        self._windows: dict[str, int] = {}
        """Of models whose list does not tell them."""
        self._listed: dict[str, ListedModel] | None = {} if provider.is_found else None

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def vendor(self) -> Vendor:
        return self._vendor

    @property
    def base_url(self) -> str:
        return self._base_url

    def models(self) -> Sequence[ModelInfo]:
        """The provider's own list; the shipped table as long as there is none."""
        if self._listed is None:
            return [self._info(ListedModel(name)) for name in self._known.models]
        is_openai = self._vendor.name == "openai" and self._is_own_host
        return [
            self._info(model)
            for name, model in sorted(self._listed.items())
            if not model.is_embedding and is_language_model(name, is_openai=is_openai)
        ]

    def embeddings(self) -> Sequence[EmbeddingInfo]:
        """Those of known dimensions, since few lists tell them."""
        known = self._known.embeddings
        if not self._listed:
            return [self._embedding(name, size) for name, size in known.items()]
        sizes = {
            name: known.get(name) or (model.dimensions if model.is_embedding else None)
            for name, model in self._listed.items()
        }
        return [self._embedding(name, size) for name, size in sizes.items() if size]

    def find_model(self, name: str) -> ModelInfo | None:
        listed = (self._listed or {}).get(name)
        if listed is None and self._known.find(name) is not None:
            listed = ListedModel(name)
        return self._info(listed) if listed is not None else None

    def find_embedding(self, name: str) -> EmbeddingInfo | None:
        size = self._known.embeddings.get(name) or self._dimensions.get(name)
        if size is not None:
            return self._embedding(name, size)
        return next((each for each in self.embeddings() if each.name == name), None)

    async def ask_embedding(self, name: str) -> EmbeddingInfo | None:
        found = self.find_embedding(name)
        if found is None and ((self._listed or {}).get(name) is not None or "embed" in name.lower()):
            config = self._embedding(name, 1).embedding_config()
            try:
                [vector] = await self.embedder(config).embed(["How long is a vector?"])
            except ProviderRefused:
                return None
            self._dimensions[name] = dimensions_of(vector)
            found = self._embedding(name, self._dimensions[name])
        return found

    async def refresh(self) -> None:
        try:
            await self.sync()
        except ProviderError as error:
            # A server of one's own that is gone offers nothing; nobody is to be told where nobody was promised.
            if self._vendor.is_local and self._listed is not None:
                self._listed = {}
            level = logging.DEBUG if self._provider.is_found else logging.WARNING
            log.log(level, "No list of models from %s: %s", self.name, error.message)

    async def sync(self) -> None:
        """As `refresh`, but raises `ProviderError`."""
        fetched = await self.lister(self.name).fetch()
        if not fetched:
            return
        untold = [
            model.name for model in fetched if model.context is None and not self._known.find(model.name)
        ]
        self._windows |= await load_windows(self._vendor.prices if self._is_own_host else None, untold)
        self._listed = {model.name: model for model in fetched}

    def lister(self, provider: str) -> Lister:
        """`provider` is what it is called in errors."""
        site = Site(self._vendor, self._base_url, self._key, provider, self._sign)
        return Lister(self._transport, site)

    def serves(self, config: LLMConfig) -> bool:
        if find_vendor(config.model_endpoint_type) is not self._vendor and (
            config.model_endpoint_type != self._vendor.model_endpoint_type
        ):
            return False
        if config.provider_name:
            return config.provider_name in (self.name, *self._vendor.aliases)
        return find_vendor(config.model_endpoint_type) is self._vendor

    def adapter(self, config: LLMConfig) -> ModelAdapter:
        """The address of a configuration that was made from a handle follows the provider's.

        So agents keep working when the provider moves. An address that somebody wrote into the
        configuration is used, but the key goes nowhere except to the servers it was issued for.
        """
        is_ours = config.handle is not None and config.provider_category is not None
        given = None if is_ours else config.model_endpoint
        base_url, api_key, is_foreign = self._way_to(given)
        format = format_of(self._vendor, base_url, config.model, typed_url=given or self._provider.base_url)
        sign = self._sign if base_url == self._base_url else None
        return self._adapters.get(
            format, self._vendor, base_url, api_key, self.name, sign, is_foreign=is_foreign
        )

    def embeds(self, config: EmbeddingConfig) -> bool:
        if config.handle is not None:
            return config.handle.partition("/")[0] in (self.name, self._vendor.name, *self._vendor.aliases)
        return config.embedding_endpoint_type == self._vendor.model_endpoint_type

    def embedder(self, config: EmbeddingConfig) -> Embedder:
        given = None if config.handle is not None else config.embedding_endpoint
        base_url, api_key, is_foreign = self._way_to(given)
        sign = self._sign if base_url == self._base_url else None
        site = Site(self._vendor, base_url, api_key, self.name, sign, is_foreign)
        return HostedEmbedder(self._transport, config, site)

    def _way_to(self, given: str | None) -> tuple[str, str | None, bool]:
        """The address to use, the key, which goes nowhere except to the servers it was issued for, and
        whether it is another address than this provider's."""
        if not given:
            return self._base_url, self._key, False
        asked = self._normalise(given)
        if asked == self._home:
            asked = self._base_url
        is_known = any(is_same_origin(asked, own) for own in (self._base_url, self._home) if own)
        return asked, self._key if is_known else None, not is_known

    def _normalise(self, typed: str) -> str:
        vendor = self._vendor
        return normalise_base_url(typed, default=self._home, version=vendor.version)

    def _info(self, listed: ListedModel) -> ModelInfo:
        known = self._known.find(listed.name)
        thinks = known.reasoning if known else self._seems_to_think(listed)
        table = known.context if known else self._windows.get(listed.name)
        has_budget = thinks and self._format(listed.name) in ("anthropic", "gemini")
        return ModelInfo(
            handle=f"{self.name}/{listed.name}",
            name=listed.name,
            display_name=listed.display_name,
            provider_type=self._vendor.name,
            provider_name=self.name,
            endpoint_type=self._vendor.model_endpoint_type,
            endpoint=self._base_url,
            max_context_window=listed.context or table or DEFAULT_CONTEXT_WINDOW,
            max_output_tokens=listed.output or (known.output if known else None),
            is_reasoning=thinks,
            reasoning_budget=_REASONING_BUDGET if has_budget else 0,
            provider_category=self._provider.category,
        )

    def _seems_to_think(self, listed: ListedModel) -> bool:
        if listed.thinks is not None:
            return listed.thinks
        quirks = self._vendor.quirks
        match self._format(listed.name):
            case "anthropic":
                return claude_models.thinks(listed.name)
            case "gemini":
                return gemini_options.thinks(listed.name)
            case _:
                is_openai = quirks.has_openai_models and is_reasoning_model(listed.name)
                return quirks.has_thinking_switch or is_openai

    def _format(self, model: str) -> Format:
        return format_of(self._vendor, self._base_url, model)

    def _embedding(self, name: str, dimensions: int) -> EmbeddingInfo:
        return EmbeddingInfo(
            handle=f"{self.name}/{name}",
            name=name,
            provider_type=self._vendor.name,
            provider_name=self.name,
            endpoint_type=self._vendor.model_endpoint_type,
            endpoint=self._base_url,
            dimensions=dimensions,
        )
