"""Read what small models write when they mean JSON.

Every leniency here has one possible meaning: other quotes, Python's words for true and null, a comma
or a brace too many, braces missing at the end, line breaks inside a string. Where a text could
mean two things (a string or number cut short, a quote inside a string) it is refused, not guessed.
"""

import re
from typing import Any

_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s*")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_MAX_DEPTH = 64


class NotJson(ValueError):
    """The text has no single meaning. The message says what is wrong and where."""


def parse_almost_json(text: str, *, is_cut: bool = False) -> Any:
    """The value that the text stands for. Raises NotJson.

    `is_cut`: the writer was stopped in the middle, so a missing bracket is no slip but a missing rest.
    """
    body = text.strip()
    fenced = _FENCE.match(body)
    return _Reader(fenced[1].strip() if fenced else body, is_cut).read()


class _Reader:
    def __init__(self, text: str, is_cut: bool) -> None:
        self.text = text
        self.is_cut = is_cut
        self.at = 0

    def read(self) -> Any:
        value = self._value(0)
        rest = self._skip_space()
        # Closing brackets too many change nothing; anything else would be a second value.
        if rest < len(self.text) and self.text[rest:].strip("}] \t\r\n"):
            raise self._fault("there is more text after the value")
        return value

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise self._fault("it is nested too deeply")
        char = self._peek()
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char in ('"', "'"):
            return self._string()
        if word := _WORD.match(self.text, self.at):
            if word[0] not in _WORDS:
                raise self._fault(f"{word[0]} should stand in double quotes")
            self.at = word.end()
            return _WORDS[word[0]]
        return self._number()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while not self._ends("}"):
            key = self._key()
            if self._peek() != ":":
                raise self._fault(f'a colon is missing after "{key}"')
            self.at += 1
            value = self._value(depth + 1)
            if key in found and found[key] != value:
                raise self._fault(f'"{key}" is given twice')
            found[key] = value
            if not self._comma("}"):
                break
        return found

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while not self._ends("]"):
            found.append(self._value(depth + 1))
            if not self._comma("]"):
                break
        return found

    def _ends(self, closing: str) -> bool:
        """Whether the container closes here; its closing bracket is then taken."""
        if self._peek() != closing:
            return False
        self.at += 1
        return True

    def _comma(self, closing: str) -> bool:
        """Whether another item follows. At the end of the text a bracket may be missing."""
        if self._skip_space() == len(self.text):
            if self.is_cut:
                raise self._fault("the text breaks off")
            return False
        if self._ends(closing):
            return False
        if self.text[self.at] in "}]":
            return False  # an outer container closes: this one was left open
        if self.text[self.at] != ",":
            raise self._fault("a comma is missing, or a quote inside a string has no backslash")
        self.at += 1
        return True

    def _key(self) -> str:
        if self._peek() in ('"', "'"):
            return self._string()
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return word[0]
        raise self._fault("a key in double quotes should stand here")

    def _string(self) -> str:
        quote = self.text[self.at]
        start = self.at
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == quote:
                return "".join(parts)
            parts.append(self._escaped() if char == "\\" else char)
        self.at = start
        raise self._fault("this string is never closed")

    def _escaped(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == "u":
            return self._unicode()
        if char in _ESCAPES:
            return _ESCAPES[char]
        # A backslash before an ordinary letter can only be meant as itself (a pattern, a path).
        return char if char in "\"'\\/`" else f"\\{char}"

    def _unicode(self) -> str:
        digits = self.text[self.at : self.at + 4]
        if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            return "\\u"
        self.at += 4
        unit = int(digits, 16)
        if 0xD800 <= unit < 0xDC00:
            low = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE).match(self.text, self.at)
            if low:
                self.at = low.end()
                return chr(0x10000 + ((unit - 0xD800) << 10) + (int(low[1], 16) - 0xDC00))
        return "\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit)

    def _number(self) -> int | float:
        number = _NUMBER.match(self.text, self.at)
        if not number:
            raise self._fault("a value should stand here")
        if number.end() == len(self.text) and number.start() > 0:
            raise self._fault("the text breaks off in a number")
        self.at = number.end()
        text = number[0]
        if len(text) > 400:
            raise self._fault("this number is too long")
        return float(text) if any(char in text for char in ".eE") else int(text)

    def _peek(self) -> str:
        if self._skip_space() == len(self.text):
            raise self._fault("the text breaks off")
        return self.text[self.at]

    def _skip_space(self) -> int:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.at

    def _fault(self, what: str) -> NotJson:
        shown = self.text[max(0, self.at - 20) : self.at + 20].replace("\n", "\\n")
        return NotJson(f"{what} (at character {self.at + 1}, near «{shown}»)")
