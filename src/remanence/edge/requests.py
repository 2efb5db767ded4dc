"""The request's own id, and the door every request comes through."""

from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.kit.logging import request_id

_HEADER = b"x-request-id"


class RequestDoor:
    """Names each request, and serves the older `/latest` prefix as `/v1`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/latest/"):
            scope["path"] = "/v1" + scope["path"][7:]
            scope["raw_path"] = scope["path"].encode()
        given = next((value for key, value in scope["headers"] if key == _HEADER), b"")
        name = given.decode("latin-1")[:128] if given.isascii() and given else f"req-{uuid4()}"
        request_id.set(name)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = name
            await send(message)

        await self._app(scope, receive, send_named)
