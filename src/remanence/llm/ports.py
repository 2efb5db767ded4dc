"""What the loop asks of a model adapter."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from remanence.core.llm import Delta, ModelRequest
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
