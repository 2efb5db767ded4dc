"""The adapter for Anthropic's Messages API."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

from remanence.core.llm import Delta, ModelRequest
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.anthropic_encoding import encode_history
from remanence.llm.anthropic_options import make_options
from remanence.llm.anthropic_reply import AnthropicReplyReader
from remanence.llm.aws_events import FrameSplitter
from remanence.llm.clouds import hosting_of
from remanence.llm.keys import Site
from remanence.llm.transport import Endpoint, Transport


class AnthropicMessages:
    """A `ModelAdapter` for one address, of Anthropic's own or of a cloud that serves its models."""

    def __init__(self, transport: Transport, site: Site) -> None:
        self._transport = transport
        self._site = site
        self._hosting = hosting_of(site.vendor)
        self._endpoints: dict[str, Endpoint] = {}
        has_frames = self._hosting is not None and self._hosting.has_frames
        self._make_reader = partial(_make_reader, site.provider, has_frames)

    def payload(self, request: ModelRequest) -> JsonObject:
        return json.decode(self._body(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        endpoint = self._endpoint(request.config.model)
        return self._transport.stream(endpoint, self._body(request), self._make_reader, request.tape)

    def _endpoint(self, model: str) -> Endpoint:
        path = self._hosting.path.format(model=quote(model, safe=":@")) if self._hosting else "/messages"
        endpoint = self._endpoints.get(path)
        if endpoint is None:
            endpoint = self._endpoints[path] = self._site.endpoint(f"{self._site.base_url}{path}")
        return endpoint

    def _body(self, request: ModelRequest) -> bytes:
        made = make_options(request)
        if self._hosting is not None:
            made = {name: value for name, value in made.items() if name not in self._hosting.left_out}
            made["anthropic_version"] = self._hosting.version
        options = json.encode(made)
        system, messages = encode_history(
            request.messages,
            model=request.config.model,
            thoughts_in_arguments=request.thoughts_in_arguments,
        )
        before = (b',"system":', system) if system is not None else ()
        return b"".join((options[:-1], *before, b',"messages":', messages, b"}"))


def _make_reader(provider: str, has_frames: bool, headers: Mapping[str, str]) -> AnthropicReplyReader:
    return AnthropicReplyReader(headers, provider, FrameSplitter() if has_frames else None)
