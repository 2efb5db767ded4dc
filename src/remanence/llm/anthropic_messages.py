"""The adapter for Anthropic's Messages API."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial

from remanence.core.llm import Delta, ModelRequest
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.anthropic_encoding import encode_history
from remanence.llm.anthropic_options import make_options
from remanence.llm.anthropic_reply import AnthropicReplyReader
from remanence.llm.keys import key_headers
from remanence.llm.transport import Transport, make_endpoint
from remanence.llm.vendors import Vendor


class AnthropicMessages:
    """A `ModelAdapter` for one address."""

    def __init__(
        self, transport: Transport, vendor: Vendor, *, base_url: str, api_key: str | None, provider: str
    ) -> None:
        self._transport = transport
        self._endpoint = make_endpoint(
            f"{base_url}/messages",
            provider=provider,
            api_key=api_key,
            extra=key_headers(vendor, base_url, api_key),
        )
        self._make_reader = partial(_make_reader, provider)

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        return self._transport.stream(self._endpoint, self._body(request), self._make_reader, request.tape)

    def _body(self, request: ModelRequest) -> bytes:
        options = json.encode(make_options(request))
        system, messages = encode_history(
            request.messages,
            model=request.config.model,
            thoughts_in_arguments=request.thoughts_in_arguments,
        )
        before = (b',"system":', system) if system is not None else ()
        return b"".join((options[:-1], *before, b',"messages":', messages, b"}"))


def _make_reader(provider: str, headers: Mapping[str, str]) -> AnthropicReplyReader:
    return AnthropicReplyReader(headers, provider)
