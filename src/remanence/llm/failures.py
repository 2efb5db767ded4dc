"""From what went wrong at a provider to one of our errors, with the provider's own words inside."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, cast

import aiohttp

from remanence.errors import (
    BadReply,
    ContextOverflow,
    ModelUnavailable,
    ProviderAuth,
    ProviderCredits,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.kit.outside import NotFetched
from remanence.llm.rate_limits import read_retry_after

_LONGEST_MESSAGE_CHARS = 2_000
_TAG = re.compile(r"<[^>]*>")
_BLANKS = re.compile(r"\s+")

# How servers say that the prompt does not fit, where they have no code for it.
_OVERFLOW_WORDS = re.compile(
    r"context[ _-]?(length|window|size)[^.]{0,40}(exceed|too|over|limit)"
    r"|exceeds?[^.]{0,60}context[ _-]?(length|window|size)"
    r"|maximum context[ _-]?length"
    r"|(prompt|input|request)[^.]{0,30} (is )?too long"
    r"|too many (input )?tokens"
    r"|input (token count|length)[^.]{0,40}exceeds?"
    r"|maximum (number of tokens|prompt length)",
    re.IGNORECASE,
)
_CREDIT_WORDS = ("insufficient_quota", "insufficient balance", "insufficient credits", "billing_hard_limit")
# What is wrong at the provider and may be right a little later, where no number says so.
_PASSING_CODES = ("overloaded", "api_error", "server_error", "internal", "unavailable")
_OVERFLOW_CODES = ("context_length_exceeded", "model_context_window_exceeded", "exceed_context_size_error")


class CutConnection(ProviderError):
    """The provider hung up in the middle; before the first token it is worth another try."""


def read_error_body(body: bytes) -> tuple[str, str]:
    """The provider's message and its codes, from any of the shapes in use."""
    try:
        content: Any = json.decode(body)
    except ValueError:
        return _plain(body.decode(errors="replace")), ""
    if isinstance(content, list) and content:
        content = cast("list[Any]", content)[0]
    if not isinstance(content, dict):
        return _plain(body.decode(errors="replace")), ""
    return read_error(cast("JsonObject", content))


def read_error(content: JsonObject) -> tuple[str, str]:
    error: Any = content.get("error", content)
    if not isinstance(error, dict):
        return _plain(str(error)), ""
    fields = cast("JsonObject", error)
    message: Any = (
        fields.get("message") or fields.get("detail") or content.get("message") or content.get("detail")
    )
    if message is None:
        message = fields
    text = message if isinstance(message, str) else json.encode_text(message)
    codes = " ".join(str(fields[key]) for key in ("code", "type", "status") if fields.get(key) is not None)
    return _plain(text), codes


def failure_of_status(
    status: int, body: bytes, headers: Mapping[str, str], *, provider: str
) -> ProviderError:
    message, codes = read_error_body(body)
    return make_failure(status, message, codes, provider=provider, retry_after_s=read_retry_after(headers))


def failure_of_chunk(content: JsonObject, *, provider: str) -> ProviderError:
    """An error sent inside a stream that had begun with status 200."""
    message, codes = read_error(content)
    code = re.search(r"\b[45]\d\d\b", codes)
    status = int(code.group()) if code else None
    if status is None and any(word in codes.lower() for word in _PASSING_CODES):
        status = 500
    return make_failure(status, message, codes, provider=provider)


def make_failure(
    status: int | None, message: str, codes: str, *, provider: str, retry_after_s: float | None = None
) -> ProviderError:
    answered = f"answered {status}" if status is not None else "failed"
    text = f"{provider} {answered}: {message}" if message else f"{provider} {answered}"
    lowered = f"{codes} {message}".lower()
    kind: type[ProviderError] = ProviderError
    if any(word in lowered for word in _CREDIT_WORDS) or status == 402:
        kind = ProviderCredits
    elif any(code in codes for code in _OVERFLOW_CODES):
        kind = ContextOverflow
    elif status == 429 or "rate_limit" in codes:
        return RateLimited(text, status=status, provider=provider, retry_after_s=retry_after_s)
    elif status in (401, 403) or "invalid_api_key" in codes:
        kind = ProviderAuth
    elif status in (408, 504):
        kind = ProviderTimeout
    elif _OVERFLOW_WORDS.search(message) and (status is None or status in (400, 413, 422, 500)):
        kind = ContextOverflow
    elif "invalid_request" in codes if status is None else 400 <= status < 500 and status != 409:
        kind = ProviderRefused
    return kind(text, status=status, provider=provider)


def failure_of_exception(error: Exception, *, provider: str, place: str) -> ProviderError:
    """`place` is the address without credentials, for people to check."""
    match error:
        case ProviderError():
            return error
        case NotFetched():
            return ProviderRefused(f"{provider} at {place} is not asked: {error}", provider=provider)
        case aiohttp.ConnectionTimeoutError():
            return ProviderTimeout(
                f"{provider} at {place} did not accept a connection in time", provider=provider
            )
        case asyncio.TimeoutError():
            return ProviderTimeout(f"{provider} at {place} did not answer in time", provider=provider)
        case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
            return ModelUnavailable(f"No connection to {provider} at {place}: {error}", provider=provider)
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return CutConnection(
                f"{provider} closed the connection before its answer was complete", provider=provider
            )
        case _:
            return BadReply(f"The answer of {provider} is not understood: {error}", provider=provider)


def is_worth_retrying(error: ProviderError) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, CutConnection):
        return True
    if isinstance(error, ProviderCredits | ContextOverflow):
        return False
    status = error.status
    return isinstance(error, RateLimited) or (status is not None and (status in (408, 409) or status >= 500))


def is_out_of_reach(error: ProviderError) -> bool:
    """Whether another provider may do what this one cannot, now or at all."""
    return is_worth_retrying(error) or isinstance(
        error, ModelUnavailable | ProviderTimeout | ProviderCredits | ProviderAuth
    )


def _plain(text: str) -> str:
    """Error pages of proxies are HTML; people want the words."""
    if "<" in text and ("<html" in text.lower() or "<!doctype" in text.lower()):
        text = _TAG.sub(" ", text)
    return _BLANKS.sub(" ", text).strip()[:_LONGEST_MESSAGE_CHARS]
