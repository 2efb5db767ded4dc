"""Reading the lists of models that providers give; most tell a name and little else."""

import re
from dataclasses import dataclass
from typing import Any, cast

from remanence.errors import BadReply
from remanence.kit.json import JsonObject

_OPENAI_CHAT = re.compile(r"^(gpt-|chatgpt-|o\d)")
# Of OpenAI's own: other media, other APIs, and models that take no tools.
_OPENAI_OTHER = re.compile(
    r"audio|realtime|transcribe|tts|image|instruct|search|codex|deep-research|-pro(-|$)|moderation"
)
_ELSEWHERE_OTHER = re.compile(r"embed|whisper|rerank|transcribe|dall-e|(^|[-_/])tts([-_]|$)")


@dataclass(frozen=True, slots=True)
class ListedModel:
    name: str
    context: int | None = None
    output: int | None = None


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
    if entry.get("type") in ("embedding", "image", "audio", "rerank", "moderation", "transcribe"):
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
            meta.get("n_ctx"),
            meta.get("n_ctx_train"),
        ),
        output=_number(entry.get("max_completion_tokens"), top.get("max_completion_tokens")),
    )


def _number(*candidates: Any) -> int | None:
    return next((each for each in candidates if isinstance(each, int) and each > 0), None)
