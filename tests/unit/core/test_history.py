"""Histories that were mangled, and what becomes of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence.core.history import is_well_formed, mend_history, whole_until
from remanence.core.message import Message, Role, ToolCall, ToolReturn, text_parts
from remanence.kit.ids import AgentId, MessageId

_START = datetime(2026, 1, 2, tzinfo=UTC)


def said(name: str, role: Role, text: str = "", **fields: Any) -> Message:
    return Message(
        id=MessageId(name),
        agent_id=AgentId("agent-1"),
        role=role,
        content=text_parts(text) if text else (),
        created_at=_START + timedelta(seconds=len(name)),
        **fields,
    )


def user(name: str) -> Message:
    return said(name, "user", "Hi")


def caller(name: str, *ids: str, role: Role = "assistant") -> Message:
    return said(name, role, tool_calls=tuple(ToolCall(id=each, name="f", arguments="{}") for each in ids))


def returned(name: str, *ids: str) -> Message:
    return said(
        name,
        "tool",
        tool_returns=tuple(
            ToolReturn(tool_call_id=each, name="f", status="success", content=f"{name}:{each}")
            for each in ids
        ),
    )


def outline(messages: list[Message]) -> list[str]:
    """Each message by its id; returns with the ids of their calls, marked where they were supplied."""
    return [
        f"{message.id}({','.join(each.tool_call_id + ('!' if each.status == 'error' else '') for each in message.tool_returns)})"
        if message.tool_returns
        else message.id
        for message in messages
    ]


def findings(messages: list[Message]) -> list[tuple[str | None, str, str]]:
    return [(each.message_id, each.problem, each.mend) for each in mend_history(messages).findings]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [said("s", "system", "x"), user("u"), said("a", "assistant", "Hello")],
        [
            user("u"),
            caller("c", "1", "2"),
            returned("r", "1"),
            returned("q", "2"),
            said("a", "assistant", "x"),
        ],
        [user("u"), caller("c", "1", "2"), returned("r", "2", "1")],
        [user("u"), caller("c", "1"), returned("r", "1"), caller("d", "1"), returned("q", "1")],
        [user("u"), caller("p", "1", role="approval")],
        [user("u"), caller("p", "1", role="approval"), said("y", "approval"), returned("r", "1")],
    ],
)
def test_what_is_well_formed_stays_as_it_is(history: list[Message]) -> None:
    assert is_well_formed(history)
    assert all(a is b for a, b in zip(mend_history(history).messages, history, strict=True))


def test_a_call_without_a_return_gets_one() -> None:
    history = [user("u"), caller("c", "1", "2"), returned("r", "1"), user("v")]
    assert outline(mend_history(history).messages) == ["u", "c", "r(1)", "c-lost(2!)", "v"]
    assert findings(history) == [("c", "dangling_call", "return_supplied")]


def test_a_call_at_the_end_gets_a_return_unless_it_is_a_request() -> None:
    assert outline(mend_history([user("u"), caller("c", "1")]).messages) == ["u", "c", "c-lost(1!)"]
    request = caller("p", "1", role="approval")
    assert is_well_formed([user("u"), request])
    assert outline(mend_history([request, user("u")]).messages) == ["p", "p-lost(1!)", "u"]
    answered = [request, said("y", "approval")]
    assert outline(mend_history(answered).messages) == ["p", "y", "p-lost(1!)"]


def test_a_return_without_a_call_is_dropped() -> None:
    history = [user("u"), returned("r", "1"), said("a", "assistant", "x")]
    assert outline(mend_history(history).messages) == ["u", "a"]
    assert findings(history) == [("r", "orphan_return", "dropped")]
    assert outline(mend_history([returned("r", "1"), *history[:1]]).messages) == ["u"]


def test_a_second_return_is_dropped() -> None:
    history = [caller("c", "1"), returned("r", "1"), returned("q", "1")]
    assert outline(mend_history(history).messages) == ["c", "r(1)"]
    assert findings(history) == [("q", "duplicate_return", "dropped")]
    twice = [caller("c", "1"), returned("r", "1", "1")]
    assert outline(mend_history(twice).messages) == ["c", "r(1)"]


def test_a_return_before_its_call_is_moved_behind_it() -> None:
    history = [user("u"), returned("r", "1"), caller("c", "1"), said("a", "assistant", "x")]
    mended = mend_history(history)
    assert outline(mended.messages) == ["u", "c", "r(1)", "a"]
    assert mended.messages[2] is history[1]
    assert findings(history) == [("r", "misplaced_return", "moved")]


def test_a_return_that_came_late_is_moved_to_its_call() -> None:
    history = [caller("c", "1", "2"), returned("r", "1"), user("u"), returned("q", "2")]
    assert outline(mend_history(history).messages) == ["c", "r(1)", "q(2)", "u"]


def test_returns_of_different_calls_in_one_message_are_divided() -> None:
    history = [caller("c", "1"), user("u"), caller("d", "2"), returned("r", "2", "1")]
    assert outline(mend_history(history).messages) == ["c", "r-part(1)", "u", "d", "r(2)"]


def test_messages_that_say_nothing_or_come_again_are_dropped() -> None:
    history = [user("u"), said("e", "assistant"), said("t", "tool"), user("v"), user("u")]
    assert outline(mend_history(history).messages) == ["u", "v"]
    assert findings(history) == [
        ("e", "empty_message", "dropped"),
        ("t", "empty_message", "dropped"),
        ("u", "repeated_message", "dropped"),
    ]


@pytest.mark.parametrize(
    "mangled",
    [
        [returned("r", "1"), caller("c", "1"), caller("d", "1"), returned("q", "1"), returned("o", "2")],
        [caller("c", "1", "2"), user("u"), returned("r", "2", "3"), returned("q", "1")],
        [caller("p", "1", role="approval"), returned("r", "2"), said("y", "approval"), caller("c", "2")],
    ],
)
def test_what_was_mended_needs_no_mending(mangled: list[Message]) -> None:
    assert not is_well_formed(mangled)
    assert is_well_formed(mend_history(mangled).messages)


def test_a_history_ends_with_a_message_or_before_calls_that_would_dangle() -> None:
    request, answer = caller("p", "2", role="approval"), said("y", "approval")
    history = [
        user("u"),
        caller("c", "1"),
        returned("r", "1"),
        user("v"),
        request,
        answer,
        returned("q", "2"),
    ]
    ends = {name: whole_until(history, name) for name in "ucrvpyqx"}
    assert {name: kept and kept[-1].id for name, kept in ends.items()} == {
        "u": "u",
        "c": "u",
        "r": "r",
        "v": "v",
        "p": "p",
        "y": "v",
        "q": "q",
        "x": None,
    }
