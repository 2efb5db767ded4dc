"""The adapter for OpenAI Chat Completions, the format that most vendors and local servers speak."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial

from remanence.core.llm import Delta, ModelRequest
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.chat_encoding import encode_messages, style_of
from remanence.llm.chat_options import make_options
from remanence.llm.chat_reply import ChatReplyReader
from remanence.llm.keys import key_headers
from remanence.llm.transport import Transport, make_endpoint
from remanence.llm.vendors import Vendor


class ChatCompletions:
    """A `ModelAdapter` for one address of one vendor. `base_url` is a normalised one (`addresses.py`)."""

    def __init__(
        self,
        transport: Transport,
        vendor: Vendor,
        *,
        base_url: str,
        api_key: str | None = None,
        provider_name: str | None = None,
    ) -> None:
        self._transport = transport
        self._quirks = vendor.quirks
        self._provider = provider_name or vendor.name
        self._endpoint = make_endpoint(
            f"{base_url}/chat/completions",
            provider=self._provider,
            api_key=api_key,
            extra=key_headers(vendor, base_url, api_key),
            pulse=f"{base_url}/models" if vendor.is_local else None,
        )
        # An extension that servers which merely speak the format may refuse.
        self._takes_cache_key = self._endpoint.url.host == "api.openai.com"
        styles = [style_of(vendor.quirks, thoughts_in_arguments=is_set) for is_set in (False, True)]
        self._styles = [(style, style.key) for style in styles]

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        return self._transport.stream(
            self._endpoint, self._body(request), partial(_make_reader, self._provider), request.tape
        )

    def _body(self, request: ModelRequest) -> bytes:
        """Options first, so that the largest part is joined in and not encoded again."""
        options = json.encode(make_options(request, self._quirks, takes_cache_key=self._takes_cache_key))
        style, key = self._styles[request.thoughts_in_arguments]
        messages = encode_messages(request.messages, style, key)
        return b"".join((options[:-1], b',"messages":', messages, b"}"))


def _make_reader(provider: str, headers: Mapping[str, str]) -> ChatReplyReader:
    return ChatReplyReader(headers, provider)
