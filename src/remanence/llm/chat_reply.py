"""Reading Chat Completions answers: streamed chunks or one whole body, in, deltas out.

Runs once per token, so it looks only at what is there and builds only what is needed.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from remanence.core.llm import (
    Delta,
    Finished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from remanence.errors import BadReply
from remanence.kit import json
from remanence.kit.ids import new_call_id
from remanence.kit.json import JsonObject
from remanence.llm.failures import CutConnection, failure_of_chunk, read_error_body
from remanence.llm.sse import EventSplitter

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


class ChatReplyReader:
    """One answer. The body's first byte tells a stream from a whole reply: servers may ignore `stream`."""

    __slots__ = (
        "_calls", "_events", "_is_whole", "_keys", "_provider", "_reason", "_request_id", "_seen", "_usage", "is_done",
    )  # fmt: skip

    def __init__(self, headers: Mapping[str, str], provider: str) -> None:
        self.is_done = False
        self._provider = provider
        self._request_id = headers.get("x-request-id")
        self._events = EventSplitter()
        self._seen = b""
        """The beginning of the body, until its kind is known; all of it if it is whole."""
        self._is_whole: bool | None = None
        self._calls: list[_OpenCall] = []
        self._keys: dict[int, int] = {}
        """From the provider's index of a call to ours."""
        self._reason: str | None = None
        self._usage: JsonObject | None = None

    def feed(self, chunk: bytes) -> list[Delta]:
        if self._is_whole is not False:
            self._seen += chunk
            start = self._seen.lstrip()
            if not start:
                return []
            if start[0] in b"{[<":  # JSON, or the HTML of something in between
                self._is_whole = True
                return []
            self._is_whole = False
            chunk, self._seen = self._seen, b""
        deltas: list[Delta] = []
        for data in self._events.feed(chunk):
            self._read_event(data, deltas)
        return deltas

    def end(self) -> list[Delta]:
        deltas: list[Delta] = []
        if self._is_whole:
            self._read_whole(deltas)
        else:
            for data in self._events.end():
                self._read_event(data, deltas)
        if not self.is_done:
            if self._reason is None:
                raise CutConnection(
                    f"{self._provider} ended its answer in the middle", provider=self._provider
                )
            self._finish(deltas)
        return deltas

    def _read_event(self, data: bytes, deltas: list[Delta]) -> None:
        if self.is_done:
            return
        try:
            chunk: Any = orjson.loads(data)
        except orjson.JSONDecodeError:
            if data.strip() == b"[DONE]":
                self._finish(deltas)
                return
            raise self._bad_reply(data) from None
        try:
            self._read_chunk(chunk, deltas)
        except (AttributeError, LookupError, TypeError):  # JSON of another shape
            raise self._bad_reply(data) from None

    def _read_whole(self, deltas: list[Delta]) -> None:
        try:
            body: Any = orjson.loads(self._seen)
        except orjson.JSONDecodeError:
            if self._seen.lstrip().startswith(b"<"):
                raise self._bad_reply(self._seen) from None
            raise CutConnection(
                f"{self._provider} ended its answer in the middle", provider=self._provider
            ) from None
        try:
            self._read_chunk(body, deltas)
        except (AttributeError, LookupError, TypeError):
            raise self._bad_reply(self._seen) from None
        if self._reason is None and not deltas:
            raise self._bad_reply(self._seen)
        self._finish(deltas)

    def _read_chunk(self, chunk: JsonObject, deltas: list[Delta]) -> None:
        choices = chunk.get("choices")
        if choices:
            choice = choices[0]
            delta = choice.get("delta") or choice.get("message")
            if delta:
                self._read_delta(delta, deltas)
            if reason := choice.get("finish_reason"):
                self._reason = reason
        if usage := chunk.get("usage") or ("x_groq" in chunk and chunk["x_groq"].get("usage")):
            self._usage = usage
        if chunk.get("error"):
            raise failure_of_chunk(chunk, provider=self._provider)
        if self._request_id is None:
            self._request_id = chunk.get("id")

    def _read_delta(self, delta: JsonObject, deltas: list[Delta]) -> None:
        content = delta.get("content")
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if thought and isinstance(thought, str):
            deltas.append(ReasoningDelta(thought))
        if content:
            if isinstance(content, str):
                deltas.append(TextDelta(content))
            else:
                _read_parts(content, deltas)
        if refusal := delta.get("refusal"):
            deltas.append(TextDelta(refusal))
        for call in delta.get("tool_calls") or ():
            self._read_call(call, deltas)

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

    def _finish(self, deltas: list[Delta]) -> None:
        for index, call in enumerate(self._calls):
            if not call.has_arguments:
                deltas.append(ToolCallDelta(index, arguments="{}"))
        reason = _REASONS.get(self._reason or "stop", "stop")
        if reason in ("stop", "tool_calls"):  # forced calls end with "stop", and some servers mix the two up
            reason = "tool_calls" if self._calls else "stop"
        deltas.append(Finished(reason, read_usage(self._usage), self._request_id))
        self.is_done = True

    def _bad_reply(self, data: bytes) -> BadReply:
        said = read_error_body(data[:2_000])[0]
        return BadReply(
            f"The answer of {self._provider} is not understood: {said[:300]}", provider=self._provider
        )


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
