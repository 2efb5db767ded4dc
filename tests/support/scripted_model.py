"""A model that plays a script over real sockets, in the providers' own wire formats.

    async with ScriptedModel() as model:
        model.script(calls("memory_replace", label="human", new="Likes tea"), says("Noted."))
        ...                                   # point a provider at model.base_url
        model.journal[1].last_tool_return     # what it was asked

Leaving the block (or `verify()`) fails on a call that no line was left for and on a line that was
never played. `ScriptedModel.start_in_thread()` serves tests that block, and servers in other
processes; `python -m tests.support.scripted_model` is a model of its own for load tests.
"""

import asyncio
import sys
import threading
import zlib
from argparse import ArgumentParser
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from aiohttp import web
from tests.support.model_wire import ChatCompletions, SeenRequest, SeenToolReturn, WireFormat, text_of
from tests.support.script import (
    Gate,
    Line,
    Signal,
    calls,
    calls_raw,
    fails,
    hangs_up,
    redacts,
    says,
    sends,
    thinks,
)
from tests.support.wire_anthropic import AnthropicMessages
from tests.support.wire_gemini import Gemini
from tests.support.wire_responses import Responses

from remanence.kit import json
from remanence.kit.json import JsonObject

__all__ = [
    "Gate",
    "Line",
    "ScriptedModel",
    "SeenRequest",
    "SeenToolReturn",
    "Signal",
    "calls",
    "calls_raw",
    "fails",
    "hangs_up",
    "redacts",
    "says",
    "sends",
    "text_of",
    "thinks",
]

FORMATS: tuple[WireFormat, ...] = (ChatCompletions(), Responses(), AnthropicMessages(), Gemini())

Responder = Callable[[SeenRequest], Line | None]

# Not a status that callers try again, so that an unplanned call fails the test at once.
_UNPLANNED_STATUS = 418


def spread(text: str, dimensions: int = 64) -> list[float]:
    """A vector by which texts are alike that have words in common."""
    values = [0.0] * dimensions
    for word in text.lower().split():
        values[zlib.crc32(word.strip(".,!?").encode()) % dimensions] += 1.0
    return values


