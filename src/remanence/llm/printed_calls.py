"""Tool calls that a model printed as text, in the formats of the common templates, made calls again.

Servers that know a model's template do this themselves; many that people run at home do not. Thoughts
between `<think>` tags are told from the answer here too.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from remanence.core.almost_json import NotJson, parse_almost_json
from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta
from remanence.kit import json
from remanence.kit.ids import new_call_id
from remanence.llm.transport import ReplyReader

# What a call begins with, wherever it stands; and what it may begin with at the start of an answer.
_OPENERS = ("<tool_call>", "<function=", "<|python_tag|>", "[TOOL_CALLS]", "<tools>")
_FIRST_OPENERS = (*_OPENERS, "{", "[{", "```")
_LONGEST_OPENER = max(map(len, _OPENERS))
_THINK, _UNTHINK = "<think>", "</think>"
_RUNS_ON_CHARS = 64
"""Of blanks after a call: small models go on so until their window is full."""

_TAGGED = re.compile(r"<(tool_call|tools)>\s*(.*?)\s*(?:</\1>|$)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*(?:</function>|$)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\s*(.*?)\s*(?:</parameter>|$)", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\][\w-]*\s*)?\[ARGS\]\s*", re.DOTALL)
_PYTHON = re.compile(r"\[\s*\w+\(")
_FENCE = re.compile(r"^```(?:json|tool_call)?\s*(.*?)\s*(?:```|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PrintedCall:
    name: str
    arguments: str


def find_calls(text: str, names: Collection[str]) -> list[PrintedCall]:
    """The calls that a text is made of; none if it calls nothing that there is."""
    return [call for call in _read(text.strip()) if call.name in names]


def _read(text: str) -> Iterator[PrintedCall]:
    text = text.removeprefix("<|python_tag|>").strip()
    if _MISTRAL.search(text):
        pieces = _MISTRAL.split(text)
        for name, arguments in zip(pieces[1::2], pieces[2::2], strict=False):
            yield PrintedCall(name, arguments.strip() or "{}")
    elif "[TOOL_CALLS]" in text:
        yield from _from_json(text.partition("[TOOL_CALLS]")[2])
    elif tagged := [found[2] for found in _TAGGED.finditer(text)]:
        for inside in tagged:
            yield from _from_function(inside) if "<function=" in inside else _from_json(inside)
    elif "<function=" in text:
        yield from _from_function(text)
    elif _PYTHON.match(text):
        yield from _from_python(text)
    elif fenced := _FENCE.match(text):
        yield from _from_json(fenced[1])
    else:
        yield from _from_json(text)


def _from_function(text: str) -> Iterator[PrintedCall]:
    """Llama's `<function=name>{…}</function>`, and Qwen Coder's with a tag for each parameter."""
    for found in _FUNCTION.finditer(text):
        parameters = {each[1]: _value(each[2]) for each in _PARAMETER.finditer(found[2])}
        yield PrintedCall(found[1], json.encode_text(parameters) if parameters else found[2] or "{}")


def _from_python(text: str) -> Iterator[PrintedCall]:
    """Llama's later `[look(at="tea"), speak(text="Hi")]`: read as Python, and never run."""
    try:
        listed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for call in listed.elts if isinstance(listed, ast.List) else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            try:
                given = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
                yield PrintedCall(call.func.id, json.encode_text(given))
            except (TypeError, ValueError):
                continue


def _value(text: str) -> Any:
    try:
        return json.decode(text)
    except ValueError:
        return text


def _from_json(text: str) -> Iterator[PrintedCall]:
    try:
        value: Any = parse_almost_json(text.strip())
    except NotJson:
        # Llama separates several calls by semicolons, others by line breaks.
        pieces = [piece for piece in re.split(r"\s*;\s*(?={)|\n(?={)", text.strip()) if piece]
        if len(pieces) > 1:
            for piece in pieces:
                yield from _from_json(piece)
        return
    entries = cast("list[Any]", value) if isinstance(value, list) else [value]
    for entry in entries:
        if isinstance(entry, dict):
            yield from _from_entry(cast("dict[str, Any]", entry))


