"""Reads the arguments of a tool call while they are being written.

Heartbeat agents speak through an argument of `send_message` and think in one called `thinking`.
To stream those as words, their text is decoded as it arrives; the other members of the object pass
through as JSON.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_Place = Literal["before", "key_due", "in_key", "value_due", "in_value", "in_watched", "after"]


@dataclass(slots=True)
class Piece:
    key: str | None
    """The watched argument that this text belongs to; none for JSON passed through."""
    text: str


class ArgumentStream:
    """Watches some string arguments of a JSON object. `feed` returns what can be told so far."""

    def __init__(self, watched: Collection[str]) -> None:
        self._watched = watched
        self._place: _Place = "before"
        self._key = ""
        self._depth = 0  # of brackets inside a value
        self._is_quoted = False  # inside a string of a value
        self._escape = ""  # the escape sequence being read, backslash included
        self._high_surrogate = 0
        self._has_members = False
        self._out: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        self._out = []
        for char in text:
            match self._place:
                case "in_key" | "in_watched":
                    self._read_string(char)
                case "in_value":
                    self._read_value(char)
                case "value_due":
                    self._start_value(char)
                case "key_due":
                    if char == '"':
                        self._place, self._key = "in_key", ""
                    elif char == "}":
                        self._place = "after"
                        self._emit(None, char)
                case "before":
                    if char == "{":
                        self._place = "key_due"
                        self._emit(None, char)
                case "after":
                    pass
        return self._out

    def _start_value(self, char: str) -> None:
        if char == ":" or char.isspace():
            return
        if char == '"' and self._key in self._watched:
            self._place = "in_watched"
            return
        separator = ", " if self._has_members else ""
        self._has_members = True
        self._emit(None, f"{separator}{json.dumps(self._key, ensure_ascii=False)}: ")
        self._place = "in_value"
        self._read_value(char)

    def _read_value(self, char: str) -> None:
        if self._escape:
            self._escape = ""
        elif self._is_quoted:
            if char == "\\":
                self._escape = char
            elif char == '"':
                self._is_quoted = False
        elif char == '"':
            self._is_quoted = True
        elif char in "{[":
            self._depth += 1
        elif self._depth == 0 and char in ",}":
            self._place = "key_due"
            if char == "}":
                self._place = "after"
                self._emit(None, char)
            return
        elif char in "}]":
            self._depth -= 1
        self._emit(None, char)

    def _read_string(self, char: str) -> None:
        if self._escape:
            self._escape += char
            if self._escape[1] != "u":
                self._letter(_ESCAPES.get(char, char))
                self._escape = ""
            elif len(self._escape) == 6:
                self._code_unit(self._escape[2:])
                self._escape = ""
        elif char == "\\":
            self._escape = char
        elif char == '"':
            self._place = "value_due" if self._place == "in_key" else "key_due"
        else:
            self._letter(char)

    def _code_unit(self, digits: str) -> None:
        try:
            unit = int(digits, 16)
        except ValueError:
            return
        if 0xD800 <= unit < 0xDC00:
            self._high_surrogate = unit
        elif 0xDC00 <= unit < 0xE000:
            if self._high_surrogate:
                self._letter(chr(0x10000 + ((self._high_surrogate - 0xD800) << 10) + (unit - 0xDC00)))
            self._high_surrogate = 0
        else:
            self._letter(chr(unit))

    def _letter(self, char: str) -> None:
        if self._place == "in_key":
            self._key += char
        else:
            self._emit(self._key, char)

    def _emit(self, key: str | None, text: str) -> None:
        if self._out and self._out[-1].key == key:
            self._out[-1].text += text
        else:
            self._out.append(Piece(key, text))
