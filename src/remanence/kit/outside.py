"""Fetching from addresses that users and models name, without being led back inside.

A name is looked up once, the address is judged, and the connection goes to that very address: a name that
means something else a moment later changes nothing. Each redirect is judged anew.
"""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from remanence.kit.addresses import Judge, is_anywhere


class NotFetched(Exception):
    """What was asked for cannot or may not be fetched; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a name stands for, once."""

    address: str
    family: int
    protocol: int


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str
    """Where it was in the end."""
    status: int
    media_type: str
    charset: str | None
    data: bytes
    is_cut: bool


async def look_up(
    host: str, port: int, *, allows: Judge, family: socket.AddressFamily = socket.AF_UNSPEC
) -> list[Place]:
    """Where a name leads, for a connection to just that. Raises NotFetched, and OSError for an unknown name."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
    except UnicodeError:
        raise NotFetched(f"{host!r} cannot be the name of a machine") from None
    places = [Place(str(place[0]), kind, protocol) for kind, _, protocol, _, place in found]
    # One bad address is enough: whoever owns the name chose what it stands for.
    if not all(allows(ipaddress.ip_address(place.address.partition("%")[0])) for place in places):
        raise NotFetched(f"{host} is inside this network, which is not reached from here")
    return places


def guarded_connector(
    allows: Judge, *, spared: frozenset[str] = frozenset(), **options: Any
) -> aiohttp.TCPConnector:
    """Connects to nothing that may not be reached, by whatever name. Addresses written as numbers are not
    looked up: `check_address` judges those. `spared` are names that the operator has chosen, such as a proxy's."""
    return aiohttp.TCPConnector(resolver=_Resolver(allows, spared), use_dns_cache=False, **options)


async def fetch(
    url: str, *, allows: Judge, max_bytes: int, timeout_s: float, max_redirects: int = 5, accept: str = "*/*"
) -> Fetched:
    """Raises NotFetched."""
    connector = guarded_connector(allows, force_close=True)
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    headers = {"user-agent": "remanence", "accept": accept}
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
            for _ in range(max_redirects + 1):
                check_address(url, allows)
                async with session.get(url, allow_redirects=False) as response:
                    target = response.headers.get("location")
                    if response.status not in (301, 302, 303, 307, 308) or not target or not max_redirects:
                        return await _read(url, response, max_bytes)
                    url = urljoin(url, target)
    except TimeoutError:
        raise NotFetched(f"{url} did not answer within {timeout_s:g} seconds") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotFetched(f"{url} could not be fetched: {error}") from None
    raise NotFetched(f"{url} redirects more than {max_redirects} times")


def check_address(url: str, allows: Judge) -> None:
    """Raises NotFetched for what is no web address, and for a number that may not be reached."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise NotFetched(f"{url} is not a web address: it must begin with http:// or https://")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return  # a name: the resolver judges what it stands for
    if not allows(address):
        raise NotFetched(f"{host} is an address inside this network, which is not reached from here")


async def _read(url: str, response: aiohttp.ClientResponse, max_bytes: int) -> Fetched:
    data = bytearray()
    async for part in response.content.iter_chunked(65536):
        data += part
        if len(data) > max_bytes:
            break
    return Fetched(
        url,
        response.status,
        response.content_type,
        response.charset,
        bytes(data[:max_bytes]),
        is_cut=len(data) > max_bytes,
    )


class _Resolver(AbstractResolver):
    """Looks names up, and gives nothing that may not be reached."""

    def __init__(self, allows: Judge, spared: frozenset[str]) -> None:
        self._allows = allows
        self._spared = spared

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        allows = is_anywhere if host in self._spared else self._allows
        return [
            ResolveResult(
                hostname=host,
                host=place.address,
                port=port,
                family=place.family,
                proto=place.protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for place in await look_up(host, port, allows=allows, family=family)
        ]

    async def close(self) -> None:
        """There is nothing to close."""