class ScriptedModel:
    def __init__(self, formats: Sequence[WireFormat] = FORMATS) -> None:
        self.journal: list[SeenRequest] = []
        self.responder: Responder | None = None
        """Asked first; where it returns None the script goes on. Not counted by `verify()`."""
        self.models: list[JsonObject] = [
            {"id": name} for name in ("gpt-4o", "gpt-4o-mini", "text-embedding-3-small")
        ]
        """What `GET /v1/models` lists."""
        self.models_status = 200
        self.refuses_lists = False
        """Hangs up on whoever asks for the list."""
        self._lists = 0
        self._listed = asyncio.Event()
        self.embedded: list[list[str]] = []
        """The texts that vectors were asked for, request by request. They need no line of the script."""
        self.embedding_status = 200
        self.embedding_answer: JsonObject | None = None
        """In place of vectors."""
        self.on_connection: Callable[[object], None] | None = None
        """Told the client's address with every request, to see connections being used again."""
        self._formats = formats
        self._lines: deque[Line] = deque()
        self._unplanned: list[str] = []
        self._arrivals: list[tuple[int, Signal]] = []
        self._runner: web.AppRunner | None = None
        self._thread: _Thread | None = None
        self.port = 0

    # -- the test's side ------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def script(self, *lines: Line) -> None:
        """Adds lines, played in the order in which requests arrive."""
        self._lines.extend(lines)

    def verify(self) -> None:
        unplanned, self._unplanned = self._unplanned, []
        unplayed = list(self._lines)
        self._lines.clear()
        assert not unplanned, f"The model was called without a line to play: {unplanned}"
        assert not unplayed, f"These lines were never played: {unplayed}"

    def forget(self) -> None:
        """Ready for another test: no lines, no journal, nobody who answers by himself."""
        self.responder = None
        self.journal.clear()
        self.embedded.clear()
        self._lines.clear()
        self._unplanned.clear()
        self._arrivals.clear()

    @property
    def last(self) -> SeenRequest:
        return self.journal[-1]

    async def arrived(self, count: int, timeout_s: float = 10) -> None:
        """Waits until that many requests have come in."""
        await self._arrival(count).wait(timeout_s)

    def arrived_sync(self, count: int, timeout_s: float = 10) -> None:
        self._arrival(count).wait_sync(timeout_s)

    def _arrival(self, count: int) -> Signal:
        signal = Signal()
        self._arrivals.append((count, signal))
        self._announce_arrivals()
        return signal

    def _announce_arrivals(self) -> None:
        for count, signal in self._arrivals:
            if len(self.journal) >= count:
                signal.set()

    # -- life -----------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_post("/v1beta/models/{model}:batchEmbedContents", self._embed_gemini)
        app.router.add_get("/v1beta/models", self._list_models)
        for wire in self._formats:
            app.router.add_post(wire.path, self._handler(wire))
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.stop()
        if kind is None:
            self.verify()

    @classmethod
    def start_in_thread(cls, port: int = 0) -> Self:
        """A model on a thread and loop of its own; end it with `stop_thread()`."""
        model = cls()
        model._thread = _Thread(model, port)
        model._thread.begin()
        return model

    def stop_thread(self) -> None:
        if self._thread is not None:
            self._thread.end()
            self._thread = None

    # -- the provider's side --------------------------------------------------------------------

    async def lists_asked(self, count: int) -> None:
        """Waits until the list of models has been asked for that often."""
        async with asyncio.timeout(10):
            while self._lists < count:
                self._listed.clear()
                await self._listed.wait()

    async def _list_models(self, request: web.Request) -> web.Response:
        self._lists += 1
        self._listed.set()
        if self.refuses_lists:
            _cut(request)
        body = {
            "object": "list",
            "data": [{"object": "model", "owned_by": "script"} | each for each in self.models],
            "models": [each | {"name": f"models/{each['id']}"} for each in self.models],  # Google's list
        }
        return web.Response(
            body=json.encode(body), status=self.models_status, content_type="application/json"
        )

    async def _embed(self, request: web.Request) -> web.Response:
        asked = json.decode(await request.read())
        self.embedded.append(asked["input"])
        data = [{"index": number, "embedding": spread(text)} for number, text in enumerate(asked["input"])]
        body = self.embedding_answer or {"object": "list", "data": data[::-1], "model": asked["model"]}
        if self.embedding_status != 200:
            body = {"error": {"message": "no vectors today"}}
        return web.Response(
            body=json.encode(body), status=self.embedding_status, content_type="application/json"
        )

    async def _embed_gemini(self, request: web.Request) -> web.Response:
        asked = json.decode(await request.read())["requests"]
        texts = [each["content"]["parts"][0]["text"] for each in asked]
        self.embedded.append(texts)
        body = {"embeddings": [{"values": spread(text)} for text in texts]}
        return web.Response(body=json.encode(body), content_type="application/json")

    def _handler(self, wire: WireFormat) -> Callable[[web.Request], "asyncio.Future[web.StreamResponse]"]:
        async def answer(request: web.Request) -> web.StreamResponse:
            seen = wire.read(json.decode(await request.read()), dict(request.headers), request.path)
            if self.on_connection is not None and request.transport is not None:
                self.on_connection(request.transport.get_extra_info("peername"))
            self.journal.append(seen)
            self._announce_arrivals()
            serial = len(self.journal)
            line = self._next_line(seen)
            try:
                response = await self._play(line, wire, seen, serial, request)
            except (asyncio.CancelledError, ConnectionError):
                seen.hung_up.set()
                raise
            seen.answered.set()
            return response

        return answer  # pyright: ignore[reportReturnType] - aiohttp takes coroutine functions

    def _next_line(self, seen: SeenRequest) -> Line:
        line = self.responder(seen) if self.responder is not None else None
        if line is not None:
            return line
        if self._lines:
            return self._lines.popleft()
        said = f"{seen.roles[-1] if seen.roles else '-'}: {text_of(seen.messages[-1])[:200] if seen.messages else ''}"
        self._unplanned.append(said)
        return fails(_UNPLANNED_STATUS, {"error": {"message": f"No line left in the script for {said!r}"}})

    async def _play(
        self, line: Line, wire: WireFormat, seen: SeenRequest, serial: int, request: web.Request
    ) -> web.StreamResponse:
        if line.hold is not None:
            await line.hold.wait()
        if line.delay_s:
            await asyncio.sleep(line.delay_s)
        if line.cut_after is not None and line.cut_after < 0:
            _cut(request)
            return web.Response()
        is_stream = seen.is_stream and not line.ignores_stream and line.raw is None
        if line.raw is not None:
            frames = iter(line.raw)
        elif is_stream:
            frames = wire.frames(line, seen, serial)
        else:
            frames = iter((wire.whole(line, seen, serial),))
        headers = {"Content-Type": "text/event-stream" if is_stream else "application/json", **line.headers}
        if "x-request-id" not in headers:
            headers["x-request-id"] = f"req-{serial}"
        response = web.StreamResponse(status=line.status, headers=headers)
        await response.prepare(request)
        if line.cut_after == 0:
            _cut(request)
            return response
        for sent, frame in enumerate(frames):
            if sent in line.pauses:
                await line.pauses[sent].wait()
            if line.token_delay_s and sent:
                await asyncio.sleep(line.token_delay_s)
            await response.write(frame)
            if sent + 1 == line.cut_after:
                await asyncio.sleep(0.01)  # let the last frame leave before the connection breaks
                _cut(request)
                return response
        await response.write_eof()
        return response


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


class _Thread:
    """Runs a model on its own loop, for callers that have none or block theirs."""

    def __init__(self, model: ScriptedModel, port: int) -> None:
        self._model = model
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._is_up = threading.Event()
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="scripted-model", daemon=True)

    def begin(self) -> None:
        self._thread.start()
        self._is_up.wait(10)
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # handed to the thread that waits in begin()
            self._failure = error
            self._is_up.set()
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        await self._model.start(self._port)
        self._is_up.set()
        await self._stopping.wait()
        await self._model.stop()


def main() -> None:
    """Answers every request with the same words, for load tests; prints its base URL."""
    parser = ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=10)
    options = parser.parse_args()

    async def serve() -> None:
        model = ScriptedModel()
        line = says("word " * int(options.tokens))
        model.responder = lambda _: line
        await model.start(int(options.port))
        sys.stdout.write(model.base_url + "\n")
        sys.stdout.flush()
        while True:
            await asyncio.sleep(5)
            model.journal.clear()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
