"""Signing in to MCP servers that ask for it (OAuth): a person opens an address, and the tokens are kept."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs, urlsplit

from remanence.core.mcp import McpServer
from remanence.errors import McpUnavailable
from remanence.kit.json import JsonObject

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

SIGN_IN_S = 300
"""How long somebody may take to sign in."""


class TokenStore(Protocol):
    """Where the tokens of one server are kept, encrypted."""

    async def load(self) -> JsonObject: ...

    async def save(self, kept: JsonObject) -> None: ...


@dataclass(frozen=True, slots=True)
class Brought:
    """What the browser comes back with."""

    code: str
    state: str
    issuer: str | None


class SignIns:
    """Those that are under way in this process, by the state that the browser brings back."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Brought]] = {}

    def expect(self, url: str) -> "asyncio.Future[Brought]":
        """What somebody who opens this address will bring."""
        state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        waiting = self._waiting[state] = asyncio.get_running_loop().create_future()
        waiting.add_done_callback(lambda _: self._waiting.pop(state, None))
        return waiting

    def bring(
        self, state: str, code: str | None, *, issuer: str | None = None, error: str | None = None
    ) -> bool:
        """False if nobody waits for it."""
        waiting = self._waiting.get(state)
        if waiting is None or waiting.done():
            return False
        if code:
            waiting.set_result(Brought(code, state, issuer))
        else:
            waiting.set_exception(McpUnavailable(f"Signing in was refused: {error or 'no code was given'}."))
        return True


def make_auth(
    server: McpServer,
    store: TokenStore,
    redirect_uri: str,
    on_address: Callable[[str], Awaitable[None]] | None = None,
    sign_ins: SignIns | None = None,
) -> "httpx2.Auth":
    """Uses the tokens that are kept, and renews them. Without `on_address` nobody is there to sign in."""
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
    from pydantic import AnyUrl

    waiting: list[asyncio.Future[Brought]] = []

    async def show(url: str) -> None:
        if on_address is None or sign_ins is None:
            raise McpUnavailable(
                f"Somebody must sign in first: open /v1/mcp-servers/connect/{server.id} and follow the address."
            )
        waiting.append(sign_ins.expect(url))
        await on_address(url)

    async def await_code() -> AuthorizationCodeResult:
        async with asyncio.timeout(SIGN_IN_S):
            brought = await waiting[-1]
        return AuthorizationCodeResult(code=brought.code, state=brought.state, iss=brought.issuer)

    metadata = OAuthClientMetadata(
        client_name="Remanence",
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=["authorization_code", "refresh_token"],
    )
    return OAuthClientProvider(server.server_url or "", metadata, _Storage(store), show, await_code)


class _Storage:
    """The SDK's idea of a storage, over ours."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store

    async def get_tokens(self) -> "OAuthToken | None":
        from mcp.shared.auth import OAuthToken

        kept = (await self._store.load()).get("tokens")
        return OAuthToken.model_validate(kept) if kept else None

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        await self._store.save(await self._store.load() | {"tokens": tokens.model_dump(mode="json")})

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        from mcp.shared.auth import OAuthClientInformationFull

        kept = (await self._store.load()).get("client")
        return OAuthClientInformationFull.model_validate(kept) if kept else None

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        await self._store.save(await self._store.load() | {"client": client_info.model_dump(mode="json")})
