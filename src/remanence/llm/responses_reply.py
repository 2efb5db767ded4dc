"""Reading the answers of OpenAI's Responses API."""

from collections.abc import Mapping

from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, Usage
from remanence.kit.json import JsonObject
from remanence.llm.failures import failure_of_chunk
from remanence.llm.reply_reader import CallingReader


class ResponsesReplyReader(CallingReader):
    __slots__ = ("_last",)

    def __init__(self, headers: Mapping[str, str], provider: str) -> None:
        super().__init__(provider, headers)
        self._last: JsonObject | None = None
        """The response as it was when it ended."""

    def has_ended(self) -> bool:
        return self._last is not None

    def read_event(self, event: JsonObject, deltas: list[Delta]) -> None:
        match event["type"]:
            case "response.output_text.delta" | "response.refusal.delta":
                self.has_spoken = True
                deltas.append(TextDelta(event["delta"]))
            case "response.function_call_arguments.delta":
                self.add_arguments(event["output_index"], event["delta"], deltas)
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
                    self.has_spoken = self.has_spoken or item["type"] == "message"
                    deltas.append(TextDelta(text) if item["type"] == "message" else ReasoningDelta(text))
            if item["type"] == "reasoning" and item.get("summary"):
                deltas.append(ReasoningDelta("\n\n".join(each["text"] for each in item["summary"])))
            self._close(item, index, deltas)
        self._last = body

    def finish(self, deltas: list[Delta]) -> None:
        last = self._last or {}
        if last.get("error"):
            raise failure_of_chunk(last, provider=self.provider)
        self.close_calls(deltas)
        details: JsonObject = last.get("incomplete_details") or {}
        why: str | None = details.get("reason")
        if why == "content_filter" and not self.has_spoken:
            raise self.refused("its content filter stopped the answer")
        reason = "tool_calls" if self.has_calls else "stop"
        if why is not None:
            reason = "content_filter" if why == "content_filter" else "length"
        self.request_id = self.request_id or last.get("id")
        deltas.append(Finished(reason, read_usage(last.get("usage") or {}), self.request_id))
        self.is_done = True

    def _open(self, item: JsonObject, index: int, deltas: list[Delta]) -> None:
        if item["type"] == "function_call":
            self.open_call(index, item["call_id"], item["name"], deltas)

    def _close(self, item: JsonObject, index: int, deltas: list[Delta]) -> None:
        match item["type"]:
            case "reasoning":
                # Only now is the encrypted content whole.
                deltas.append(ReasoningDelta("", item.get("encrypted_content"), item_id=item["id"]))
            case "function_call":
                if not self.is_known(index):  # servers that announce no items
                    self._open(item, index, deltas)
                if self.is_open(index):
                    self.add_arguments(index, item.get("arguments") or "", deltas)
            case _:
                pass


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
