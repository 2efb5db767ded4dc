"""Reading the answers of Google's Gemini API."""

from collections.abc import Mapping
from typing import Any, cast

from remanence.core.llm import Delta, Finished, FinishReason, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from remanence.errors import BadReply
from remanence.kit import json
from remanence.kit.ids import new_call_id
from remanence.kit.json import JsonObject
from remanence.llm.failures import failure_of_chunk
from remanence.llm.reply_reader import EventReader

_REASONS: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_BROKEN = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE")


class GeminiReplyReader(EventReader):
    __slots__ = ("_calls", "_has_spoken", "_reason", "_said", "_usage")

    def __init__(self, headers: Mapping[str, str], provider: str) -> None:
        super().__init__(provider, headers)
        self._calls = 0
        self._has_spoken = False
        self._reason: str | None = None
        self._said: str | None = None
        """What the provider has to say about the reason."""
        self._usage: JsonObject = {}

    def has_ended(self) -> bool:
        return self._reason is not None

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        if event.get("error"):
            raise failure_of_chunk(event, provider=self.provider)
        candidates = event.get("candidates")
        if candidates:
            candidate = candidates[0]
            content: JsonObject = candidate.get("content") or {}
            for part in content.get("parts") or ():
                self._read_part(part, deltas)
            if reason := candidate.get("finishReason"):
                self._reason = reason
                self._said = candidate.get("finishMessage")
        elif feedback := event.get("promptFeedback"):
            self._reason = feedback.get("blockReason")
        self._usage = event.get("usageMetadata") or self._usage
        if self.request_id is None:
            self.request_id = event.get("responseId")

    def read_whole(self, body: Any, deltas: list[Delta]) -> None:
        """One answer, or the list of its pieces that servers give who were not asked for events."""
        pieces = cast("list[JsonObject]", body if isinstance(body, list) else [body])
        for piece in pieces:
            self.read_event(piece, deltas)

    def finish(self, deltas: list[Delta]) -> None:
        reason = _REASONS.get(self._reason or "STOP", "content_filter")
        if self._reason in _BROKEN:
            raise BadReply(
                f"{self.provider} broke off its answer: {self._said or self._reason}", provider=self.provider
            )
        if reason == "content_filter" and not self._has_spoken:
            raise self.refused(self._said or self._reason or "no reason given")
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        deltas.append(Finished(reason, read_usage(self._usage), self.request_id))
        self.is_done = True

    def _read_part(self, part: JsonObject, deltas: list[Delta]) -> None:
        signature = part.get("thoughtSignature")
        text = part.get("text")
        if text is not None:
            if part.get("thought"):
                deltas.append(ReasoningDelta(text, signature))
            elif text or signature:
                self._has_spoken = self._has_spoken or bool(text)
                deltas.append(TextDelta(text, signature))
        elif call := part.get("functionCall"):
            self._has_spoken = True
            arguments = json.encode_text(call.get("args") or {})
            call_id = call.get("id") or new_call_id()
            deltas.append(ToolCallDelta(self._calls, call_id, call["name"], arguments, signature))
            self._calls += 1


def read_usage(usage: JsonObject) -> Usage:
    prompt: int = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    thoughts: int | None = usage.get("thoughtsTokenCount")
    completion: int = (usage.get("candidatesTokenCount") or 0) + (thoughts or 0)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=usage.get("totalTokenCount") or prompt + completion,
        cached_input_tokens=usage.get("cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )
