"""Reading the lists of models that providers give; most tell a name and little else."""

import re
from dataclasses import dataclass, replace
from typing import Any, cast

from remanence.errors import BadReply
from remanence.kit.json import JsonObject

_OPENAI_CHAT = re.compile(r"^(gpt-|chatgpt-|o\d)")
# Of OpenAI's own: other media, other APIs, and models that take no tools.
_OPENAI_OTHER = re.compile(r"audio|realtime|transcribe|tts|image|instruct|search|deep-research|moderation")
_ELSEWHERE_OTHER = re.compile(
    r"embed|whisper|rerank|transcribe|dall-e|moderation|-image(-|$)|(^|[-_/])tts([-_]|$)"
)
_OLLAMA_DEFAULT = 32_768
"""What a model of Ollama's is taken to have until it has been loaded: it is loaded with less than it could."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    name: str
    context: int | None = None
    output: int | None = None
    display_name: str | None = None
    thinks: bool | None = None
    is_embedding: bool = False
    dimensions: int | None = None
    """Of its vectors."""


def read_model_list(body: Any) -> list[ListedModel]:
    """All models of a list, in the shape of OpenAI's or one of its relatives. Raises `BadReply`."""
    entries: Any = cast("JsonObject", body).get("data") if isinstance(body, dict) else body
    if not isinstance(entries, list):
        raise BadReply("The provider's list of models is not understood")
    found = (
        _read_entry(cast("JsonObject", entry))
        for entry in cast("list[Any]", entries)
        if isinstance(entry, dict)
    )
    return [model for model in found if model is not None]


def is_language_model(name: str, *, is_openai: bool) -> bool:
    """From the name alone, since lists mix all kinds."""
    lowered = name.lower()
    if is_openai:
        return _OPENAI_CHAT.search(lowered) is not None and _OPENAI_OTHER.search(lowered) is None
    return _ELSEWHERE_OTHER.search(lowered) is None


def _read_entry(entry: JsonObject) -> ListedModel | None:
    name = entry.get("id") or entry.get("name")
    if not isinstance(name, str) or not name:
        return None
    if entry.get("type") in ("image", "audio", "rerank", "moderation", "transcribe"):
        return None
    if entry.get("lifecycle") == "retired":  # Anthropic
        return None
    top: JsonObject = entry.get("top_provider") or {}  # OpenRouter
    meta: JsonObject = entry.get("meta") or {}  # llama.cpp
    return ListedModel(
        name=name,
        context=_number(
            entry.get("context_length"),  # OpenRouter, Together, Fireworks
            entry.get("context_window"),  # Groq
            entry.get("max_model_len"),  # vLLM, SGLang
            entry.get("max_context_length"),  # Mistral
            entry.get("max_input_tokens"),  # Anthropic
            meta.get("n_ctx"),
            meta.get("n_ctx_train"),
        ),
        output=_number(
            entry.get("max_completion_tokens"),
            top.get("max_completion_tokens"),
            entry.get("max_tokens"),  # Anthropic
        ),
        is_embedding=entry.get("type") == "embedding",
        display_name=_text(entry.get("display_name") or (entry.get("name") if entry.get("id") else None)),
    )


def read_gemini_list(body: Any) -> list[ListedModel]:
    """Google's list, with the limits of each model. Raises `BadReply`."""
    entries: Any = cast("JsonObject", body).get("models") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise BadReply("The provider's list of models is not understood")
    listed: list[ListedModel] = []
    for entry in cast("list[JsonObject]", entries):
        methods: list[str] = entry.get("supportedGenerationMethods") or ["generateContent"]
        is_embedding = "embedContent" in methods
        if "generateContent" in methods or is_embedding:
            listed.append(
                ListedModel(
                    name=str(entry["name"]).removeprefix("models/"),
                    context=_number(entry.get("inputTokenLimit")),
                    output=_number(entry.get("outputTokenLimit")),
                    display_name=_text(entry.get("displayName")),
                    thinks=entry.get("thinking"),
                    is_embedding=is_embedding,
                )
            )
    return listed


def read_bedrock_lists(offered: Any, profiles: JsonObject) -> list[ListedModel]:
    """Models that can be asked by their own name, and profiles that stand for others. Raises `BadReply`.

    Only those are of use whose format is spoken here: Claude, and OpenAI's.
    """
    if not isinstance(offered, dict):
        raise BadReply("The provider's list of models is not understood")
    models: list[JsonObject] = cast("JsonObject", offered).get("modelSummaries") or []
    stand_ins: list[JsonObject] = profiles.get("inferenceProfileSummaries") or []
    names = [
        (each["modelId"], each.get("modelName"))
        for each in models
        if "ON_DEMAND" in (each.get("inferenceTypesSupported") or ())
    ]
    names += [(each["inferenceProfileId"], each.get("inferenceProfileName")) for each in stand_ins]
    return [
        ListedModel(name=name, display_name=_text(shown))
        for name, shown in names
        if "anthropic.claude" in name or name.startswith("openai.")
    ]


def read_vertex_list(body: Any) -> list[ListedModel]:
    """Google's own models; it tells of others' only one by one. Raises `BadReply`."""
    entries: Any = cast("JsonObject", body).get("publisherModels") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise BadReply("The provider's list of models is not understood")
    names = [str(entry["name"]).rpartition("/")[2] for entry in cast("list[JsonObject]", entries)]
    return [
        ListedModel(name=name, is_embedding="embedding" in name)
        for name in names
        if name.startswith(("gemini-", "text-embedding"))
    ]


def read_lmstudio_list(body: JsonObject) -> list[ListedModel]:
    entries: list[JsonObject] = body.get("data") or []
    return [
        ListedModel(
            name=entry["id"],
            context=_number(entry.get("loaded_context_length"), entry.get("max_context_length")),
            is_embedding=entry.get("type") == "embeddings",
        )
        for entry in entries
        if isinstance(entry.get("id"), str)
    ]


def read_ollama_model(name: str, about: JsonObject, served: Any) -> ListedModel:
    """`served` is the window that the model has been loaded with, if it has been."""
    info: JsonObject = about.get("model_info") or {}
    largest = next((value for key, value in info.items() if key.endswith(".context_length")), None)
    chosen = re.search(r"^num_ctx\s+(\d+)", str(about.get("parameters") or ""), re.MULTILINE)
    able: list[str] = about.get("capabilities") or []
    at_most = min(largest, _OLLAMA_DEFAULT) if isinstance(largest, int) else None
    return ListedModel(
        name=name,
        context=_number(int(chosen[1]) if chosen else None, served, at_most),
        thinks="thinking" in able,
        is_embedding="embedding" in able and "completion" not in able,
        dimensions=_number(next((info[key] for key in info if key.endswith(".embedding_length")), None)),
    )


def with_served_context(listed: list[ListedModel], properties: JsonObject) -> list[ListedModel]:
    """The window that llama.cpp's server was started with holds for all its models."""
    defaults: JsonObject = properties.get("default_generation_settings") or {}
    served = _number(defaults.get("n_ctx"), properties.get("n_ctx"))
    return [replace(model, context=served) for model in listed] if served else listed


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(*candidates: Any) -> int | None:
    return next((each for each in candidates if isinstance(each, int) and each > 0), None)
