"""Pieces of an answer, folded into one reply."""

import pytest

from remanence.core.llm import Delta, Finished, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from remanence.core.message import ReasoningPart, RedactedReasoningPart, TextPart, ToolCall
from remanence.core.reply import Reply, ReplyBuilder


def fold(*deltas: Delta, max_calls: int | None = None) -> Reply:
    builder = ReplyBuilder(max_calls=max_calls)
    for delta in deltas:
        builder.add([delta])
    return builder.build()


def test_text_is_joined() -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)
    reply = fold(TextDelta("Good "), TextDelta("day"), Finished("stop", usage, "req-1"))
    assert reply == Reply((TextPart(text="Good day"),), (), "stop", usage, "req-1")


def test_parts_keep_the_order_in_which_they_came() -> None:
    reply = fold(
        ReasoningDelta("Let "),
        ReasoningDelta("me see."),
        TextDelta("So: "),
        ReasoningDelta("Wait."),
        TextDelta("no."),
    )
    assert reply.content == (
        ReasoningPart(is_native=True, reasoning="Let me see."),
        TextPart(text="So: "),
        ReasoningPart(is_native=True, reasoning="Wait."),
        TextPart(text="no."),
    )


def test_a_signature_belongs_to_the_reasoning_before_it() -> None:
    reply = fold(ReasoningDelta("Hm."), ReasoningDelta("", signature="sig"), TextDelta("Yes."))
    assert reply.content[0] == ReasoningPart(is_native=True, reasoning="Hm.", signature="sig")


def test_reasoning_that_is_hidden_is_kept_as_it_came() -> None:
    reply = fold(ReasoningDelta("Hm."), ReasoningDelta("blob", is_redacted=True))
    assert reply.content == (
        ReasoningPart(is_native=True, reasoning="Hm."),
        RedactedReasoningPart(data="blob"),
    )


def test_a_call_is_put_together_from_its_pieces() -> None:
    reply = fold(
        ToolCallDelta(0, "call_a", "search", ""),
        ToolCallDelta(0, arguments='{"query": '),
        ToolCallDelta(0, arguments='"figs"}'),
        Finished("tool_calls"),
    )
    assert reply.calls == (ToolCall(id="call_a", name="search", arguments='{"query": "figs"}'),)


def test_calls_stand_in_the_order_of_their_index() -> None:
    reply = fold(
        ToolCallDelta(1, "b", "second"), ToolCallDelta(0, "a", "first"), ToolCallDelta(1, arguments="{}")
    )
    assert [call.name for call in reply.calls] == ["first", "second"]
    assert [call.arguments for call in reply.calls] == ["{}", "{}"]


def test_a_call_without_an_id_gets_one() -> None:
    reply = fold(ToolCallDelta(0, None, "f"), ToolCallDelta(1, None, "g"))
    assert [call.id for call in reply.calls] == ["call_0", "call_1"]


def test_two_calls_of_one_id_are_told_apart() -> None:
    builder = ReplyBuilder()
    counted = builder.add([ToolCallDelta(0, "call_x", "f"), ToolCallDelta(1, "call_x", "f")])
    assert [call.id for call in builder.build().calls] == ["call_x", "call_x_1"]
    assert [delta.id for delta in counted if isinstance(delta, ToolCallDelta)] == ["call_x", "call_x_1"]


def test_only_so_many_calls_count_and_only_their_pieces_are_passed_on() -> None:
    builder = ReplyBuilder(max_calls=1)
    first: list[Delta] = [ToolCallDelta(0, "a", "f"), ToolCallDelta(0, arguments="{}")]
    assert builder.add(first) == first
    assert builder.add([ToolCallDelta(1, "b", "g"), ToolCallDelta(1, arguments="{}")]) == []
    assert builder.add([TextDelta("after")]) == [TextDelta("after")]
    assert [call.name for call in builder.build().calls] == ["f"]


@pytest.mark.parametrize("delta", [TextDelta("a\x00b"), ReasoningDelta("a\x00b")])
def test_no_reply_holds_a_nul(delta: TextDelta | ReasoningDelta) -> None:
    builder = ReplyBuilder()
    counted = builder.add([delta, ToolCallDelta(0, "a", "f", '{"x": "\x00"}')])
    assert "\x00" not in repr(builder.build())
    assert "\\x00" not in repr(counted)


def test_a_reply_that_says_nothing_is_empty() -> None:
    assert fold(TextDelta(""), ReasoningDelta(""), Finished("stop")).is_empty
    assert fold().is_empty
    assert not fold(ToolCallDelta(0, "a", "f")).is_empty
    assert not fold(ReasoningDelta("Hm.")).is_empty


def test_what_was_said_so_far_can_be_built_at_any_time() -> None:
    builder = ReplyBuilder()
    builder.add([TextDelta("one ")])
    assert builder.build().content == (TextPart(text="one "),)
    builder.add([TextDelta("two")])
    assert builder.build().content == (TextPart(text="one two"),)
