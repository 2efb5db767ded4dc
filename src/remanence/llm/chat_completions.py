"""The adapter for OpenAI Chat Completions, the format that most vendors and local servers speak."""

import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from remanence.core.llm import Delta, ModelRequest
from remanence.errors import ProviderRefused
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.chat_encoding import encode_messages, style_of
from remanence.llm.chat_options import make_options
from remanence.llm.chat_reply import ChatReplyReader
from remanence.llm.keys import key_headers
from remanence.llm.printed_calls import PrintedCallReader
from remanence.llm.prompted_tools import encode_prompted
from remanence.llm.transport import ReplyReader, Transport, make_endpoint
from remanence.llm.vendors import Vendor

log = logging.getLogger(__name__)

# How Ollama, vLLM, SGLang and llama.cpp say that a model, or they, cannot call tools.
_NO_TOOLS = re.compile(
    r"not support tools|tool.{0,40}not (supported|enabled)|--enable-auto-tool-choice|--jinja|tool-call-parser",
    re.IGNORECASE,
)


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
        # Servers that people run themselves may not know how their model writes a call, or that it does.
        self._reads_printed_calls = vendor.is_local or (
            vendor.quirks.has_openai_models and not self._takes_cache_key
        )
        self._tried: set[str] = set()
        """Models of which it is known whether they can be told of tools."""
        self._without_tools: set[str] = set()
        """Models whose server refuses to be told of tools."""

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        is_trial = self._reads_printed_calls and bool(request.tools)
        if is_trial and request.config.model not in self._tried:
            return self._try_tools(request)
        return self._ask(request)

    async def _try_tools(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        """A model that cannot be told of tools is told of them in its prompt."""
        try:
            async with aclosing(self._ask(request)) as batches:
                async for batch in batches:
                    self._tried.add(request.config.model)
                    yield batch
            return
        except ProviderRefused as error:
            model = request.config.model
            if not _NO_TOOLS.search(error.message):
                raise
            log.info("%s takes no tools for %s; it gets them in writing", self._provider, model)
            self._without_tools.add(model)
            self._tried.add(model)
        async with aclosing(self._ask(request)) as batches:
            async for batch in batches:
                yield batch

    def _ask(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        is_read = self._reads_printed_calls and bool(request.tools)
        names = frozenset(tool.name for tool in request.tools) if is_read else None
        make_reader = partial(_make_reader, self._provider, names)
        return self._transport.stream(self._endpoint, self._body(request), make_reader, request.tape)

    def _body(self, request: ModelRequest) -> bytes:
        """Options first, so that the largest part is joined in and not encoded again."""
        if request.config.model in self._without_tools:
            bare = make_options(replace(request, tools=()), self._quirks, takes_cache_key=False)
            return b"".join((json.encode(bare)[:-1], b',"messages":', encode_prompted(request), b"}"))
        options = json.encode(make_options(request, self._quirks, takes_cache_key=self._takes_cache_key))
        style, key = self._styles[request.thoughts_in_arguments]
        messages = encode_messages(request.messages, style, key)
        return b"".join((options[:-1], b',"messages":', messages, b"}"))


def _make_reader(provider: str, names: frozenset[str] | None, headers: Mapping[str, str]) -> ReplyReader:
    reader = ChatReplyReader(headers, provider)
    return reader if names is None else PrintedCallReader(reader, names)
