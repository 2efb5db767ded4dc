"""Answers of servers that take the format more or less seriously."""

from typing import Any

import pytest

from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from remanence.errors import BadReply, ProviderError, RateLimited
from remanence.kit import json
from remanence.llm.chat_reply import ChatReplyReader
from remanence.llm.failures import CutConnection


def read(*chunks: bytes) -> list[Delta]:
    reader = ChatReplyReader({}, "acme")
    deltas: list[Delta] = []
    for chunk in chunks:
        deltas.extend(reader.feed(chunk))
    if not reader.is_done:
        deltas.extend(reader.end())
    return deltas


def stream(*choices: dict[str, Any], done: bool = True, **last: Any) -> bytes:
    lines = [b"data: " + json.encode({"choices": [choice]}) for choice in choices]
    if last:
        lines.append(b"data: " + json.encode({"choices": [], **last}))
    return b"\n\n".join([*lines, *([b"data: [DONE]"] if done else [])]) + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"index": 0, "delta": fields, "finish_reason": finish}


def call(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **fields}


def folded(deltas: list[Delta]) -> list[tuple[str | None, str]]:
    """Names and arguments by index, each call with exactly one id."""
    names: dict[int, str | None] = {}
    arguments: dict[int, str] = {}
    ids: dict[int, list[str]] = {}
    for each in deltas:
        if isinstance(each, ToolCallDelta):
            names[each.index] = names.get(each.index) or each.name
            arguments[each.index] = arguments.get(each.index, "") + each.arguments
            ids.setdefault(each.index, []).extend([each.id] if each.id else [])
    assert all(len(given) == 1 for given in ids.values())
    assert len({given[0] for given in ids.values()}) == len(ids)
    return [(names[index], arguments[index]) for index in sorted(names)]


def test_a_stream_may_be_cut_at_any_byte() -> None:
    body = b": hello\r\n\r\n" + stream(
        delta(role="assistant", content=""),
        delta(reasoning_content="Hm é"),
        delta(content="Früh 😀"),
        delta(tool_calls=[call("look", '{"a"', index=0, id="call_1")]),
        delta(tool_calls=[call(None, ": 1}", index=0)]),
        delta("tool_calls"),
        usage={"prompt_tokens": 3, "completion_tokens": 4},
    )
    expected = [
        ReasoningDelta("Hm é"),
        TextDelta("Früh 😀"),
        ToolCallDelta(0, "call_1", "look", '{"a"'),
        ToolCallDelta(0, None, None, ": 1}"),
        Finished("tool_calls", Usage(prompt_tokens=3, completion_tokens=4, total_tokens=7)),
    ]
    assert read(*(body[at : at + 1] for at in range(len(body)))) == expected
    for cut in range(len(body)):
        assert read(body[:cut], body[cut:]) == expected


@pytest.mark.parametrize(
    "entries",
    [
        [call("a", "{}", index=0, id="1"), call("b", "[]", index=1, id="2")],
        [call("a", "{}", id="1"), call("b", "[]", id="2")],
        [call("a", "{}"), call("b", "[]")],
        [call("a", "{}", index=0, id="1"), call("b", "[]", index=0, id="2")],
        [call("a", "{}", index=0, id=""), call("b", "[]", index=1, id=None)],
        [call("a", {}, index=0, id="1"), call("b", [], index=1, id="2")],
    ],
    ids=[
        "as documented",
        "no index",
        "neither index nor id",
        "index always 0",
        "empty ids",
        "arguments as JSON",
    ],
)
def test_whole_calls_are_told_apart(entries: list[dict[str, Any]]) -> None:
    entries = [
        {**entry, "function": {**entry["function"], "arguments": entry["function"]["arguments"] or "{}"}}
        for entry in entries
    ]
    together = read(stream(delta(tool_calls=entries), delta("tool_calls")))
    assert [name for name, _ in folded(together)] == ["a", "b"]
    apart = read(stream(*(delta(tool_calls=[entry]) for entry in entries), delta("tool_calls")))
    assert [name for name, _ in folded(apart)] == ["a", "b"]


