"""Calls that a model printed are recognised in the common templates' formats; words are left alone."""

from collections.abc import Sequence

import pytest
from tests.support.requests import config, message, request, returned, tool

from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta
from remanence.core.message import ToolCall
from remanence.kit import json
from remanence.llm.printed_calls import PrintedCallReader, find_calls
from remanence.llm.prompted_tools import encode_prompted

NAMES = {"look", "speak"}
LOOK = ("look", {"at": "tea"})
SPEAK = ("speak", {"text": "Hi", "loud": True})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>\n{"name": "look", "arguments": {"at": "tea"}}\n</tool_call>', [LOOK]),
        ('<tool_call>{"name": "look", "arguments": {"at": "tea"}}', [LOOK]),
        (
            '<tool_call>{"name":"look","arguments":{"at":"tea"}}</tool_call>\n'
            '<tool_call>{"name":"speak","arguments":{"text":"Hi","loud":true}}</tool_call>',
            [LOOK, SPEAK],
        ),
        (
            "<tool_call>\n<function=speak>\n<parameter=text>\nHi\n</parameter>\n"
            "<parameter=loud>\ntrue\n</parameter>\n</function>\n</tool_call>",
            [SPEAK],
        ),
        ('<function=look>{"at": "tea"}</function>', [LOOK]),
        ('[look(at="tea"), speak(text="Hi", loud=True)]', [LOOK, SPEAK]),
        ('[look(at=open("/etc/passwd"))]', []),
        ('<|python_tag|>{"name": "look", "parameters": {"at": "tea"}}', [LOOK]),
        ('{"name": "look", "parameters": {"at": "tea"}}', [LOOK]),
        ('{"type": "function", "function": {"name": "look", "arguments": {"at": "tea"}}}', [LOOK]),
        ('{"name": "look", "arguments": "{\\"at\\": \\"tea\\"}"}', [LOOK]),
        ('{"name":"look","parameters":{"at":"tea"}}; {"name":"speak","parameters":{"text":"Hi","loud":true}}', [LOOK, SPEAK]),
        ('[TOOL_CALLS] [{"name": "look", "arguments": {"at": "tea"}}]', [LOOK]),
        ('[TOOL_CALLS]look[ARGS]{"at": "tea"}[TOOL_CALLS]speak[ARGS]{"text": "Hi", "loud": true}', [LOOK, SPEAK]),
        ('```json\n{"name": "look", "arguments": {"at": "tea"}}\n```', [LOOK]),
        ("{'name': 'look', 'arguments': {'at': 'tea'}}", [LOOK]),
        ('{"name": "unknown", "arguments": {}}', []),
        ('{"name": "look"}', []),
        ('{"answer": 42}', []),
        ("Just words.", []),
    ],
)  # fmt: skip
def test_calls_are_found(text: str, expected: list[tuple[str, object]]) -> None:
    assert [(call.name, json.decode(call.arguments)) for call in find_calls(text, NAMES)] == expected


class Pieces:
    """A reader that gives these texts, one for each chunk."""

    is_done = False

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)

    def feed(self, chunk: bytes) -> Sequence[Delta]:
        return [TextDelta(self._texts.pop(0))]

    def end(self) -> Sequence[Delta]:
        return [Finished("stop")]


def sift(text: str, size: int) -> list[Delta]:
    texts = [text[at : at + size] for at in range(0, len(text), size)]
    reader = PrintedCallReader(Pieces(texts), NAMES)
    return [delta for _ in texts for delta in reader.feed(b"")] + list(reader.end())


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize(
    ("text", "said", "thought", "called"),
    [
        ("Just words, a < b and {braces}.", "Just words, a < b and {braces}.", "", []),
        ('Let me look.\n<tool_call>{"name":"look","arguments":{"at":"tea"}}</tool_call>', "Let me look.\n", "", [LOOK]),
        ('<think>\nHm, <b>tea</b>.\n</think>\n\n{"name":"look","parameters":{"at":"tea"}}', "", "Hm, <b>tea</b>.\n", [LOOK]),
        ('[look(at="tea")]', "", "", [LOOK]),
        ("[sic] indeed", "[sic] indeed", "", []),
        ("<think>So.</think>\n\nFour.", "Four.", "So.", []),
        ('{"answer": 42}', '{"answer": 42}', "", []),
        ("<tool_call>no json at all</tool_call>", "<tool_call>no json at all</tool_call>", "", []),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```", "", []),
        ("<think>endless", "", "endless", []),
    ],
)  # fmt: skip
def test_text_is_held_back_only_while_it_may_be_a_call(
    size: int, text: str, said: str, thought: str, called: list[tuple[str, object]]
) -> None:
    deltas = sift(text, size)
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == said
    assert "".join(each.text for each in deltas if isinstance(each, ReasoningDelta)) == thought
    calls = [each for each in deltas if isinstance(each, ToolCallDelta)]
    assert [(each.name, json.decode(each.arguments)) for each in calls] == called
    last = deltas[-1]
    assert isinstance(last, Finished)
    assert last.reason == ("tool_calls" if called else "stop")


def test_a_model_that_runs_on_in_blanks_after_its_call_is_cut_short() -> None:
    reader = PrintedCallReader(Pieces(['{"name":"look","arguments":{"at":"tea"}}', "\n" * 100]), NAMES)
    assert not [*reader.feed(b"")]
    call, last = reader.feed(b"")
    assert isinstance(call, ToolCallDelta)
    assert call.name == "look"
    assert isinstance(last, Finished)
    assert reader.is_done


def test_words_arrive_as_they_are_said() -> None:
    reader = PrintedCallReader(Pieces(["Hel", "lo, ", "you"]), NAMES)
    assert [[each.text for each in reader.feed(b"") if isinstance(each, TextDelta)] for _ in range(3)] == [
        ["Hel"],
        ["lo, "],
        ["you"],
    ]


def test_tools_in_writing() -> None:
    call = ToolCall(id="call_1", name="look", arguments='{"at": 1}')
    asked = request(
        message("system", "Be kind."),
        message("user", "Look"),
        message("assistant", "I look.", tool_calls=(call,)),
        message("tool", tool_returns=(returned("call_1", "look", "a cup"),)),
        config=config("gemma"),
        tools=[tool("look", at="integer")],
        tool_choice="required",
        forced_tool="look",
    )
    system, user, calling, answer, must = json.decode(encode_prompted(asked))
    assert system["content"].startswith("Be kind.")
    assert '"name": "look"' in system["content"]
    assert user == {"role": "user", "content": "Look"}
    assert (
        calling["content"] == 'I look.\n<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
    )
    assert answer == {"role": "user", "content": "<tool_response>\na cup\n</tool_response>"}
    assert "look" in must["content"]
