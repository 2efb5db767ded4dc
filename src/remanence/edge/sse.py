"""Server-sent events: how frames look on the wire."""

from remanence.kit import json

DONE = b"data: [DONE]\n\n"


def frame(body: object) -> bytes:
    return b"data: " + json.encode(body) + b"\n\n"


def error_frame(body: object) -> bytes:
    return b"event: error\ndata: " + json.encode(body) + b"\n\n"
