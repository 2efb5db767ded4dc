"""A model that costs next to nothing, as a process of its own: `python -m bench.model`.

What it answers is said by the name of the model it is asked for:

- `bench-say`: a short sentence, in one write;
- `bench-steps`: a memory edit, then a search, then a short sentence;
- `bench-search`: a search for what the user said, then a short sentence;
- `bench-tokens-N`: N tokens, each in a write of its own, as fast as they are taken.

`GET /journal` gives the requests for `bench-journal` (which plays `bench-say` and `bench-steps` in turn)
since it was last asked. Written on bare sockets, because a web framework would take as much of a shared
core as the server that is being measured.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import cast

import orjson
import uvloop

SENTENCE = "That is good to know, and I will keep it in mind for the next time we talk."
MEMORY = "Name: Eve. Lives in Lyon, works as a gardener, likes tea and long walks."
NAMES = ("bench-say", "bench-steps", "bench-search", "bench-journal", "bench-tokens-200")

_NAME = re.compile(rb'"model":"([^"]*)"')
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_USER = b'{"role":"user"'
_TOOL = b'{"role":"tool"'
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req-1\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_END = b"0\r\n\r\n"


def _event(body: object) -> bytes:
    return b"data: " + orjson.dumps(body) + b"\n\n"


def _delta(delta: object, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def _close(finish: str, completion: int) -> bytes:
    usage = {"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion}
    last: dict[str, object] = {
        "id": "c",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    return _delta({}, finish) + _event(last) + b"data: [DONE]\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _speech() -> bytes:
    words = SENTENCE.split(" ")
    parts = [_delta({"role": "assistant", "content": words[0]})]
    parts += [_delta({"content": f" {word}"}) for word in words[1:]]
    return _HEAD + _chunk(b"".join(parts) + _close("stop", len(words))) + _END


def _call(serial: int, name: str, arguments: dict[str, str]) -> bytes:
    function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
    call = {"index": 0, "id": f"call_{serial}", "type": "function", "function": function}
    opening = _delta({"role": "assistant", "content": None, "tool_calls": [call]})
    return _HEAD + _chunk(opening + _close("tool_calls", 20)) + _END


_SPEECH = _speech()


class Model(asyncio.Protocol):
    journal: list[str] = []  # noqa: RUF012 - one for all connections
    serial = 0

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._streams: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is no subclass

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            head, body = self._received[:end], self._received[end + 4 : whole]
            self._received = self._received[whole:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        assert self._transport is not None
        if not head.startswith(b"POST"):
            self._transport.write(_plain(head))
            return
        name = found[1].decode() if (found := _NAME.search(body)) else ""
        if name.startswith("bench-tokens-"):
            task = asyncio.get_running_loop().create_task(self._stream(int(name.rpartition("-")[2])))
            self._streams.add(task)
            task.add_done_callback(self._streams.discard)
            return
        self._transport.write(_reply(name, body))

    async def _stream(self, tokens: int) -> None:
        assert self._transport is not None
        self._transport.write(_HEAD)
        for frame in _tokens(tokens):
            if self._transport.is_closing():
                return
            self._transport.write(_chunk(frame))
            await asyncio.sleep(0)
        self._transport.write(_END)


def _tokens(count: int) -> Iterator[bytes]:
    yield _delta({"role": "assistant", "content": "Well"})
    token = _delta({"content": " word"})
    for _ in range(count - 1):
        yield token
    yield _close("stop", count)


def _reply(name: str, body: bytes) -> bytes:
    said_at = body.rfind(_USER)
    returns = body.count(_TOOL, said_at)
    Model.serial += 1
    if name == "bench-journal":
        Model.journal.append(body.decode())
        name = "bench-say" if body.count(_USER) % 3 else "bench-steps"
    if name == "bench-steps" and returns == 0:
        return _call(Model.serial, "memory_rethink", {"label": "human", "new_memory": MEMORY})
    if (name == "bench-steps" and returns == 1) or (name == "bench-search" and returns == 0):
        said = [each["content"] for each in orjson.loads(body)["messages"] if each["role"] == "user"]
        return _call(Model.serial, "conversation_search", {"query": str(said[-1])[-200:]})
    return _SPEECH


def _plain(head: bytes) -> bytes:
    if head.startswith(b"GET /journal"):
        content = orjson.dumps(Model.journal)
        Model.journal.clear()
    else:
        listed = [{"id": name, "object": "model", "context_length": 1_000_000} for name in NAMES]
        content = orjson.dumps({"object": "list", "data": listed})
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        len(content),
        content,
    )


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Model, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
