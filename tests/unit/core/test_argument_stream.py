"""Arguments are told apart the same way wherever the stream is cut."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from remanence.core.argument_stream import ArgumentStream

CASES: list[dict[str, Any]] = [
    {"thinking": 'a "q" \n é 😀 \\', "label": "human", "content": "x, y: {z}", "request_heartbeat": True},
    {"thinking": "only"},
    {"message": "hi", "request_heartbeat": False},
    {"a": {"thinking": "inner", "b": [1, {"message": "q"}]}, "thinking": "z", "n": 5.5, "m": None},
    {"x": "last", "thinking": "t"},
    {},
]
WRITERS: list[Callable[[Any], str]] = [
    json.dumps,
    partial(json.dumps, ensure_ascii=False, indent=2),
    partial(json.dumps, separators=(",", ":")),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("write", WRITERS)
def test_watched_arguments_come_as_words_and_the_rest_as_json_at_any_cut(
    case: dict[str, Any], write: Any
) -> None:
    text = write(case)
    for size in range(1, len(text) + 1):
        stream = ArgumentStream({"thinking", "message"})
        words: dict[str, str] = {}
        rest = ""
        for start in range(0, len(text), size):
            for piece in stream.feed(text[start : start + size]):
                if piece.key is None:
                    rest += piece.text
                else:
                    words[piece.key] = words.get(piece.key, "") + piece.text
        assert words == {key: value for key, value in case.items() if key in ("thinking", "message")}
        assert json.loads(rest) == {key: value for key, value in case.items() if key not in words}
