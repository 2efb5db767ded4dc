"""Pages and searches of the web, against a small server on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from remanence.core.readable import readable_text
from remanence.kit.addresses import is_no_metadata, is_public
from remanence.kit.outside import NotFetched, fetch
from remanence.tools.builtin.outcome import ToolFailure
from remanence.tools.builtin.web import WebAccess, WebTools

PAGE = """<html><head><title>Opening hours</title><style>p {}</style></head><body>
<nav><a href="/home">Home</a></nav><main><h1>Hours</h1><p>From <b>nine</b> to
five.</p><ul><li>Monday</li><li><a href="/tue">Tuesday</a></li></ul><script>evil()</script></main>
<footer>Imprint</footer></body></html>"""


class Web:
    def __init__(self) -> None:  # noqa: C901 - a page for each case
        self.asked: list[dict[str, Any]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                match self.path:
                    case "/page":
                        self._answer(200, "text/html; charset=utf-8", PAGE.encode())
                    case "/moved":
                        self._answer(302, "text/plain", b"", location="/page")
                    case "/inside":
                        self._answer(302, "text/plain", b"", location="http://169.254.169.254/latest")
                    case "/round":
                        self._answer(302, "text/plain", b"", location="/round")
                    case "/large":
                        self._answer(200, "text/plain", b"x" * (6 << 20))
                    case "/picture":
                        self._answer(200, "image/png", b"\x89PNG")
                    case _:
                        self._answer(404, "text/plain", b"")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked.append(
                    {"key": self.headers.get("x-api-key") or self.headers.get("authorization"), **body}
                )
                found = {"results": [{"title": "Figs", "url": "https://figs.org", "text": "About figs."}]}
                status = 401 if "bad" in str(asked[-1]["key"]) else 200
                self._answer(status, "application/json", json.dumps(found).encode())

            def _answer(self, status: int, kind: str, content: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in {
                    "Content-Type": kind,
                    "Content-Length": str(len(content)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(content)
                except (BrokenPipeError, ConnectionResetError):
                    return  # whoever asked has seen enough

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    running = Web()
    yield running
    running.close()


@pytest.fixture
def tools(web: Web) -> WebTools:
    return WebTools(WebAccess(reaches_private=True, exa_url=web.url, tavily_url=web.url))


async def test_a_page_is_read_as_text(web: Web, tools: WebTools) -> None:
    text = await tools.fetch_page(f"{web.url}/moved")
    assert "From nine to five." in text
    assert f"- [Tuesday]({web.url}/tue)" in text
    assert text.startswith(f"# Opening hours\n{web.url}/page\n")
    for left_out in ("evil", "Imprint", "Home", "p {}"):
        assert left_out not in text


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/inside", "inside this network"),
        ("/round", "redirects more than"),
        ("/picture", "image/png"),
        ("/missing", "status 404"),
    ],
)
async def test_what_cannot_be_read_is_told(web: Web, tools: WebTools, path: str, word: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        await tools.fetch_page(web.url + path)
    assert word in failure.value.text


async def test_only_so_much_of_a_page_is_read(web: Web, tools: WebTools) -> None:
    assert (await tools.fetch_page(f"{web.url}/large")).endswith("[Only the first 5 MiB were read.]")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "10.1.2.3", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]"]
)
async def test_addresses_inside_are_refused_by_name_and_by_number(host: str) -> None:
    with pytest.raises(NotFetched, match="inside this network"):
        await fetch(f"http://{host}:1/", allows=is_public, max_bytes=1, timeout_s=5)


async def test_a_name_is_looked_up_once_and_that_address_is_judged(web: Web) -> None:
    """Whatever it means afterwards, the connection goes to the address that was judged."""
    judged: list[str] = []

    def allows(address: Any) -> bool:
        judged.append(str(address))
        return is_no_metadata(address)

    url = web.url.replace("127.0.0.1", "localhost")
    page = await fetch(f"{url}/page", allows=allows, max_bytes=1 << 20, timeout_s=5)
    assert page.status == 200
    assert len(judged) == len(set(judged))
    assert "127.0.0.1" in judged


async def test_a_search_asks_the_service_whose_key_there_is(web: Web, tools: WebTools) -> None:
    web.asked.clear()
    args = {"query": "figs", "num_results": 3, "include_domains": ["figs.org"]}
    found = json.loads(await tools.search(args, {"EXA_API_KEY": "exa"}))
    assert found["results"] == [{"title": "Figs", "url": "https://figs.org", "text": "About figs."}]
    await tools.search(args, {"TAVILY_API_KEY": "tav"})
    assert [each["key"] for each in web.asked] == ["exa", "Bearer tav"]
    assert (web.asked[0]["numResults"], web.asked[1]["max_results"]) == (3, 3)
    with pytest.raises(ToolFailure, match="refused the key"):
        await tools.search(args, {"EXA_API_KEY": "bad"})
    with pytest.raises(ToolFailure, match="no key"):
        await tools.search(args, {})


def test_pages_that_are_no_good_html_are_read_all_the_same() -> None:
    for html in ("", "<", "<p>a<p>b</div></p>", "<main>" * 100, "</a></a><a>x", "<script>never closed"):
        readable_text(html, "http://x/")
    assert readable_text("<p>a<br>b</p><p>c", "http://x/") == ("", "a\nb\n\nc")
