"""What is asked of models: answers, and vectors."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from remanence.core.llm import Delta, ModelRequest
from remanence.core.vector import Vector
from remanence.kit.json import JsonObject


class ModelAdapter(Protocol):
    def payload(self, request: ModelRequest) -> JsonObject:
        """The request as this provider would receive it, for people to look at."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        """The answer in batches: deltas that arrived together come together.

        The last delta of the last batch is `Finished`. Raises `ProviderError`. Closing the
        iterator early closes the connection.
        """
        ...


class Embedder(Protocol):
    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        """A vector for each text, in order, of whatever dimension the model has. Raises `ProviderError`.

        Some models want to know whether a text is a question or something to be found.
        """
        ...
