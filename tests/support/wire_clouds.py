"""Amazon Bedrock and Google Vertex AI, as the scripted model plays them."""

import base64
import struct
import zlib
from collections.abc import Iterator

from tests.support.model_wire import ChatCompletions, SeenRequest
from tests.support.script import Line
from tests.support.wire_anthropic import AnthropicMessages
from tests.support.wire_gemini import Gemini

from remanence.kit import json
from remanence.kit.json import JsonObject


def aws_frame(payload: JsonObject, **headers: str) -> bytes:
    """One event of Amazon's binary streams."""
    head = b"".join(
        bytes((len(name) + 1,))
        + f":{name}".encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in ((name.replace("_", "-"), value) for name, value in headers.items())
    )
    body = json.encode(payload)
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return frame + struct.pack(">I", zlib.crc32(frame))


class Bedrock(AnthropicMessages):
    path = "/model/{model}/invoke-with-response-stream"

    def frames(self, line: Line, request: SeenRequest, serial: int) -> Iterator[bytes]:
        for frame in super().frames(line, request, serial):
            yield b"".join(
                aws_frame(
                    {"bytes": base64.b64encode(row[5:].strip()).decode(), "p": "abc"},
                    event_type="chunk",
                    content_type="application/json",
                    message_type="event",
                )
                for row in frame.split(b"\n")
                if row.startswith(b"data:")
            )


class BedrockChat(ChatCompletions):
    path = "/openai/v1/chat/completions"


class VertexGemini(Gemini):
    path = "/v1/projects/{project}/locations/{region}/publishers/google/models/{model}:streamGenerateContent"


class VertexClaude(AnthropicMessages):
    path = "/v1/projects/{project}/locations/{region}/publishers/anthropic/models/{model}:streamRawPredict"


CLOUDS = (Bedrock(), BedrockChat(), VertexGemini(), VertexClaude())
