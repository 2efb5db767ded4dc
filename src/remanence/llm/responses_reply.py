"""Reading the answers of OpenAI's Responses API."""

from collections.abc import Mapping

from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from remanence.kit.json import JsonObject
from remanence.llm.failures import failure_of_chunk
from remanence.llm.reply_reader import EventReader


class ResponsesReplyReader(EventReader):
    __slots__ = ("_calls", "_empty", "_has_spoken", "_last")

    def __init__(self, headers: Mapping[str, str], provider: str) -> None:
        super().__init__(provider, headers)
        self._calls: dict[int, int] = {}
        """From the number of an item to that of the call that it is."""
        self._empty: set[int] = set()
        """Calls that have no arguments yet."""
        self._has_spoken = False
        self._last: JsonObject | None = None
        """The response as it was when it ended."""

    def has_ended(self) -> bool:
        return self._last is not None

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        match event["type"]:
            case "response.output_text.delta" | "response.refusal.delta":
                self._has_spoken = True
                deltas.append(TextDelta(event["delta"]))
            case "response.function_call_arguments.delta":
                self._arguments(event["output_index"], event["delta"], deltas)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                deltas.append(ReasoningDelta(event["delta"]))
            case "response.reasoning_summary_part.added":
                if event.get("summary_index"):
                    deltas.append(ReasoningDelta("\n\n"))
            case "response.output_item.added":
                self._open(event["item"], event["output_index"], deltas)
            case "response.output_item.done":
                self._close(event["item"], event["output_index"], deltas)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._last = event["response"]
                self.finish(deltas)
            case "error":
                raise failure_of_chunk(event, provider=self.provider)
            case _:
                pass

    def read_whole(self, body: JsonObject, deltas: list[Delta]) -> None:
        if body.get("error"):
            raise failure_of_chunk(body, provider=self.provider)
        for index, item in enumerate(body["output"]):
            self._open(item, index, deltas)
            parts: list[JsonObject] = item.get("content") or []
            for part in parts:
                if text := part.get("text") or part.get("refusal"):
                    self._has_spoken = self._has_spoken or item["type"] == "message"
                    deltas.append(TextDelta(text) if item["type"] == "message" else ReasoningDelta(text))
            if item["type"] == "reasoning" and item.get("summary"):
                deltas.append(ReasoningDelta("\n\n".join(each["text"] for each in item["summary"])))
            self._close(item, index, deltas)
        self._last = body

    def finish(self, deltas: list[Delta]) -> None:
        last = self._last or {}
        if last.get("error"):
            raise failure_of_chunk(last, provider=self.provider)
        deltas += [ToolCallDelta(index, arguments="{}") for index in sorted(self._empty)]
        details: JsonObject = last.get("incomplete_details") or {}
        why: str | None = details.get("reason")
        if why == "content_filter" and not self._has_spoken:
            raise self.refused("its content filter stopped the answer")
        reason = "tool_calls" if self._calls else "stop"
        if why is not None:
            reason = "content_filter" if why == "content_filter" else "length"
        self.request_id = self.request_id or last.get("id")
        deltas.append(Finished(reason, read_usage(last.get("usage") or {}), self.request_id))
        self.is_done = True

    def _open(self, item: JsonObject, index: int, deltas: list[Delta]) -> None:
        if item["type"] == "function_call":
            self._has_spoken = True
            call = self._calls[index] = len(self._calls)
            self._empty.add(call)
            deltas.append(ToolCallDelta(call, item["call_id"], item["name"]))

    def _close(self, item: JsonObject, index: int, deltas: list[Delta]) -> None:
        match item["type"]:
            case "reasoning":
                # Only now is the encrypted content whole.
                deltas.append(ReasoningDelta("", item.get("encrypted_content"), item_id=item["id"]))
            case "function_call":
                if index not in self._calls:  # servers that announce no items
                    self._open(item, index, deltas)
                if self._calls[index] in self._empty:
                    self._arguments(index, item.get("arguments") or "", deltas)
            case _:
                pass

    def _arguments(self, index: int, text: str, deltas: list[Delta]) -> None:
        if text:
            call = self._calls[index]
            self._empty.discard(call)
            deltas.append(ToolCallDelta(call, arguments=text))


def read_usage(usage: JsonObject) -> Usage:
    prompt: int = usage.get("input_tokens") or 0
    completion: int = usage.get("output_tokens") or 0
    before: JsonObject = usage.get("input_tokens_details") or {}
    after: JsonObject = usage.get("output_tokens_details") or {}
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=usage.get("total_tokens") or prompt + completion,
        cached_input_tokens=before.get("cached_tokens"),
        cache_write_tokens=before.get("cache_write_tokens"),
        reasoning_tokens=after.get("reasoning_tokens"),
    )
