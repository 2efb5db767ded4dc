"""HTTP to the providers: pooled connections, time-outs, retries, and answers that stream.

Knows no provider's format: a `ReplyReader` turns bytes into deltas.
"""

import asyncio
import io
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from remanence import __version__
from remanence.core.llm import Delta, Tape
from remanence.errors import BadReply, ProviderError, ProviderTimeout, RateLimited
from remanence.kit import json
from remanence.kit.addresses import Judge, is_no_metadata
from remanence.kit.outside import NotFetched, check_address, guarded_connector
from remanence.llm.failures import (
    CutConnection,
    failure_of_exception,
    failure_of_status,
    is_worth_retrying,
)

# A server that keeps its connection open after the last event is not waited for any longer.
_DRAIN_S = 0.2
# aiohttp warns above 1 MiB of plain bytes and writes them in one go; a file-like body goes in pieces.
_ONE_WRITE_BYTES = 2**19
_PULSE_S = 5
_LONGEST_ERROR_BYTES = 2**20

Sign = Callable[[str, URL, bytes | None], Awaitable[Mapping[str, str]]]
"""From method, address and body of a request to the headers that say who asks."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How long to wait for a provider, and how often to try."""

    connect_s: float = 10
    first_token_s: float = 300
    """Reasoning models may think for minutes before they say a word."""
    idle_s: float = 120
    max_tries: int = 3
    pause_s: float = 0.5
    longest_pause_s: float = 20
    """A provider that asks for a longer pause is not tried again; the caller learns how long it asked for."""
    connections_per_host: int = 256


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address at a provider, with what every request to it carries."""

    url: URL
    provider: str
    headers: Mapping[str, str] = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    pulse: URL | None = None
    """Where to ask whether the server lives, while it takes its time over a prompt."""
    proxy: str | None = field(default=None, repr=False)
    sign: Sign | None = field(default=None, repr=False)
    is_foreign: bool = False
    """Named by a user, so that the way there is judged."""

    @property
    def place(self) -> str:
        return f"{self.url.host}:{self.url.port}"


def make_endpoint(
    url: str,
    *,
    provider: str,
    api_key: str | None,
    extra: Mapping[str, str] | None = None,
    pulse: str | None = None,
    sign: Sign | None = None,
    is_foreign: bool = False,
) -> Endpoint:
    """The key goes as a bearer token, unless `extra` headers say how it goes instead."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"remanence/{__version__}",
        # Compressed streams are held back by the compressor, and tokens with them.
        "Accept-Encoding": "identity",
    }
    if extra is not None:
        headers |= extra
    elif api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    address = URL(url)
    beat = URL(pulse) if pulse else None
    return Endpoint(address, provider, headers, api_key, beat, find_proxy(address), sign, is_foreign)


async def signed_headers(endpoint: Endpoint, method: str, body: bytes | None) -> Mapping[str, str]:
    """Raises `ProviderError` where there is nothing to sign with."""
    if endpoint.sign is None:
        return endpoint.headers
    return {**endpoint.headers, **await endpoint.sign(method, endpoint.url, body)}


def find_proxy(url: URL) -> str | None:
    """The proxy of the environment for this address.

    Asked once per endpoint: aiohttp's own way reads the whole environment at every request.
    """
    host = url.host or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(url.scheme) or proxies.get("all")


class ReplyReader(Protocol):
    """Turns the body of one answer into deltas."""

    @property
    def is_done(self) -> bool:
        """The last delta was given; whatever follows is of no interest."""
        ...

    def feed(self, chunk: bytes) -> Sequence[Delta]: ...

    def end(self) -> Sequence[Delta]:
        """What was still held back when the body ended. Raises `BadReply` or `CutConnection` if it was too short."""
        ...


