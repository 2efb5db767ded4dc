"""Reads the model's JSON while it is still being written.

An answer is one object with one key: `{"reply":"…"}` or `{"verb":{…}}`. The words of a reply are
passed on as they come; the arguments of a tool are kept until they are whole.
"""

from typing import Any, cast

from remanence.core.argument_stream import ArgumentStream
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.local.actions import REPLY


class AnswerDecoder:
    def __init__(self) -> None:
        self._stream = ArgumentStream((REPLY,))
        self._pieces: list[str] = []
        self.has_words = False

    def feed(self, piece: str) -> str:
        """The words of the reply that are certain by now."""
        self._pieces.append(piece)
        words = "".join(part.text for part in self._stream.feed(piece) if part.key == REPLY)
        self.has_words = self.has_words or bool(words)
        return words

    def answer(self) -> tuple[str, Any]:
        """Verb and value. Raises ValueError if the answer was cut short."""
        answer = json.decode("".join(self._pieces))
        if not isinstance(answer, dict) or len(cast("JsonObject", answer)) != 1:
            raise ValueError("not an object with one key")
        return next(iter(cast("JsonObject", answer).items()))
