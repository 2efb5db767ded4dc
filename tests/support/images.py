"""A small server of pictures on loopback, for messages that link to them."""

import base64
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""The smallest picture there is, a PNG in base64."""


class ImageServer:
    """Has `/dot.png`; `/page.html` is no picture, `/elsewhere.png` a redirect, and the rest is missing."""

    def __init__(self) -> None:
        self.served: list[str] = []
        served = self.served

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.append(self.path)
                match self.path:
                    case "/dot.png":
                        self._answer(200, "image/png", base64.b64decode(PIXEL))
                    case "/page.html":
                        self._answer(200, "text/html", b"<p>A dot.</p>")
                    case "/elsewhere.png":
                        self._answer(302, "image/png", b"", location="/dot.png")
                    case _:
                        self._answer(404, "text/plain", b"")

            def _answer(self, status: int, kind: str, content: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in {
                    "Content-Type": kind,
                    "Content-Length": str(len(content)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
