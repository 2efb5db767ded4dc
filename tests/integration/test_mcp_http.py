"""HTTP to MCP servers goes to addresses that were judged, and to no others."""

import httpx2
import pytest
from tests.support.receiver import Receiver

from remanence.kit.outside import Address, NotFetched, is_public
from remanence.mcp.http import http_factory


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
