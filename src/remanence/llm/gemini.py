"""The adapter for Google's Gemini API."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

from remanence.core.llm import Delta, ModelRequest
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.gemini_encoding import encode_history
from remanence.llm.gemini_options import make_options
from remanence.llm.gemini_reply import GeminiReplyReader
from remanence.llm.keys import Site
from remanence.llm.transport import Endpoint, Transport


class Gemini:
    """A `ModelAdapter` for one address. The model stands in the path there."""

    def __init__(self, transport: Transport, site: Site) -> None:
        self._transport = transport
        self._site = site
        self._endpoints: dict[str, Endpoint] = {}
        self._make_reader = partial(_make_reader, site.provider)

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        endpoint = self._endpoint(request.config.model)
        return self._transport.stream(endpoint, self._body(request), self._make_reader, request.tape)

    def _endpoint(self, model: str) -> Endpoint:
        endpoint = self._endpoints.get(model)
        if endpoint is None:
            path = model if "/" in model else f"models/{model}"  # tunedModels/… say what they are
            endpoint = self._endpoints[model] = self._site.endpoint(
                f"{self._site.base_url}/{quote(path)}:streamGenerateContent?alt=sse"
            )
        return endpoint

    def _body(self, request: ModelRequest) -> bytes:
        options = json.encode(make_options(request))
        system, contents = encode_history(
            request.messages,
            model=request.config.model,
            thoughts_in_arguments=request.thoughts_in_arguments,
        )
        before = (b',"systemInstruction":', system) if system is not None else ()
        return b"".join((options[:-1], *before, b',"contents":', contents, b"}"))


def _make_reader(provider: str, headers: Mapping[str, str]) -> GeminiReplyReader:
    return GeminiReplyReader(headers, provider)
