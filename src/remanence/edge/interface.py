"""The web interface: the built files of `ui/`, and the page for whatever address of its own is asked for.

It knows no routes but its own files. Files with a digest in their name never change and are kept by
browsers for good; the page itself is asked for anew each time. Nothing is read before it is asked for.
"""

import hashlib
import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).parent / "static"

_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data: blob:",  # pictures in messages, and those about to be sent
        "style-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_GUARDS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_FOR_GOOD = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Remanence</title>
<h1>The server runs; its web interface is not built</h1>
<p>Install Node.js 20.19 or later, run <code>make ui</code> in the source folder, and load this page again.
The wheels have it built in. The API needs none of it: it is at <code>v1/</code>, and described at
<a href="docs">docs</a>.</p></html>"""


class Interface:
    """Takes what no route of the API was made for; `otherwise` gets what is not for a browser."""

    def __init__(self, otherwise: ASGIApp, folder: Path = FOLDER) -> None:
        self._otherwise = otherwise
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", "")).lstrip("/")
        answer = None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and path.split("/")[0] != "v1":
            answer = self._answer(path, Headers(scope=scope))
        await (answer or self._otherwise)(scope, receive, send)

    def _answer(self, path: str, headers: Headers) -> Response | None:
        if path and (file := self._find(path)) is not None:
            return _file_response(file, is_hashed=path.startswith("assets/"), headers=headers)
        if path and "text/html" not in headers.get("accept", ""):
            return None
        page = self._folder / "index.html"
        if not page.is_file():
            return HTMLResponse(_NOT_BUILT, headers=_GUARDS | {"cache-control": "no-store"})
        # The way back up from this address, so that files are found under whatever prefix a proxy put before it.
        base = "../" * path.count("/") or "./"
        body = page.read_bytes().replace(b'<base href="/"', f'<base href="{base}"'.encode(), 1)
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        named = _GUARDS | {"cache-control": "no-cache", "etag": etag}
        if etag in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=named)
        return HTMLResponse(body, headers=named)

    def _find(self, path: str) -> Path | None:
        file = (self._folder / path).resolve()
        return file if file.is_relative_to(self._folder.resolve()) and file.is_file() else None


def _file_response(file: Path, *, is_hashed: bool, headers: Headers) -> Response:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    named = _GUARDS | {"cache-control": _FOR_GOOD if is_hashed else "no-cache", "vary": "accept-encoding"}
    accepted = headers.get("accept-encoding", "")
    for encoding, ending in _ENCODINGS:
        packed = file.with_name(file.name + ending)
        if encoding in accepted and packed.is_file():
            named["content-encoding"] = encoding
            file = packed
            break
    response = FileResponse(file, headers=named, media_type=kind, stat_result=file.stat())
    if response.headers["etag"] in headers.get("if-none-match", ""):
        kept = {name: response.headers[name] for name in (*_GUARDS, "cache-control", "vary", "etag")}
        return Response(status_code=304, headers=kept)
    return response