class Transport:
    """The connections of the process to all providers, bounded per host. Built on first use, on the running loop."""

    def __init__(self, policy: CallPolicy | None = None, *, allows: Judge = is_no_metadata) -> None:
        """`allows` judges where users' own addresses may lead."""
        self.policy = policy or CallPolicy()
        self._allows = allows
        self._session: aiohttp.ClientSession | None = None
        self._guarded: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        sessions = self._session, self._guarded
        self._session = self._guarded = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def stream(
        self,
        endpoint: Endpoint,
        body: bytes,
        make_reader: Callable[[Mapping[str, str]], ReplyReader],
        tape: Tape | None = None,
    ) -> AsyncGenerator[Sequence[Delta]]:
        """Posts a request and reads its answer; tries again as long as no delta was given.

        Closing the iterator closes the connection at once. Raises `ProviderError`.
        """
        tape = tape or Tape()
        tries = 0
        while True:
            tries += 1
            has_begun = False
            answer: _Answer | None = None
            tape.start(body, endpoint.secret)
            try:
                answer = await self._open(endpoint, body, tape)
                reader = make_reader(answer.headers)
                while chunk := await answer.read():
                    tape.response.append(chunk)
                    deltas = reader.feed(chunk)
                    if deltas:
                        if not has_begun:
                            has_begun = True
                            answer.note_first_delta()
                        yield deltas
                        if reader.is_done:
                            await answer.drain()
                            return
                if last := reader.end():
                    has_begun = True
                    yield last
                return
            except ProviderError as error:
                _hide_secret(error, endpoint.secret)
                pause_s = None if has_begun else self._pause_before_retry(error, tries)
                if pause_s is None:
                    raise
            finally:
                if answer is not None:
                    answer.close()
            await asyncio.sleep(pause_s)

    async def fetch_json(
        self, endpoint: Endpoint, *, timeout_s: float, body: bytes | None = None, max_tries: int = 1
    ) -> Any:
        """One answer, read whole: to a GET, or to a POST of the body. Raises `ProviderError`."""
        tries = 0
        while True:
            tries += 1
            try:
                return await self._fetch_json(endpoint, body, timeout_s)
            except ProviderError as error:
                pause_s = self._pause_before_retry(error, tries) if tries < max_tries else None
                if pause_s is None:
                    raise
            await asyncio.sleep(pause_s)

    async def _fetch_json(self, endpoint: Endpoint, body: bytes | None, timeout_s: float) -> Any:
        method = "GET" if body is None else "POST"
        headers = await signed_headers(endpoint, method, body)
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session_for(endpoint).request(
                    method,
                    endpoint.url,
                    data=body if body is None or len(body) <= _ONE_WRITE_BYTES else io.BytesIO(body),
                    headers=headers,
                    proxy=endpoint.proxy,
                    allow_redirects=False,
                ) as response,
            ):
                content = await response.read()
                if response.status != 200:
                    raise failure_of_status(
                        response.status,
                        content[:_LONGEST_ERROR_BYTES],
                        response.headers,
                        provider=endpoint.provider,
                    )
            return json.decode(content)
        except ValueError as error:
            raise BadReply(
                f"The answer of {endpoint.provider} is not JSON", provider=endpoint.provider
            ) from error
        except (aiohttp.ClientError, OSError, NotFetched) as error:
            raise failure_of_exception(error, provider=endpoint.provider, place=endpoint.place) from error
        except ProviderError as error:
            _hide_secret(error, endpoint.secret)
            raise

    async def _open(self, endpoint: Endpoint, body: bytes, tape: Tape) -> "_Answer":
        """The answer once its status is known to be good."""
        started = asyncio.get_running_loop().time()
        try:
            response = await self._post(endpoint, body)
            async with asyncio.timeout(self.policy.first_token_s):
                if response.status != 200:
                    async with response:
                        content = await response.content.read(_LONGEST_ERROR_BYTES)
                    tape.response.append(content)
                    raise failure_of_status(
                        response.status, content, response.headers, provider=endpoint.provider
                    )
        except (aiohttp.ClientError, OSError, ValueError, NotFetched) as error:
            raise failure_of_exception(error, provider=endpoint.provider, place=endpoint.place) from error
        is_alive = partial(self._is_alive, endpoint) if endpoint.pulse is not None else None
        return _Answer(response, endpoint, self.policy, started, is_alive)

    async def _post(self, endpoint: Endpoint, body: bytes) -> aiohttp.ClientResponse:
        """Waits for the headers; for as long as it takes, where the server can be seen to live."""
        request = self._session_for(endpoint).post(
            endpoint.url,
            data=body if len(body) <= _ONE_WRITE_BYTES else io.BytesIO(body),
            headers=await signed_headers(endpoint, "POST", body),
            proxy=endpoint.proxy,
            # A provider has no reason to send us elsewhere, and the key must not follow.
            allow_redirects=False,
        )
        if endpoint.pulse is None:
            async with asyncio.timeout(self.policy.first_token_s):
                return await request
        posting = asyncio.ensure_future(request)
        try:
            while True:
                done, _ = await asyncio.wait({posting}, timeout=self.policy.first_token_s)
                if done:
                    return posting.result()
                if not await self._is_alive(endpoint):
                    raise TimeoutError
        finally:
            if not posting.done():
                posting.cancel()
                await asyncio.gather(posting, return_exceptions=True)

    async def _is_alive(self, endpoint: Endpoint) -> bool:
        """Whether somebody answers there, whatever he says."""
        assert endpoint.pulse is not None
        try:
            async with (
                asyncio.timeout(_PULSE_S),
                self._session_for(endpoint).get(
                    endpoint.pulse, headers=endpoint.headers, proxy=endpoint.proxy, allow_redirects=False
                ),
            ):
                return True
        except (aiohttp.ClientError, OSError):
            return False

    def _session_for(self, endpoint: Endpoint) -> aiohttp.ClientSession:
        """Raises NotFetched for an address of a user's that may not be reached."""
        if endpoint.is_foreign:
            check_address(str(endpoint.url), self._allows)
            if self._guarded is None or self._guarded.closed:
                proxy = URL(endpoint.proxy).host if endpoint.proxy else None
                spared = frozenset([proxy] if proxy else [])
                per_host = self.policy.connections_per_host
                connector = guarded_connector(self._allows, spared=spared, limit=0, limit_per_host=per_host)
                self._guarded = self._make_session(connector)
            return self._guarded
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=self.policy.connections_per_host)
            self._session = self._make_session(connector)
        return self._session

    def _make_session(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.policy.connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
        )

    def _pause_before_retry(self, error: ProviderError, tries: int) -> float | None:
        """How long to wait before the next try; None when there is none."""
        if tries >= self.policy.max_tries or not is_worth_retrying(error):
            return None
        if isinstance(error, CutConnection) and tries == 1:
            return 0.0  # most often a pooled connection that the provider had just closed
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            if error.retry_after_s > self.policy.longest_pause_s:
                return None
            return error.retry_after_s + random.uniform(0, self.policy.pause_s)
        ceiling = min(self.policy.longest_pause_s, self.policy.pause_s * 2**tries)
        return random.uniform(ceiling / 2, ceiling)


