"""What a history should hold, foretold: a small model of the server, kept beside it and compared with it.

A message is one line of text. What is said tells its own turn (`bench/chaos/script.py`), so that everything that
follows can be foretold, up to the next call that somebody has to answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.chaos.script import steps_of, words_for

from remanence.kit.json import JsonObject


@dataclass
class Mirror:
    """One history: all that was ever said in it, and what of it is in context."""

    is_gated: bool
    listed: list[str] = field(default_factory=list[str])
    window: list[str] = field(default_factory=list[str])

    @property
    def waits(self) -> bool:
        return bool(self.window) and self.window[-1].startswith("request ")

    def say(self, text: str) -> list[str]:
        """What follows from saying this; nothing while a request is open."""
        return [] if self.waits else self._go_on([f"user {text}"])

    def answer(self, *, approves: bool) -> list[str]:
        _, ids = self.window[-1].split(" ")
        return self._go_on(["response", f"return {ids} {'success' if approves else 'error'}"])

    def withdraw(self) -> list[str]:
        _, ids = self.window[-1].split(" ")
        return ["response", f"return {ids} error"]

    def add(self, lines: Sequence[str]) -> None:
        self.listed += lines
        self.window += lines

    def rewind(self, place: int) -> None:
        """To end with this message, or before it if that is a call, whose returns come later."""
        self.window = self.window[: place if self.window[place].startswith("call ") else place + 1]

    def fork(self) -> "Mirror":
        return Mirror(self.is_gated, list(self.window), list(self.window))

    def _go_on(self, lines: list[str]) -> list[str]:
        turn = [*self.window, *lines]
        began = max(place for place, line in enumerate(turn) if line.startswith("user "))
        text = turn[began].removeprefix("user ")
        done = sum(line.startswith(("call ", "request ")) for line in turn[began:])
        for calls in steps_of(text)[done:]:
            ids = ",".join(call_id for call_id, _ in calls)
            if self.is_gated or any(name == "read_sensor" for _, name in calls):
                return [*lines, f"request {ids}"]
            lines += [f"call {ids}", f"return {ids} success"]
        return [*lines, f"assistant {words_for(text)}"]


def line_of(message: JsonObject) -> str:
    """A message of the server in the words of the mirror."""
    match message["message_type"]:
        case "user_message":
            return f"user {message['content']}"
        case "assistant_message":
            return f"assistant {message['content']}"
        case "tool_call_message":
            return f"call {_ids(message['tool_calls'])}"
        case "approval_request_message":
            return f"request {_ids(message['tool_calls'])}"
        case "approval_response_message":
            return "response"
        case "tool_return_message":
            statuses = {each["status"] for each in message["tool_returns"]}
            return f"return {_ids(message['tool_returns'])} {' '.join(sorted(statuses))}"
        case kind:
            raise AssertionError(f"{kind} does not belong here")


def _ids(items: Sequence[JsonObject]) -> str:
    return ",".join(item["tool_call_id"] for item in items)


def is_cut_short(actual: Sequence[str], foretold: Sequence[str]) -> bool:
    """Whether this is the beginning of what was foretold, in whole steps.

    In the last one words may break off, and calls may have been kept from running.
    """
    whole = foretold[: len(actual)]
    if not actual or list(actual) == whole:
        return not actual or not actual[-1].startswith("call ")
    if list(actual[:-1]) != whole[:-1]:
        return False
    if actual[-1].startswith("return "):
        return actual[-1] == whole[-1].replace(" success", " error")
    return actual[-1].startswith("assistant ") and whole[-1].startswith(actual[-1])
