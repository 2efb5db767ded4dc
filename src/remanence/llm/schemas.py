"""Models and embedding models as the REST API lists them: the new keys first, the older configuration after."""

from typing import Annotated

from pydantic import AfterValidator

from remanence.core.llm import EmbeddingConfig
from remanence.kit.json import JsonObject
from remanence.llm.prices import Rates
from remanence.llm.sources import EmbeddingInfo, ModelInfo
from remanence.llm.vendors import VENDORS, find_vendor

_OTHER_TYPES = {"local", "letta", "koboldcpp", "lmstudio-legacy", "pinecone", "webui", "webui-legacy"}
"""Of embedding endpoints: the one inside, and those that older configurations may name."""


def _check_type(config: EmbeddingConfig) -> EmbeddingConfig:
    given = config.embedding_endpoint_type
    if find_vendor(given) is None and given not in _OTHER_TYPES:
        known = ", ".join(sorted(vendor.name for vendor in VENDORS))
        raise ValueError(f"embedding_endpoint_type {given!r} is not known; there are: {known}")
    return config


GivenEmbedding = Annotated[EmbeddingConfig, AfterValidator(_check_type)]
"""An embedding configuration as clients write it."""


def model_out(model: ModelInfo) -> JsonObject:
    config = model.llm_config().model_dump(mode="json", exclude={"handle", "display_name", "provider_name"})
    return {
        "handle": model.handle,
        "name": model.name,
        "display_name": model.display_name or model.name,
        "provider_type": model.provider_type,
        "provider_name": model.provider_name,
        "model_type": "llm",
        **config,
        "max_context_window": model.max_context_window,
    }


def embedding_model_out(model: EmbeddingInfo) -> JsonObject:
    config = model.embedding_config().model_dump(mode="json", exclude={"handle"})
    return {
        "handle": model.handle,
        "name": model.name,
        "display_name": model.name,
        "provider_type": model.provider_type,
        "provider_name": model.provider_name,
        "model_type": "embedding",
        **config,
    }


def rates_out(rates: Rates) -> JsonObject:
    """US dollars per million tokens."""
    return {
        "prompt": round(rates.prompt * 1e6, 6),
        "completion": round(rates.completion * 1e6, 6),
        "cache_read": round(rates.cache_read * 1e6, 6),
        "cache_write": round(rates.cache_write * 1e6, 6),
    }
