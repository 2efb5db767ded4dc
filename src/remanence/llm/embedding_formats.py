"""How providers are asked for vectors, as data: where, what is sent, and where the vectors stand in the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remanence.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class EmbeddingFormat:
    path: str
    """After the provider's base URL; `{model}` in it is replaced."""
    encode: Callable[[str, Sequence[str], bool], JsonObject]
    """From the model's name, the texts, and whether they are questions, to the body."""
    decode: Callable[[Any], Sequence[Sequence[float]]]
    """Raises KeyError, IndexError, TypeError or ValueError for an answer of another shape."""


def _encode_openai(model: str, texts: Sequence[str], is_query: bool) -> JsonObject:
    return {"model": model, "input": list(texts), "encoding_format": "float"}


def _decode_openai(answer: Any) -> list[list[float]]:
    return [each["embedding"] for each in sorted(answer["data"], key=lambda each: each.get("index", 0))]


OPENAI = EmbeddingFormat("/embeddings", _encode_openai, _decode_openai)


def _encode_voyage(model: str, texts: Sequence[str], is_query: bool) -> JsonObject:
    return {"model": model, "input": list(texts), "input_type": "query" if is_query else "document"}


def _encode_gemini(model: str, texts: Sequence[str], is_query: bool) -> JsonObject:
    task = "RETRIEVAL_QUERY" if is_query else "RETRIEVAL_DOCUMENT"
    return {
        "requests": [
            {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, "taskType": task}
            for text in texts
        ]
    }


def _decode_gemini(answer: Any) -> list[list[float]]:
    return [each["values"] for each in answer["embeddings"]]


VOYAGE = EmbeddingFormat("/embeddings", _encode_voyage, _decode_openai)
GEMINI = EmbeddingFormat("/models/{model}:batchEmbedContents", _encode_gemini, _decode_gemini)

_FORMATS: Mapping[str, EmbeddingFormat] = {"voyage": VOYAGE, "google_ai": GEMINI}
"""By `embedding_endpoint_type`, for providers that do not follow OpenAI; Ollama does."""


def format_of(endpoint_type: str) -> EmbeddingFormat:
    return _FORMATS.get(endpoint_type, OPENAI)
