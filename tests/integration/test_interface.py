"""How the web interface's files are served, without a browser."""

from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from remanence.edge.interface import Interface
from remanence.edge.responses import JsonBytes

PAGE = '<!doctype html><html><head><base href="/" /></head></html>'
BROWSER = {"accept": "text/html,*/*"}


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    await JsonBytes({"detail": "Not Found"}, 404)(scope, receive, send)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "theme.js").write_text("1")
    (tmp_path / "assets/app-1a2b.js").write_text("plain")
    (tmp_path / "assets/app-1a2b.js.gz").write_bytes(b"packed")
    (tmp_path.parent / "secret.txt").write_text("hidden")
    return tmp_path


def _client(folder: Path, root_path: str = "") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(Interface(_nowhere, folder), root_path=root_path)
    return httpx.AsyncClient(transport=transport, base_url="http://here")


async def test_the_page_answers_for_every_address_a_browser_opens(folder: Path) -> None:
    async with _client(folder) as client:
        for path, base in (("/", "./"), ("/agents/agent-1", "../"), ("/blocks/b/history", "../../")):
            response = await client.get(path, headers=BROWSER)
            assert response.status_code == 200
            assert f'<base href="{base}"' in response.text
            assert response.headers["cache-control"] == "no-cache"
            assert "default-src 'self'" in response.headers["content-security-policy"]
            assert "unsafe" not in response.headers["content-security-policy"]
            again = await client.get(path, headers=BROWSER | {"if-none-match": response.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


async def test_what_is_not_for_a_browser_stays_a_404_in_json(folder: Path) -> None:
    async with _client(folder) as client:
        for method, path, headers in (
            ("GET", "/v1/nowhere", BROWSER),
            ("GET", "/v1", BROWSER),
            ("GET", "/missing.js", {"accept": "*/*"}),
            ("POST", "/", BROWSER),
            ("GET", "/%2e%2e/secret.txt", {"accept": "*/*"}),
        ):
            response = await client.request(method, path, headers=headers)
            assert (response.status_code, response.json()) == (404, {"detail": "Not Found"}), path


async def test_files_are_kept_by_browsers_as_long_as_they_stay_the_same(folder: Path) -> None:
    async with _client(folder) as client:
        plain = await client.get("/assets/app-1a2b.js", headers={"accept-encoding": "identity"})
        assert (plain.text, "content-encoding" in plain.headers) == ("plain", False)
        assert "immutable" in plain.headers["cache-control"]
        async with client.stream("GET", "/assets/app-1a2b.js", headers={"accept-encoding": "gzip"}) as packed:
            assert packed.headers["content-encoding"] == "gzip"
            assert packed.headers["content-type"].startswith("text/javascript")
            assert b"".join([chunk async for chunk in packed.aiter_raw()]) == b"packed"
        theme = await client.get("/theme.js")
        assert theme.headers["cache-control"] == "no-cache"
        again = await client.get("/theme.js", headers={"if-none-match": theme.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head = await client.head("/theme.js")
        assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "1")


async def test_without_built_files_the_page_says_how_to_get_them(tmp_path: Path) -> None:
    async with _client(tmp_path / "none") as client:
        response = await client.get("/", headers=BROWSER)
        assert response.status_code == 200
        assert "make ui" in response.text
