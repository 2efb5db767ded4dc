"""Reading Chat Completions answers."""

from collections.abc import Mapping
from typing import Any

from remanence.core.llm import (
    Delta,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TokenData,
    ToolCallDelta,
    Usage,
)
from remanence.kit import json
from remanence.kit.ids import new_call_id
from remanence.kit.json import JsonObject
from remanence.llm.failures import failure_of_chunk
from remanence.llm.reply_reader import EventReader

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
}


class ChatReplyReader(EventReader):
    __slots__ = ("_calls", "_details", "_keys", "_reason", "_tokens", "_usage")

    def __init__(self, headers: Mapping[str, str], provider: str) -> None:
        super().__init__(provider, headers)
        self._calls: list[_OpenCall] = []
        self._keys: dict[int, int] = {}
        """From the provider's index of a call to ours."""
        self._details: list[JsonObject] = []
        """Thoughts as OpenRouter has them, as far as they were not given on."""
        self._reason: str | None = None
        self._usage: JsonObject | None = None
        self._tokens: TokenData | None = None

    def has_ended(self) -> bool:
        return self._reason is not None

    def read_whole(self, body: JsonObject, deltas: list[Delta]) -> None:
        self.read_event(body, deltas)

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        choices = event.get("choices")
        if choices:
            choice = choices[0]
            delta = choice.get("delta") or choice.get("message")
            if delta:
                self._read_delta(delta, deltas)
            if choice.get("logprobs") or choice.get("token_ids"):
                self._read_tokens(choice)
            if reason := choice.get("finish_reason"):
                self._reason = reason
        if usage := event.get("usage") or ("x_groq" in event and event["x_groq"].get("usage")):
            self._usage = usage
        if event.get("error"):
            raise failure_of_chunk(event, provider=self.provider)
        if self.request_id is None:
            self.request_id = event.get("id")

    def _read_delta(self, delta: JsonObject, deltas: list[Delta]) -> None:
        content = delta.get("content")
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if thought and isinstance(thought, str):
            deltas.append(ReasoningDelta(thought))
        if details := delta.get("reasoning_details"):
            for detail in details:
                self._read_detail(detail)
        elif self._details and (content or delta.get("tool_calls")):
            self._seal(deltas)
        if content:
            if isinstance(content, str):
                deltas.append(TextDelta(content))
            else:
                _read_parts(content, deltas)
        if refusal := delta.get("refusal"):
            deltas.append(TextDelta(refusal))
        for call in delta.get("tool_calls") or ():
            self._read_call(call, deltas)

    def _read_detail(self, detail: JsonObject) -> None:
        """Pieces of one thought have its number, and are joined."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("index", "type")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary", "data") and value:
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value

    def _seal(self, deltas: list[Delta]) -> None:
        """What must go back as it was goes where others have a signature."""
        deltas.append(ReasoningDelta("", json.encode_text(self._details)))
        self._details = []

    def _read_tokens(self, choice: JsonObject) -> None:
        self._tokens = tokens = self._tokens or TokenData()
        logprobs: JsonObject = choice.get("logprobs") or {}
        tokens.logprobs += logprobs.get("content") or ()
        tokens.ids += choice.get("token_ids") or ()

    def _read_call(self, entry: JsonObject, deltas: list[Delta]) -> None:
        function: JsonObject = entry.get("function") or {}
        name: str | None = function.get("name") or None
        call_id: str | None = entry.get("id") or None
        arguments: Any = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.encode_text(arguments)
        index = self._find_call(entry.get("index"), call_id, name)
        if index is None:
            index = len(self._calls)
            self._calls.append(_OpenCall(call_id, has_name=name is not None))
            if (given := entry.get("index")) is not None:
                self._keys[given] = index
            deltas.append(ToolCallDelta(index, call_id or new_call_id(), name, arguments))
        else:
            call = self._calls[index]
            if call.has_name:
                name = None  # some servers repeat it with every piece
            elif name is not None:
                call.has_name = True
            if not arguments and name is None:
                return
            deltas.append(ToolCallDelta(index, None, name, arguments))
        if arguments:
            self._calls[index].has_arguments = True

    def _find_call(self, given: int | None, call_id: str | None, name: str | None) -> int | None:
        """The call that an entry continues; None if it opens a new one.

        Servers differ: some leave the index out, some give every call the index 0, some repeat
        the id or the name with every piece. A new id together with a name is always a new call.
        """
        if not self._calls:
            return None
        index = self._keys.get(given) if given is not None else len(self._calls) - 1
        if index is None:
            return None
        call = self._calls[index]
        if name is not None and call_id is not None and call.has_name and call_id != call.id:
            return None
        if given is None and name is not None and call_id is None and call.has_name:
            return None
        return index

    def finish(self, deltas: list[Delta]) -> None:
        if self._details:
            self._seal(deltas)
        for index, call in enumerate(self._calls):
            if not call.has_arguments:
                deltas.append(ToolCallDelta(index, arguments="{}"))
        reason = _REASONS.get(self._reason or "stop", "stop")
        if reason in ("stop", "tool_calls"):  # forced calls end with "stop", and some servers mix the two up
            reason = "tool_calls" if self._calls else "stop"
        deltas.append(Finished(reason, read_usage(self._usage), self.request_id, self._tokens))
        self.is_done = True


class _OpenCall:
    __slots__ = ("has_arguments", "has_name", "id")

    def __init__(self, call_id: str | None, *, has_name: bool) -> None:
        self.id = call_id
        self.has_name = has_name
        self.has_arguments = False


def _read_parts(parts: list[JsonObject], deltas: list[Delta]) -> None:
    """Content as a list of parts, as Mistral's reasoning models send it."""
    for part in parts:
        if part.get("type") == "thinking":
            inner: list[JsonObject] = part.get("thinking") or []
            deltas.extend(ReasoningDelta(each["text"]) for each in inner if each.get("text"))
        elif part.get("text"):
            deltas.append(TextDelta(part["text"]))


def read_usage(usage: JsonObject | None) -> Usage:
    if not usage:
        return Usage()
    prompt: int = usage.get("prompt_tokens") or 0
    completion: int = usage.get("completion_tokens") or 0
    prompt_details: JsonObject = usage.get("prompt_tokens_details") or {}
    completion_details: JsonObject = usage.get("completion_tokens_details") or {}
    cached: int | None = prompt_details.get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=usage.get("total_tokens") or prompt + completion,
        cached_input_tokens=cached,
        cache_write_tokens=prompt_details.get("cache_write_tokens"),
        reasoning_tokens=completion_details.get("reasoning_tokens"),
    )