def test_pieces_that_repeat_id_and_name_are_one_call() -> None:
    pieces = [call("look", piece, index=0, id="1") for piece in ('{"a"', ": ", "1}")]
    deltas = read(stream(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls")))
    assert folded(deltas) == [("look", '{"a": 1}')]


def test_pieces_without_index_belong_to_the_last_call() -> None:
    pieces = [call("a", "{", id="1"), call(None, "}"), call("b", "{", id="2"), call(None, "}")]
    deltas = read(stream(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls")))
    assert folded(deltas) == [("a", "{}"), ("b", "{}")]


def test_a_call_without_arguments_gets_an_empty_object() -> None:
    assert folded(
        read(stream(delta(tool_calls=[call("now", "", index=0, id="1")]), delta("tool_calls")))
    ) == [("now", "{}")]


@pytest.mark.parametrize(
    ("reason", "has_calls", "expected"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("function_call", True, "tool_calls"),
        ("length", True, "length"),
        ("content_filter", False, "content_filter"),
        ("something new", False, "stop"),
    ],
)
def test_finish_reasons_are_made_one_set(reason: str, has_calls: bool, expected: str) -> None:
    pieces = [delta(tool_calls=[call("a", "{}", index=0, id="1")])] if has_calls else [delta(content="x")]
    last = read(stream(*pieces, delta(reason)))[-1]
    assert isinstance(last, Finished)
    assert last.reason == expected


def test_a_stream_may_lack_its_done_mark_but_not_its_finish_reason() -> None:
    assert read(stream(delta(content="x"), delta("stop"), done=False))[-1] == Finished("stop")
    assert read(stream(delta(content="x")))[-1] == Finished("stop")
    with pytest.raises(CutConnection):
        read(stream(delta(content="x"), done=False))


def test_an_empty_body_is_a_cut_connection() -> None:
    with pytest.raises(CutConnection):
        read(b"")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}, Usage(5, 2, 7)),
        ({"prompt_tokens": 5, "completion_tokens": None}, Usage(5, 0, 5)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(5, 2, 7, cached_input_tokens=4),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3}, Usage(5, 2, 7, 3)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            Usage(5, 2, 7, reasoning_tokens=1),
        ),
        (None, Usage()),
    ],
)
def test_usage_is_read_from_each_vendors_fields(usage: Any, expected: Usage) -> None:
    assert read(stream(delta(content="x"), delta("stop"), usage=usage))[-1] == Finished("stop", expected)


def test_usage_of_groq_rides_in_its_own_field() -> None:
    body = stream(
        delta(content="x"), delta("stop"), x_groq={"usage": {"prompt_tokens": 1, "completion_tokens": 2}}
    )
    assert read(body)[-1] == Finished("stop", Usage(1, 2, 3))


def test_cumulative_usage_counts_once() -> None:
    first = (
        b'data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'
    )
    body = first + stream(delta("stop"), usage={"prompt_tokens": 1, "completion_tokens": 2})
    assert read(body)[-1] == Finished("stop", Usage(1, 2, 3))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_found_under_both_names(field: str) -> None:
    assert read(stream(delta(**{field: "Hm"}), delta("stop")))[0] == ReasoningDelta("Hm")


def test_reasoning_given_twice_is_told_once() -> None:
    deltas = read(stream(delta(reasoning_content="Hm", reasoning="Hm"), delta("stop")))
    assert deltas == [ReasoningDelta("Hm"), Finished("stop")]


def test_content_in_parts_is_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Yes"},
    ]
    assert read(stream(delta(content=parts), delta("stop")))[:2] == [ReasoningDelta("Hm"), TextDelta("Yes")]


def test_a_refusal_is_text() -> None:
    assert read(stream(delta(refusal="I will not"), delta("stop")))[0] == TextDelta("I will not")


def test_a_whole_body_is_read_however_it_was_cut() -> None:
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call("look", "{}", id="call_1")]}
    body = json.encode({"id": "x", "choices": [{"message": message, "finish_reason": "tool_calls"}]})
    expected = [
        TextDelta("Hi"),
        ToolCallDelta(0, "call_1", "look", "{}"),
        Finished("tool_calls", request_id="x"),
    ]
    for cut in range(len(body)):
        assert read(b"\n " + body[:cut], body[cut:]) == expected


def test_an_error_in_place_of_an_answer_is_raised() -> None:
    with pytest.raises(RateLimited, match="Slow down"):
        read(b'{"error": {"message": "Slow down", "code": 429}}')
    with pytest.raises(ProviderError, match="Slow down"):
        read(b'data: {"error": {"message": "Slow down"}}\n\n')


@pytest.mark.parametrize(
    "body",
    [
        b"data: {oops\n\n",
        b"data: 7\n\n",
        b'data: {"choices": 7}\n\n',
        b'data: {"choices": [{"delta": "text"}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": ["x"]}}]}\n\n',
        b"<html><body>Please log in</body></html>",
        b'{"hello": "world"}',
        b"[1, 2]",
    ],
)
def test_what_cannot_be_understood_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(BadReply, match="acme is not understood"):
        read(body)


def test_the_details_of_thoughts_are_joined_and_kept_before_the_answer() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return {"type": "reasoning.text", "index": 0} | fields

    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "blob"}
    deltas = read(
        stream(
            delta(reasoning="Let ", reasoning_details=[detail(text="Let ", format="anthropic-claude-v1")]),
            delta(reasoning="me see.", reasoning_details=[detail(text="me see.")]),
            delta(content="", reasoning_details=[detail(signature="sig"), sealed]),
            delta(content="Four."),
            delta("stop"),
        )
    )
    kinds = [type(each) for each in deltas]
    assert kinds == [ReasoningDelta, ReasoningDelta, ReasoningDelta, TextDelta, Finished]
    last = deltas[2]
    assert isinstance(last, ReasoningDelta)
    assert (last.text, json.decode(last.signature or "")) == (
        "",
        [detail(text="Let me see.", format="anthropic-claude-v1", signature="sig"), sealed],
    )
