"""Models and embedding models as the REST API lists them: the new keys first, the older configuration after."""

from remanence.kit.json import JsonObject
from remanence.llm.prices import Rates
from remanence.llm.sources import EmbeddingInfo, ModelInfo


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
