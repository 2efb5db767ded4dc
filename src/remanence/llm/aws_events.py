"""Amazon's binary event streams, from bytes as they arrive to the data of each event."""

import base64
import struct
import zlib
from typing import Any

from remanence.errors import BadReply
from remanence.kit import json
from remanence.llm.sse import LONGEST_EVENT_BYTES

_PRELUDE, _CHECKSUM = 12, 4
_EXCEPTION = b":exception-type"
# What passes, where the name alone does not say so.
_CODES = {"throttlingException": "rate_limit 429", "modelStreamErrorException": "server_error"}


class FrameSplitter:
    """In the place of an `EventSplitter`: the same promises, another framing."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        tail = self._tail + chunk
        events: list[bytes] = []
        while len(tail) >= _PRELUDE:
            total, headers = struct.unpack_from(">II", tail)
            if not _PRELUDE + _CHECKSUM + headers <= total <= LONGEST_EVENT_BYTES:
                raise BadReply("The provider sent an event of no possible length")
            if len(tail) < total:
                break
            frame, tail = tail[:total], tail[total:]
            if zlib.crc32(frame[:-_CHECKSUM]) != int.from_bytes(frame[-_CHECKSUM:]):
                raise BadReply("The provider sent an event whose checksum is wrong")
            start = _PRELUDE + headers
            if event := _read(frame[_PRELUDE:start], frame[start:-_CHECKSUM]):
                events.append(event)
        self._tail = tail
        return events

    def end(self) -> list[bytes]:
        return []


def _read(headers: bytes, payload: bytes) -> bytes | None:
    content: Any = json.decode(payload) if payload else {}
    if (at := headers.find(_EXCEPTION)) >= 0:
        start = at + len(_EXCEPTION) + 3  # its type, and the length of the value
        length = int.from_bytes(headers[start - 2 : start])
        kind = headers[start : start + length].decode()
        error = {"type": _CODES.get(kind, kind), "message": content.get("message") or kind}
        return json.encode({"type": "error", "error": error})
    return base64.b64decode(content["bytes"]) if "bytes" in content else None