def _from_entry(entry: dict[str, Any]) -> Iterator[PrintedCall]:
    inner = entry.get("function")
    fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else entry
    name = fields.get("name") or (inner if isinstance(inner, str) else None)
    for key in ("arguments", "parameters", "args", "input"):
        if isinstance(name, str) and key in fields:
            arguments = fields[key]
            text = arguments if isinstance(arguments, str) else json.encode_text(arguments or {})
            yield PrintedCall(name, text or "{}")
            return


class PrintedCallReader:
    """A `ReplyReader` around another: holds text back while it may be a call, and makes it one at the end."""

    def __init__(self, inner: ReplyReader, names: Collection[str]) -> None:
        self._inner = inner
        self._names = names
        self._first_openers = (*_FIRST_OPENERS, *(f"[{name}(" for name in names))
        self._held = ""
        """What may be a call, or the beginning of the mark of one."""
        self._has_spoken = False
        self._is_call = False
        self._is_thought = False
        self._has_thought = False
        self._has_native_calls = False
        self._runs_on = False

    @property
    def is_done(self) -> bool:
        return self._inner.is_done or self._runs_on

    def feed(self, chunk: bytes) -> Sequence[Delta]:
        return self._sift(self._inner.feed(chunk))

    def end(self) -> Sequence[Delta]:
        return self._sift(self._inner.end())

    def _sift(self, deltas: Sequence[Delta]) -> list[Delta]:
        sifted: list[Delta] = []
        for delta in deltas:
            match delta:
                case TextDelta(text=text):
                    if self._has_spoken and not self._held and "<" not in text and "[" not in text:
                        sifted.append(delta)  # by far the most
                        continue
                    self._held += text
                    self._let_go(sifted)
                    if self._is_call and self._held[-_RUNS_ON_CHARS:].isspace():
                        self._runs_on = len(self._held) > _RUNS_ON_CHARS
                case Finished():
                    self._finish(delta, sifted)
                case ToolCallDelta():
                    self._has_native_calls = True
                    sifted.append(delta)
                case ReasoningDelta():
                    sifted.append(delta)
            if self._runs_on:
                self._finish(Finished("stop"), sifted)
                break
        return sifted

    def _let_go(self, sifted: list[Delta]) -> None:
        """Gives on what is surely no call."""
        while self._held and not self._is_call:
            if self._is_thought:
                thought, end, rest = self._held.partition(_UNTHINK)
                kept = "" if end else _beginning(thought, (_UNTHINK,))
                shown = thought[: len(thought) - len(kept)]
                if not self._has_thought:
                    shown = shown.lstrip()
                if shown:
                    self._has_thought = True
                    sifted.append(ReasoningDelta(shown))
                self._held = rest.lstrip() if end else kept
                self._is_thought = not end
                if not end:
                    return
                continue
            start = self._held.lstrip()
            if not self._has_spoken:
                if start.startswith(_THINK):
                    self._is_thought = True
                    self._held = start[len(_THINK) :]
                    continue
                if start.startswith(self._first_openers):
                    self._is_call = True
                    return
                if self._has_thought:
                    self._held = start
                if not start or any(each.startswith(start) for each in (*self._first_openers, _THINK)):
                    return  # too little to tell
            place = min((at for each in _OPENERS if (at := self._held.find(each)) >= 0), default=-1)
            if place >= 0:
                self._say(self._held[:place], sifted)
                self._held = self._held[place:]
                self._is_call = True
                return
            kept = _beginning(self._held, _OPENERS)
            self._say(self._held[: len(self._held) - len(kept)], sifted)
            self._held = kept
            return

    def _say(self, text: str, sifted: list[Delta]) -> None:
        if text:
            self._has_spoken = True
            sifted.append(TextDelta(text))

    def _finish(self, last: Finished, sifted: list[Delta]) -> None:
        held, self._held = self._held, ""
        found = [] if self._has_native_calls or not self._is_call else find_calls(held, self._names)
        if found:
            sifted += [
                ToolCallDelta(index, new_call_id(), call.name, call.arguments)
                for index, call in enumerate(found)
            ]
            if last.reason == "stop":
                last.reason = "tool_calls"
        elif held:
            sifted.append(ReasoningDelta(held) if self._is_thought else TextDelta(held))
        sifted.append(last)


def _beginning(text: str, marks: Sequence[str]) -> str:
    """The end of a text that may be the beginning of a mark."""
    for length in range(min(len(text), _LONGEST_OPENER), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return text[-length:]
    return ""
