"""Models and embedding models as the REST API lists them: the new keys first, the older configuration after."""

from remanence.kit.json import JsonObject
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
