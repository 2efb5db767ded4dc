"""Adapters by format: which one speaks to a vendor's model, made on first use."""

from collections import OrderedDict

from yarl import URL

from remanence.llm.anthropic_messages import AnthropicMessages
from remanence.llm.chat_completions import ChatCompletions
from remanence.llm.clouds import base_for
from remanence.llm.gemini import Gemini
from remanence.llm.keys import Site
from remanence.llm.openai_models import is_reasoning_model
from remanence.llm.ports import ModelAdapter
from remanence.llm.responses import Responses
from remanence.llm.transport import Sign, Transport
from remanence.llm.vendors import Format, Vendor

_MOST_ADAPTERS = 256


def format_of(vendor: Vendor, base_url: str, model: str, *, typed_url: str | None = None) -> Format:
    """How to speak to a model.

    OpenAI's own reasoning models keep their thoughts from turn to turn only over Responses. Elsewhere
    that format is spoken where the address that was typed ends in it.
    """
    if vendor.cloud is not None and "claude" in model:
        return "anthropic"
    if vendor.format != "chat":
        return vendor.format
    if typed_url is not None and typed_url.rstrip("/").endswith("/responses"):
        return "responses"
    is_openai = vendor.quirks.has_openai_models and URL(base_url).host == "api.openai.com"
    return "responses" if is_openai and is_reasoning_model(model) else "chat"


class Adapters:
    """Adapters by format, vendor, address and key; the least used are dropped."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._made: OrderedDict[tuple[object, ...], ModelAdapter] = OrderedDict()

    def get(
        self,
        format: Format,
        vendor: Vendor,
        base_url: str,
        api_key: str | None,
        provider: str,
        sign: Sign | None = None,
        *,
        is_foreign: bool = False,
    ) -> ModelAdapter:
        """`sign` is told apart by its value, so that who asks with other keys gets another adapter."""
        key = (format, vendor.name, base_url, api_key, provider, sign, is_foreign)
        adapter = self._made.get(key)
        if adapter is None:
            there = base_for(vendor, base_url, format)
            site = Site(vendor, there, api_key, provider, sign, is_foreign)
            adapter = self._made[key] = _KINDS[format](self._transport, site)
            if len(self._made) > _MOST_ADAPTERS:
                self._made.popitem(last=False)
        else:
            self._made.move_to_end(key)
        return adapter


_KINDS = {
    "chat": ChatCompletions,
    "responses": Responses,
    "anthropic": AnthropicMessages,
    "gemini": Gemini,
}
