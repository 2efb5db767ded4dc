"""The adapter for OpenAI Chat Completions, the format that most vendors and local servers speak."""

import logging
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from remanence.core.llm import Delta, ModelRequest, ResponseFormat, ToolCallDelta
from remanence.errors import ProviderRefused
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.chat_encoding import EncodingStyle, encode_messages, style_of
from remanence.llm.chat_options import make_options
from remanence.llm.chat_reply import ChatReplyReader
from remanence.llm.keys import Site
from remanence.llm.printed_calls import PrintedCallReader
from remanence.llm.prompted_tools import call_schema, encode_prompted
from remanence.llm.transport import ReplyReader, Transport

log = logging.getLogger(__name__)

# How Ollama, vLLM, SGLang and llama.cpp say that a model, or they, cannot call tools.
_NO_TOOLS = re.compile(
    r"not support tools|tool.{0,40}not (supported|enabled)|--enable-auto-tool-choice|--jinja|tool-call-parser",
    re.IGNORECASE,
)

_LONGEST_PREFACE = 400
"""Pieces of an answer, thoughts among them, after which a call that must be made is not waited for any longer."""


@dataclass(slots=True)
class _Habits:
    """What was found out of a model on a server of one's own; None as long as it was not."""

    takes_tools: bool | None = None
    obeys: bool | None = None
    """Makes the call that it must make."""
    takes_schemas: bool = True

    def is_told_in_writing(self, request: ModelRequest) -> bool:
        return self.takes_tools is False or (request.tool_choice == "required" and self.obeys is False)


class ChatCompletions:
    """A `ModelAdapter` for one address of one vendor."""

    def __init__(self, transport: Transport, site: Site) -> None:
        self._transport = transport
        vendor = site.vendor
        self._quirks = vendor.quirks
        self._provider = site.provider
        self._endpoint = site.endpoint(
            f"{site.base_url}/chat/completions", pulse=f"{site.base_url}/models" if vendor.is_local else None
        )
        # An extension that servers which merely speak the format may refuse.
        is_imitated = vendor.name == "openai" and self._endpoint.url.host != "api.openai.com"
        self._takes_cache_key = vendor.quirks.takes_cache_key and not is_imitated
        self._styles: dict[tuple[str, bool], tuple[EncodingStyle, str]] = {}
        # Servers that people run themselves may not know how their model writes a call, or that it does.
        self._reads_printed_calls = vendor.is_local or is_imitated
        self._habits: defaultdict[str, _Habits] = defaultdict(_Habits)

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        if self._reads_printed_calls and request.tools:
            return self._try(request, self._habits[request.config.model])
        return self._ask(request)

    async def _try(self, request: ModelRequest, habits: _Habits) -> AsyncGenerator[Sequence[Delta]]:
        """What a model cannot be told of, or does not obey, is put to it in another way."""
        is_forced = request.tool_choice == "required"
        while True:
            held: list[Sequence[Delta]] = []
            try:
                async with aclosing(self._ask(request)) as batches:
                    async for batch in batches:
                        habits.takes_tools = habits.takes_tools is not False
                        if is_forced and habits.obeys is None:
                            held.append(batch)
                            if len(held) > _LONGEST_PREFACE and not _calls(held):
                                break  # it talks instead
                        else:
                            yield batch
            except ProviderRefused as error:
                if not self._has_learned(request, habits, error):
                    raise
                continue
            if held:
                habits.obeys = _calls(held)
                if not habits.obeys:
                    log.info("%s does not force %s to call", self._provider, request.config.model)
                    continue
            for batch in held:
                yield batch
            return

    def _has_learned(self, request: ModelRequest, habits: _Habits, error: ProviderRefused) -> bool:
        """Whether the refusal tells how to ask instead."""
        if habits.takes_tools is None and _NO_TOOLS.search(error.message):
            log.info("%s takes no tools for %s", self._provider, request.config.model)
            habits.takes_tools = habits.obeys = False
            return True
        is_held_to_schema = habits.is_told_in_writing(request) and request.tool_choice == "required"
        if is_held_to_schema and habits.takes_schemas:
            habits.takes_schemas = False
            return True
        return False

    def _ask(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        is_read = self._reads_printed_calls and bool(request.tools)
        names = frozenset(tool.name for tool in request.tools) if is_read else None
        make_reader = partial(_make_reader, self._provider, names)
        endpoint = self._endpoint
        if (header := self._quirks.cache_header) and request.cache_key:
            endpoint = replace(endpoint, headers={**endpoint.headers, header: request.cache_key})
        return self._transport.stream(endpoint, self._body(request), make_reader, request.tape)

    def _body(self, request: ModelRequest) -> bytes:
        """Options first, so that the largest part is joined in and not encoded again."""
        habits = self._habits.get(request.config.model)
        if habits is not None and habits.is_told_in_writing(request):
            form = request.response_format
            if request.tools and request.tool_choice == "required" and habits.takes_schemas:
                form = ResponseFormat(type="json_schema", json_schema=call_schema(request))
            asked = replace(request, tools=(), response_format=form)
            bare = make_options(asked, self._quirks, takes_cache_key=False)
            return b"".join((json.encode(bare)[:-1], b',"messages":', encode_prompted(request), b"}"))
        options = json.encode(make_options(request, self._quirks, takes_cache_key=self._takes_cache_key))
        style, key = self._style(request.config.model, thoughts_in_arguments=request.thoughts_in_arguments)
        messages = encode_messages(request.messages, style, key)
        return b"".join((options[:-1], b',"messages":', messages, b"}"))

    def _style(self, model: str, *, thoughts_in_arguments: bool) -> tuple[EncodingStyle, str]:
        found = self._styles.get((model, thoughts_in_arguments))
        if found is None:
            style = style_of(self._quirks, model=model, thoughts_in_arguments=thoughts_in_arguments)
            found = self._styles[model, thoughts_in_arguments] = (style, style.key)
        return found


def _calls(batches: Sequence[Sequence[Delta]]) -> bool:
    return any(isinstance(delta, ToolCallDelta) for batch in batches for delta in batch)


def _make_reader(provider: str, names: frozenset[str] | None, headers: Mapping[str, str]) -> ReplyReader:
    reader = ChatReplyReader(headers, provider)
    return reader if names is None else PrintedCallReader(reader, names)
