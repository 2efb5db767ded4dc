"""The request's own id, and the door every request comes through."""

from collections.abc import Callable
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.edge.bodies import find_fault
from remanence.edge.responses import JsonBytes
from remanence.kit.logging import request_id

_HEADER = b"x-request-id"


class RequestDoor:
    """Names each request, serves the older `/latest` prefix as `/v1`, and stops what no database can hold."""

    def __init__(self, app: ASGIApp, on_answer: Callable[[Scope, int], None] | None = None) -> None:
        self._app = app
        self._on_answer = on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/latest/"):
            scope["path"] = "/v1" + scope["path"][7:]
            scope["raw_path"] = scope["path"].encode()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(_HEADER, b"")
        name = given.decode("latin-1")[:128] if given.isascii() and given else f"req-{uuid4()}"
        request_id.set(name)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = name
                if self._on_answer is not None:
                    self._on_answer(scope, message["status"])
            await send(message)

        if "\x00" in scope["path"] or b"%00" in scope["query_string"]:
            detail = "INVALID_ARGUMENT: The address must not contain the NUL character (%00)."
            await JsonBytes({"detail": detail, "request_id": name}, 422)(scope, receive, send_named)
            return
        is_json = b"json" in headers.get(b"content-type", b"").lower()
        await self._app(scope, _checked(receive) if is_json else receive, send_named)


def _checked(receive: Receive) -> Receive:
    """The same body, which is refused once it is read in full and found wanting."""
    chunks: list[bytes] = []

    async def receive_checked() -> Message:
        message = await receive()
        if message["type"] == "http.request":
            chunks.append(message.get("body", b""))
            if not message.get("more_body") and (body := b"".join(chunks)):
                chunks.clear()
                if fault := find_fault(body):
                    raise HTTPException(422, f"INVALID_ARGUMENT: The body cannot be read as JSON: {fault}.")
        return message

    return receive_checked
