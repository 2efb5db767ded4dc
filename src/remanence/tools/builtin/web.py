"""The built-in tools that look at the web: a page as text, and a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from remanence.core.conform import as_list, as_object
from remanence.core.readable import readable_text
from remanence.kit import json
from remanence.kit.addresses import is_no_metadata, is_public
from remanence.kit.json import JsonObject
from remanence.kit.outside import NotFetched, fetch
from remanence.tools.builtin.outcome import ToolFailure

_MAX_BYTES = 5 * 1024 * 1024
_TIMEOUT_S = 20
_TEXTUAL = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_MAX_RESULTS = 25
_TEXT_CHARS = 2_000

EXA_KEY, TAVILY_KEY = "EXA_API_KEY", "TAVILY_API_KEY"


@dataclass(frozen=True, slots=True)
class WebAccess:
    """What an operator has set. Agents may bring keys of their own."""

    reaches_private: bool = False
    keys: Mapping[str, str] | None = None
    exa_url: str = "https://api.exa.ai"
    tavily_url: str = "https://api.tavily.com"


class WebTools:
    def __init__(self, access: WebAccess) -> None:
        self._access = access

    async def fetch_page(self, url: str) -> str:
        """Raises ToolFailure."""
        try:
            page = await fetch(
                url.strip(),
                allows=is_no_metadata if self._access.reaches_private else is_public,
                max_bytes=_MAX_BYTES,
                timeout_s=_TIMEOUT_S,
                accept="text/html, text/plain, application/json;q=0.9, */*;q=0.1",
            )
        except NotFetched as reason:
            raise ToolFailure(f"{reason}.") from None
        if page.status >= 400:
            raise ToolFailure(f"{page.url} answered with status {page.status}.")
        if not page.media_type.startswith(_TEXTUAL):
            raise ToolFailure(f"{page.url} is {page.media_type}, which cannot be read as text.")
        try:
            text = page.data.decode(page.charset or "utf-8", "replace")
        except LookupError:
            text = page.data.decode("utf-8", "replace")
        title = ""
        if "html" in page.media_type:
            title, text = readable_text(text, page.url)
        head = f"# {title}\n" if title else ""
        note = f"\n\n[Only the first {_MAX_BYTES >> 20} MiB were read.]" if page.is_cut else ""
        return f"{head}{page.url}\n\n{text}{note}".replace("\x00", "")

    async def search(self, args: JsonObject, variables: Mapping[str, str]) -> str:
        """Raises ToolFailure."""
        keys = {**(self._access.keys or {}), **variables}
        count = max(1, min(int(args.get("num_results") or 10), _MAX_RESULTS))
        if keys.get(EXA_KEY):
            headers = {"x-api-key": keys[EXA_KEY]}
            found = await _ask(f"{self._access.exa_url}/search", headers, _exa_query(args, count))
        elif keys.get(TAVILY_KEY):
            headers = {"authorization": f"Bearer {keys[TAVILY_KEY]}"}
            found = await _ask(f"{self._access.tavily_url}/search", headers, _tavily_query(args, count))
        else:
            raise ToolFailure(
                f"The web cannot be searched: there is no key. Set {EXA_KEY} or {TAVILY_KEY} as a secret of "
                "this agent or in the server's environment."
            )
        results = [_result(as_object(each)) for each in as_list(found.get("results"))[:count]]
        return json.readable({"query": args["query"], "results": results}, indent=1)


def _exa_query(args: JsonObject, count: int) -> JsonObject:
    query: JsonObject = {"query": args["query"], "numResults": count, "type": "auto"}
    for ours, theirs in (
        ("category", "category"),
        ("include_domains", "includeDomains"),
        ("exclude_domains", "excludeDomains"),
        ("start_published_date", "startPublishedDate"),
        ("end_published_date", "endPublishedDate"),
        ("user_location", "userLocation"),
    ):
        if args.get(ours):
            query[theirs] = args[ours]
    wants_text = bool(args.get("include_text"))
    query["contents"] = {"text": {"maxCharacters": _TEXT_CHARS}} if wants_text else {"highlights": True}
    return query


def _tavily_query(args: JsonObject, count: int) -> JsonObject:
    query: JsonObject = {"query": args["query"], "max_results": count}
    for ours, theirs in (
        ("include_domains", "include_domains"),
        ("exclude_domains", "exclude_domains"),
        ("start_published_date", "start_date"),
        ("end_published_date", "end_date"),
    ):
        if args.get(ours):
            query[theirs] = args[ours]
    if args.get("category") == "news":
        query["topic"] = "news"
    return query


def _result(each: JsonObject) -> JsonObject:
    highlights = [str(part) for part in as_list(each.get("highlights"))]
    said: Any = each.get("text") or each.get("content") or " … ".join(highlights) or each.get("summary")
    shown = {
        "title": each.get("title"),
        "url": each.get("url"),
        "published": each.get("publishedDate") or each.get("published_date"),
        "author": each.get("author"),
        "text": str(said)[:_TEXT_CHARS] if said else None,
    }
    return {key: value for key, value in shown.items() if value}


async def _ask(url: str, headers: dict[str, str], query: JsonObject) -> JsonObject:
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, json=query, headers=headers) as response,
        ):
            body = await response.content.read(_MAX_BYTES)
            while len(body) < _MAX_BYTES and (more := await response.content.read(_MAX_BYTES - len(body))):
                body += more
            if response.status in (401, 403):
                raise ToolFailure("The search service refused the key; check it.")
            if response.status >= 400:
                raise ToolFailure(
                    f"The search service answered with status {response.status}; try again later."
                )
            return as_object(json.decode(body))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise ToolFailure(f"The search service could not be asked: {type(error).__name__}.") from None
