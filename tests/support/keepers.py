"""The wire formats that keep the promises of a model adapter, and what is particular to each."""

from dataclasses import dataclass
from typing import Any

from tests.support.script import Line, fails, sends
from tests.support.scripted_model import FORMATS, WireFormat

from remanence.kit import json
from remanence.llm.vendors import Format


@dataclass(frozen=True)
class Keeper:
    format: Format
    vendor: str
    wire: WireFormat
    model: str
    """A model that thinks."""
    piece: Any
    """The event that brings the word `a`."""
    ending: tuple[Any, ...]
    overload: Any
    """The event that says that the provider is busy."""
    overflow: Line
    root: str = "/v1"
    writes_arguments: bool = True
    """As text, which may be broken; otherwise as JSON."""
    counts_writes: bool = True
    """Tells how much went into the prompt cache."""

    def half(self) -> Line:
        """A stream that ends in the middle."""
        return sends(_event(self.piece))

    def burst(self, count: int) -> Line:
        """So many words and the end, in one write."""
        return sends(b"".join(map(_event, (*[self.piece] * count, *self.ending))))

    def busy(self) -> Line:
        return sends(_event(self.overload))


def _event(body: Any) -> bytes:
    return b"data: " + (body if isinstance(body, bytes) else json.encode(body)) + b"\n\n"


_NOTHING: dict[str, Any] = {}
_CHAT, _RESPONSES, _ANTHROPIC, _GEMINI = FORMATS

KEEPERS = (
    Keeper(
        format="chat",
        vendor="openai",
        wire=_CHAT,
        model="gpt-4o-mini",
        piece={"choices": [{"delta": {"content": "a"}}]},
        ending=({"choices": [{"delta": _NOTHING, "finish_reason": "stop"}]}, b"[DONE]"),
        overload={"error": {"message": "Overloaded", "code": 529}},
        overflow=fails(400, {"error": {"message": "Too long", "code": "context_length_exceeded"}}),
    ),
    Keeper(
        format="responses",
        vendor="openai",
        wire=_RESPONSES,
        model="gpt-5-mini",
        piece={"type": "response.output_text.delta", "output_index": 0, "delta": "a"},
        ending=({"type": "response.completed", "response": {"id": "resp_1", "output": []}},),
        overload={"type": "error", "code": "server_error", "message": "Overloaded"},
        overflow=fails(400, {"error": {"message": "Too long", "code": "context_length_exceeded"}}),
    ),
    Keeper(
        format="anthropic",
        vendor="anthropic",
        wire=_ANTHROPIC,
        model="claude-sonnet-4-5",
        piece={"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        ending=({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}),
        overload={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        overflow=fails(
            400,
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens"},
            },
        ),
    ),
    Keeper(
        format="gemini",
        vendor="google_ai",
        wire=_GEMINI,
        model="gemini-2.5-flash",
        piece={"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}]},
        ending=({"candidates": [{"finishReason": "STOP"}]},),
        overload={"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}},
        overflow=fails(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1200000) exceeds the maximum number of tokens allowed.",
                    "status": "INVALID_ARGUMENT",
                }
            },
        ),
        root="/v1beta",
        writes_arguments=False,
        counts_writes=False,
    ),
)
