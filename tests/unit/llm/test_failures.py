"""From a provider's answer to our error."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest

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
from remanence.llm.failures import (
    CutConnection,
    failure_of_chunk,
    failure_of_exception,
    failure_of_status,
    is_worth_retrying,
)
from remanence.llm.rate_limits import read_retry_after


def failure(status: int, body: object = None, **headers: str) -> ProviderError:
    content = body if isinstance(body, bytes) else json.encode(body)
    return failure_of_status(status, content, headers, provider="acme")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ProviderRefused),
        (404, ProviderRefused),
        (422, ProviderRefused),
        (401, ProviderAuth),
        (403, ProviderAuth),
        (402, ProviderCredits),
        (429, RateLimited),
        (408, ProviderTimeout),
        (504, ProviderTimeout),
        (409, ProviderError),
        (500, ProviderError),
        (503, ProviderError),
        (529, ProviderError),
        (301, ProviderError),
    ],
)
def test_each_status_has_its_error(status: int, kind: type[ProviderError]) -> None:
    error = failure(status, {"error": {"message": "Sorry"}})
    assert type(error) is kind
    assert error.status == status
    assert error.provider == "acme"
    assert error.message == f"acme answered {status}: Sorry"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "Sorry", "type": "x"}}, "Sorry"),
        ({"error": "Sorry"}, "Sorry"),
        ({"message": "Sorry"}, "Sorry"),
        ({"detail": "Sorry"}, "Sorry"),
        ({"detail": [{"loc": ["body", "n"], "msg": "extra"}]}, '[{"loc":["body","n"],"msg":"extra"}]'),
        ({"object": "error", "message": {"detail": "Sorry"}}, '{"detail":"Sorry"}'),
        ([{"error": {"message": "Sorry"}}], "Sorry"),
        (b"Sorry", "Sorry"),
        (b"<html><head><title>502</title></head>\n<body>Bad\n gateway</body></html>", "502 Bad gateway"),
        (b'"Sorry"', '"Sorry"'),
    ],
)
def test_the_providers_own_words_are_found(body: object, message: str) -> None:
    assert failure(500, body).message == f"acme answered 500: {message}"


def test_an_empty_body_is_no_message() -> None:
    assert failure(500, b"").message == "acme answered 500"


def test_a_very_long_message_is_cut() -> None:
    assert len(failure(500, b"x" * 100_000).message) < 2_100


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "m", "code": "context_length_exceeded"}),
        (
            400,
            {
                "message": "This model's maximum context length is 128000 tokens. However, you requested 130000."
            },
        ),
        (400, {"message": "the request exceeds the available context size, try increasing it"}),
        (400, {"message": "m", "type": "exceed_context_size_error"}),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (400, {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed"}),
        (413, {"message": "Request too large: the context window is exceeded"}),
        (500, {"message": "Trying to keep the first 9000 tokens when context length exceeded"}),
    ],
)
def test_a_prompt_that_does_not_fit_is_recognised(status: int, error: object) -> None:
    assert type(failure(status, {"error": error})) is ContextOverflow


def test_a_rate_limit_in_tokens_is_no_overflow() -> None:
    body = {
        "error": {"message": "Rate limit reached: too many tokens per min", "code": "rate_limit_exceeded"}
    }
    assert type(failure(429, body)) is RateLimited


@pytest.mark.parametrize(
    "error",
    [
        {"message": "You exceeded your current quota", "code": "insufficient_quota"},
        {"message": "Insufficient Balance"},
    ],
)
def test_an_empty_purse_is_not_a_rate_limit(error: object) -> None:
    found = failure(429, {"error": error})
    assert type(found) is ProviderCredits
    assert not is_worth_retrying(found)


def test_an_error_inside_a_stream_is_read_by_its_code() -> None:
    assert type(failure_of_chunk({"error": {"message": "m", "code": 429}}, provider="acme")) is RateLimited
    assert type(failure_of_chunk({"error": {"message": "m", "code": 401}}, provider="acme")) is ProviderAuth
    assert type(failure_of_chunk({"error": {"message": "m"}}, provider="acme")) is ProviderError
    refused = failure_of_chunk({"error": {"message": "m", "type": "invalid_request_error"}}, provider="acme")
    assert type(refused) is ProviderRefused
    assert failure_of_chunk({"error": "Boom"}, provider="acme").message == "acme failed: Boom"


@pytest.mark.parametrize(
    ("raised", "kind", "is_retried"),
    [
        (TimeoutError(), ProviderTimeout, False),
        (aiohttp.ServerDisconnectedError(), CutConnection, True),
        (aiohttp.ClientPayloadError(), CutConnection, True),
        (ConnectionResetError(), CutConnection, True),
        (aiohttp.InvalidURL("x"), ModelUnavailable, False),
        (aiohttp.ClientError("odd"), BadReply, False),
    ],
)
def test_each_exception_has_its_error(raised: Exception, kind: type[ProviderError], is_retried: bool) -> None:
    error = failure_of_exception(raised, provider="acme", place="host:1")
    assert type(error) is kind
    assert is_worth_retrying(error) is is_retried


@pytest.mark.parametrize(("status", "is_retried"), [(400, False), (401, False), (408, True), (409, True), (429, True),
    (500, True), (503, True), (504, True)])  # fmt: skip
def test_only_passing_failures_are_tried_again(status: int, is_retried: bool) -> None:
    assert is_worth_retrying(failure(status, {"error": {"message": "m"}})) is is_retried


def test_the_wait_asked_for_is_read_in_both_forms() -> None:
    assert read_retry_after({"Retry-After": "2.5"}) == 2.5
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 55 < (read_retry_after({"Retry-After": later}) or 0) <= 60
    assert read_retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert read_retry_after({"Retry-After": "soon"}) is None
    assert read_retry_after({}) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "12", "x-ratelimit-reset-tokens": "120ms"}, None),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"}, 7),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "4s",
            },
            4,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
    ],
)
def test_a_limit_that_is_used_up_tells_when_it_is_full_again(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_retry_after(headers) == (None if seconds is None else pytest.approx(seconds))


def test_a_limit_may_name_the_moment() -> None:
    later = datetime.now(UTC) + timedelta(seconds=60)
    for name, value in (
        ("anthropic-ratelimit-requests", later.isoformat().replace("+00:00", "Z")),
        ("x-ratelimit", str(int(later.timestamp() * 1_000))),
        ("x-ratelimit", str(int(later.timestamp()))),
    ):
        headers = {f"{name}-remaining": "0", f"{name}-reset": value}
        assert 50 < (read_retry_after(headers) or 0) <= 60