class _Answer:
    """A response being read, with a watch that closes it when the provider falls silent.

    The watch is one timer that is seldom moved, because setting one per chunk would cost more
    than reading the chunk.
    """

    __slots__ = (
        "_content", "_due", "_endpoint", "_has_begun", "_idle_s", "_is_alive", "_is_late", "_loop", "_patience_s",
        "_pulse", "_response", "_timer", "_waiting_since", "headers",
    )  # fmt: skip

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        endpoint: Endpoint,
        policy: CallPolicy,
        started: float,
        is_alive: Callable[[], Awaitable[bool]] | None,
    ) -> None:
        self._is_alive = is_alive
        self._patience_s = policy.first_token_s
        self._pulse: asyncio.Task[None] | None = None
        self.headers = response.headers
        self._response = response
        self._content = response.content
        self._endpoint = endpoint
        self._idle_s = policy.idle_s
        self._loop = asyncio.get_running_loop()
        self._has_begun = False
        self._is_late = False
        self._waiting_since: float | None = None
        self._due = started + policy.first_token_s
        self._timer = self._loop.call_at(self._due, self._check)

    async def read(self) -> bytes:
        """The bytes that have arrived, at least one; none at the end."""
        self._waiting_since = self._loop.time()
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if self._is_late:
                raise ProviderTimeout(
                    f"{self._endpoint.provider} fell silent in the middle of its answer"
                    if self._has_begun
                    else f"{self._endpoint.provider} sent no word of an answer in time",
                    provider=self._endpoint.provider,
                ) from error
            raise failure_of_exception(
                error, provider=self._endpoint.provider, place=self._endpoint.place
            ) from error
        finally:
            self._waiting_since = None

    def note_first_delta(self) -> None:
        self._has_begun = True
        self._timer.cancel()
        self._timer = self._loop.call_later(self._idle_s, self._check)

    async def drain(self) -> None:
        """Reads to the end of the body, so that the connection can serve another request."""
        try:
            async with asyncio.timeout(_DRAIN_S):
                while await self._content.readany():
                    pass
        except (aiohttp.ClientError, OSError):
            pass

    def close(self) -> None:
        """Hangs up, unless the body was read to its end and the connection is back in the pool."""
        self._timer.cancel()
        if self._pulse is not None:
            self._pulse.cancel()
        self._response.close()

    def _check(self) -> None:
        now = self._loop.time()
        due = self._due
        if self._has_begun:
            due = (now if self._waiting_since is None else self._waiting_since) + self._idle_s
        if now < due:
            self._timer = self._loop.call_at(due, self._check)
        elif self._is_alive is not None and not self._has_begun:
            self._pulse = self._loop.create_task(self._feel_pulse(self._is_alive))
        else:
            self._hang_up()

    async def _feel_pulse(self, is_alive: Callable[[], Awaitable[bool]]) -> None:
        lives = await is_alive()
        if self._has_begun:
            return
        if not lives:
            self._hang_up()
            return
        self._due = self._loop.time() + self._patience_s
        self._timer = self._loop.call_at(self._due, self._check)

    def _hang_up(self) -> None:
        self._is_late = True
        self._response.close()


def _hide_secret(error: ProviderError, secret: str | None) -> None:
    """Providers may echo what they were sent."""
    if secret and secret in error.message:
        error.message = error.message.replace(secret, "[key]")
        error.args = (error.message,)
