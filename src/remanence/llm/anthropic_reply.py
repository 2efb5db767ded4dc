"""Reading the answers of Anthropic's Messages API."""

from collections.abc import Mapping

from remanence.core.llm import (
    Delta,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.aws_events import FrameSplitter
from remanence.llm.failures import failure_of_chunk
from remanence.llm.reply_reader import CallingReader

_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class AnthropicReplyReader(CallingReader):
    __slots__ = ("_reason", "_refusal", "_usage")

    def __init__(
        self, headers: Mapping[str, str], provider: str, events: FrameSplitter | None = None
    ) -> None:
        super().__init__(provider, headers, events)
        self._reason: str | None = None
        self._refusal: JsonObject = {}
        self._usage: JsonObject = {}

    def has_ended(self) -> bool:
        return self._reason is not None

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        match event["type"]:
            case "content_block_delta":
                self._read_delta(event["delta"], event["index"], deltas)
            case "content_block_start":
                self._open(event["content_block"], event["index"], deltas)
            case "message_start":
                message: JsonObject = event["message"]
                self.request_id = self.request_id or message.get("id")
                self._usage = message.get("usage") or {}
            case "message_delta":
                self._end(event["delta"])
                usage: JsonObject = event.get("usage") or {}
                self._usage |= {key: value for key, value in usage.items() if value}
            case "message_stop":
                self.finish(deltas)
            case "error":
                raise failure_of_chunk(event, provider=self.provider)
            case _:
                pass

    def read_whole(self, body: JsonObject, deltas: list[Delta]) -> None:
        if body.get("error"):
            raise failure_of_chunk(body, provider=self.provider)
        for index, block in enumerate(body["content"]):
            self._open(block, index, deltas)
            if block["type"] == "tool_use":
                self.add_arguments(index, json.encode_text(block["input"]), deltas)
        self._end(body)
        self._usage = body.get("usage") or {}
        self.request_id = self.request_id or body.get("id")

    def finish(self, deltas: list[Delta]) -> None:
        self.close_calls(deltas)
        reason = _REASONS.get(self._reason or "", "tool_calls" if self.has_calls else "stop")
        if reason == "content_filter" and not self.has_spoken:
            raise self.refused(
                self._refusal.get("explanation") or self._refusal.get("category") or "no reason given"
            )
        deltas.append(Finished(reason, read_usage(self._usage), self.request_id))
        self.is_done = True

    def _end(self, fields: JsonObject) -> None:
        self._reason = fields.get("stop_reason") or self._reason
        self._refusal = fields.get("stop_details") or {}

    def _open(self, block: JsonObject, index: int, deltas: list[Delta]) -> None:
        """A block that begins, perhaps with all of its content."""
        match block["type"]:
            case "text":
                if text := block.get("text"):
                    self.has_spoken = True
                    deltas.append(TextDelta(text))
            case "thinking":
                signature = block.get("signature") or None
                if (text := block.get("thinking")) or signature:
                    deltas.append(ReasoningDelta(text or "", signature))
            case "redacted_thinking":
                deltas.append(ReasoningDelta(block["data"], is_redacted=True))
            case "tool_use":
                self.open_call(index, block["id"], block["name"], deltas)
            case _:
                pass

    def _read_delta(self, delta: JsonObject, index: int, deltas: list[Delta]) -> None:
        match delta["type"]:
            case "text_delta":
                self.has_spoken = True
                deltas.append(TextDelta(delta["text"]))
            case "input_json_delta":
                self.add_arguments(index, delta["partial_json"], deltas)
            case "thinking_delta":
                deltas.append(ReasoningDelta(delta["thinking"]))
            case "signature_delta":
                deltas.append(ReasoningDelta("", delta["signature"]))
            case _:
                pass


def read_usage(usage: JsonObject) -> Usage:
    """What was read from the cache or written to it is counted beside the other input, not in it."""
    read: int = usage.get("cache_read_input_tokens") or 0
    written: int = usage.get("cache_creation_input_tokens") or 0
    prompt: int = (usage.get("input_tokens") or 0) + read + written
    completion: int = usage.get("output_tokens") or 0
    details: JsonObject = usage.get("output_tokens_details") or {}
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_input_tokens=usage.get("cache_read_input_tokens"),
        cache_write_tokens=usage.get("cache_creation_input_tokens"),
        reasoning_tokens=details.get("thinking_tokens") or details.get("reasoning_tokens"),
    )
