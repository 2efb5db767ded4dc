"""The embedded embedding model: a vector for each token, and the mean of them for a text.

The weights are those of the package `wordllama`, read straight from its folder: its own code would
bring a model hub's client, and look online. They are mapped, not read, and only when first asked for.
"""

import asyncio
import importlib.util
import struct
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.core.search_text import telling_words
from remanence.core.vector import Vector
from remanence.errors import ModelUnavailable
from remanence.kit import json
from remanence.llm.local.process import PROVIDER
from remanence.llm.local.word_pieces import WordPieces
from remanence.llm.sources import EmbeddingInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 256
MAX_TOKENS = 1_024
"""Of a text; longer ones are cut into parts by whoever asks."""
BATCH = 256

LOCAL_EMBEDDING = EmbeddingInfo(
    handle=f"{PROVIDER}/wordllama-{DIMENSIONS}",
    name=f"wordllama-{DIMENSIONS}",
    provider_type=PROVIDER,
    provider_name=PROVIDER,
    endpoint_type="llamacpp",  # the contract's list has no name for "in this server"
    endpoint=None,
    dimensions=DIMENSIONS,
    batch_size=BATCH,
)


@cache
def find_weights() -> Path | None:
    """The folder of the package that has them."""
    spec = importlib.util.find_spec("wordllama")  # does not import it
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(folders[0]) if folders else None


class StaticEmbedder:
    """An `Embedder`. Works in a thread, so that the event loop is free meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[WordPieces, NDArray[np.float16]] | None = None

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        """Raises ModelUnavailable if the weights are not installed."""
        # A mean is drawn aside by words that say nothing; in a question they are most of it.
        given = [telling_words(text) for text in texts] if is_query else texts
        return await asyncio.to_thread(self.embed_now, given)

    def embed_now(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:  # one at a time: two would only take turns
            vectors: list[Vector] = []
            for start in range(0, len(texts), BATCH):
                vectors += self._embed_batch(texts[start : start + BATCH])
            return vectors

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        import numpy as np

        pieces, weights = self._load()
        tokens = [pieces.split(text, most=MAX_TOKENS) or [0] for text in texts]
        starts = np.cumsum([0, *map(len, tokens[:-1])])
        rows = weights[np.concatenate([np.asarray(each) for each in tokens])].astype(np.float32)
        sums = np.add.reduceat(rows, starts, axis=0)  # the mean has the same direction
        sums[[number for number, text in enumerate(texts) if not text.strip()]] = 0
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return [Vector(each.tobytes()) for each in sums / np.where(lengths > 0, lengths, 1)]

    def _load(self) -> "tuple[WordPieces, NDArray[np.float16]]":
        if self._loaded is None:
            folder = find_weights()
            if folder is None:
                raise ModelUnavailable("The package wordllama is not installed", provider=PROVIDER)
            self._loaded = _read_tokens(folder), _map_weights(folder)
        return self._loaded


def _read_tokens(folder: Path) -> WordPieces:
    tables: Any = json.decode((folder / "tokenizers" / "l2_supercat_tokenizer_config.json").read_bytes())
    return WordPieces(tables["model"]["vocab"])


def _map_weights(folder: Path) -> "NDArray[np.float16]":
    import numpy as np

    path = folder / "weights" / f"l2_supercat_{DIMENSIONS}.safetensors"
    with path.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        table: Any = json.decode(file.read(header_bytes))["embedding.weight"]
    offset = 8 + header_bytes + table["data_offsets"][0]
    return np.memmap(path, np.float16, "r", offset, tuple(table["shape"]))
