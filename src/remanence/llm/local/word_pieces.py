"""Splits texts into the tokens of the embedded embedding model.

Its own tokenizer comes with a model hub's client. The rule is short: of the pairs of neighbours that
together are a token, the one with the lowest number is joined first, until none is left. Tokens never
reach across a space, so words are split one by one, and most were seen before.
"""

from collections.abc import Mapping
from itertools import pairwise

_SPACE = "▁"
_MAX_WORD_CHARS = 64
_MAX_KEPT = 60_000
_FIRST_BYTE = 3
"""The number of the token that stands for the byte 0."""


class WordPieces:
    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._kept: dict[str, tuple[int, ...]] = {}

    def split(self, text: str, *, most: int) -> list[int]:
        """The numbers of the text's tokens, at most so many."""
        tokens: list[int] = []
        kept = self._kept
        for word in text.split():
            pieces = kept.get(word)
            if pieces is None:
                pieces = self._split_word(word)
                if len(kept) >= _MAX_KEPT:
                    kept.clear()
                kept[word] = pieces
            tokens += pieces
            if len(tokens) >= most:
                return tokens[:most]
        return tokens

    def _split_word(self, word: str) -> tuple[int, ...]:
        parts = [_SPACE, *word[:_MAX_WORD_CHARS]]
        numbers = self._numbers
        while len(parts) > 1:
            best, place = min(
                (numbers.get(left + right, len(numbers)), place)
                for place, (left, right) in enumerate(pairwise(parts))
            )
            if best == len(numbers):
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return tuple(number for part in parts for number in self._numbers_of(part))

    def _numbers_of(self, part: str) -> list[int]:
        number = self._numbers.get(part)
        return [number] if number is not None else [_FIRST_BYTE + byte for byte in part.encode()]
