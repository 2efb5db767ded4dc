"""Asking a provider what models it has, and what it knows of them."""

import asyncio
from typing import Any, cast

from yarl import URL

from remanence.errors import BadReply, ProviderError
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.keys import Site
from remanence.llm.model_lists import (
    ListedModel,
    read_bedrock_lists,
    read_gemini_list,
    read_lmstudio_list,
    read_model_list,
    read_ollama_model,
    read_vertex_list,
    with_served_context,
)
from remanence.llm.transport import Transport

_TIMEOUT_S = 10
_AT_ONCE = 8


class Lister:
    """The lists of one provider. Raises `ProviderError`."""

    def __init__(self, transport: Transport, site: Site) -> None:
        self._transport = transport
        self._site = site
        self._vendor = site.vendor
        self._base_url = site.base_url

    async def fetch(self) -> list[ListedModel]:
        match self._vendor.listing:
            case "openai":
                return read_model_list(await self._get(f"{self._base_url}/models{self._query}"))
            case "gemini":
                return read_gemini_list(await self._get(f"{self._base_url}/models?pageSize=1000"))
            case "ollama":
                return await self._fetch_ollama()
            case "lmstudio":
                return await self._fetch_lmstudio()
            case "llamacpp":
                return await self._fetch_llamacpp()
            case "bedrock":
                root = self._root().replace("//bedrock-runtime.", "//bedrock.")
                profiles = await self._try(f"{root}/inference-profiles?maxResults=1000")
                offered = await self._get(f"{root}/foundation-models?byOutputModality=TEXT")
                return read_bedrock_lists(offered, profiles)
            case "vertex":
                url = URL(self._base_url).origin() / "v1beta1/publishers/google/models"
                return read_vertex_list(await self._get(str(url.with_query(pageSize=200))))
            case "none":
                return []

    async def check(self) -> int:
        """How many models there are, once it is sure that the key is good."""
        if self._vendor.name == "openrouter":  # lists its models to everybody
            await self._get(f"{self._base_url}/key")
        return len(await self.fetch())

    @property
    def _query(self) -> str:
        return "?limit=1000" if self._vendor.format == "anthropic" else ""

    async def _fetch_ollama(self) -> list[ListedModel]:
        """Each model is asked about for itself: the list tells names alone."""
        root = self._root()
        tags = _entries(await self._get(f"{root}/api/tags"), "models")
        running = _entries(await self._try(f"{root}/api/ps"), "models")
        served = {entry.get("name"): entry.get("context_length") for entry in running}
        turns = asyncio.Semaphore(_AT_ONCE)

        async def show(name: str) -> ListedModel:
            async with turns:
                about = await self._try(f"{root}/api/show", {"model": name})
            return read_ollama_model(name, about, served.get(name))

        return list(await asyncio.gather(*(show(entry["name"]) for entry in tags if entry.get("name"))))

    async def _fetch_lmstudio(self) -> list[ListedModel]:
        more = await self._try(f"{self._root()}/api/v0/models")
        if more:
            return read_lmstudio_list(more)
        return read_model_list(await self._get(f"{self._base_url}/models"))

    async def _fetch_llamacpp(self) -> list[ListedModel]:
        """Its list tells what the model was trained for; its properties, what it serves."""
        listed = read_model_list(await self._get(f"{self._base_url}/models"))
        return with_served_context(listed, await self._try(f"{self._root()}/props"))

    def _root(self) -> str:
        url = URL(self._base_url)
        return str(
            url.with_path(url.raw_path.removesuffix("/v1").removesuffix("/model"), encoded=True)
        ).rstrip("/")

    async def _get(self, url: str) -> Any:
        return await self._transport.fetch_json(self._site.endpoint(url), timeout_s=_TIMEOUT_S)

    async def _try(self, url: str, body: JsonObject | None = None) -> JsonObject:
        """What may be had beside the list; nothing where it may not."""
        content = json.encode(body) if body is not None else None
        try:
            found = await self._transport.fetch_json(
                self._site.endpoint(url), timeout_s=_TIMEOUT_S, body=content
            )
        except ProviderError:
            return {}
        return cast("JsonObject", found) if isinstance(found, dict) else {}


def _entries(body: Any, key: str) -> list[JsonObject]:
    if not isinstance(body, dict):
        raise BadReply("The provider's list of models is not understood")
    entries: list[Any] = cast("JsonObject", body).get(key) or []
    return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]
