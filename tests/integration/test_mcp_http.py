"""Where MCP servers may be: HTTP goes to addresses that were judged, and remote users start no programs."""

import base64

import httpx2
import pytest
from tests.support.receiver import Receiver

from remanence.core.actor import Actor
from remanence.db.database import Database
from remanence.errors import BadArgument, Invalid, McpUnavailable
from remanence.kit.addresses import Address, is_public
from remanence.kit.outside import NotFetched
from remanence.kit.vault import Vault
from remanence.mcp.http import http_factory
from remanence.tools.mcp.schemas import McpServerCreate, SseConfig, StdioConfig, StreamableConfig
from remanence.tools.mcp.service import McpService

VAULT = Vault(base64.urlsafe_b64encode(bytes(32)))
PROGRAM = StdioConfig(command="no-such-program")


async def test_a_name_is_judged_by_what_it_stands_for_and_that_is_connected_to() -> None:
    judged: list[Address] = []

    def allows(address: Address) -> bool:
        judged.append(address)
        return True

    with Receiver() as receiver:
        port = httpx2.URL(receiver.url).port
        async with http_factory(allows)() as http:
            assert (await http.post(f"http://localhost:{port}/", content=b"x")).status_code == 200
        assert judged
        assert all(address.is_loopback for address in judged)
        assert len(judged) == len(set(judged)), "it was looked up once"
        assert receiver.received[0].headers["host"] == f"localhost:{port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"])
async def test_what_lies_inside_is_not_connected_to(host: str) -> None:
    with Receiver() as receiver:
        async with http_factory(is_public)() as http:
            with pytest.raises(NotFetched, match="inside this network"):
                await http.post(f"http://{host}:{httpx2.URL(receiver.url).port}/", content=b"x")
        assert receiver.received == []


async def test_where_others_can_ask_no_program_is_started_and_nothing_inside_is_reached(
    db: Database, actor: Actor
) -> None:
    closed = McpService(db, VAULT, allows_local=False, call_timeout_s=5)
    with pytest.raises(BadArgument, match="REMANENCE_MCP_LOCAL"):
        await closed.create(actor, McpServerCreate(server_name="program", config=PROGRAM))
    for config in (
        SseConfig(server_url="http://localhost:9/"),
        StreamableConfig(server_url="http://10.0.0.1/"),
    ):
        with pytest.raises(Invalid, match="REMANENCE_MCP_LOCAL"):
            await closed.create(actor, McpServerCreate(server_name="inside", config=config))
    opened = McpService(db, VAULT, allows_local=True, call_timeout_s=5)
    kept = await opened.create(actor, McpServerCreate(server_name="program", config=PROGRAM))
    with pytest.raises(McpUnavailable, match="REMANENCE_MCP_LOCAL"):  # added before it was closed
        await closed.refresh(actor, kept.id, None)
    await opened.close()
