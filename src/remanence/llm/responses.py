"""The adapter for OpenAI's Responses API, which keeps a reasoning model's thoughts from turn to turn."""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from remanence.core.llm import Delta, ModelRequest
from remanence.errors import ProviderRefused
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.keys import Site
from remanence.llm.responses_encoding import encode_items
from remanence.llm.responses_options import make_options
from remanence.llm.responses_reply import ResponsesReplyReader
from remanence.llm.transport import Transport

log = logging.getLogger(__name__)


class Responses:
    """A `ModelAdapter` for one address."""

    def __init__(self, transport: Transport, site: Site) -> None:
        self._transport = transport
        self._provider = site.provider
        self._endpoint = site.endpoint(f"{site.base_url}/responses")
        # An extension that servers which merely speak the format may refuse.
        self._takes_cache_key = self._endpoint.url.host == "api.openai.com"
        self._shows_summaries = True

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        try:
            async with aclosing(self._ask(request)) as batches:
                async for batch in batches:
                    yield batch
        except ProviderRefused as error:
            # OpenAI shows summaries of reasoning only to organisations that proved who they are.
            if not (self._shows_summaries and "summar" in error.message and "verif" in error.message):
                raise
            self._shows_summaries = False
            log.warning("%s shows no reasoning to this key: %s", self._provider, error.message)
        else:
            return
        async with aclosing(self._ask(request)) as batches:
            async for batch in batches:
                yield batch

    def _ask(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        return self._transport.stream(
            self._endpoint, self._body(request), partial(_make_reader, self._provider), request.tape
        )

    def _body(self, request: ModelRequest) -> bytes:
        options = make_options(
            request, takes_cache_key=self._takes_cache_key, shows_summaries=self._shows_summaries
        )
        items = encode_items(
            request.messages,
            model=request.config.model,
            thoughts_in_arguments=request.thoughts_in_arguments,
        )
        return b"".join((json.encode(options)[:-1], b',"input":', items, b"}"))


def _make_reader(provider: str, headers: Mapping[str, str]) -> ResponsesReplyReader:
    return ResponsesReplyReader(headers, provider)
