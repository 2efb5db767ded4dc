"""What the conversation search tool understands and how it answers."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remanence.core.moments import time_ago
from remanence.search.ports import Document, Hit
from remanence.tools.builtin.conversation import parse_conversation_search, render_hits
from remanence.tools.builtin.outcome import ToolFailure

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def hit(text: str, *, days_ago: int = 1, role: str = "user") -> Hit:
    document = Document(
        kind="message",
        id="message-1",
        owner_id="agent-1",
        organization_id="org-1",
        text=text,
        created_at=NOW - timedelta(days=days_ago),
        role=role,
    )
    return Hit("message-1", 0.81234, 1, None, text, document)


def test_what_was_said_beside_a_hit_is_shown_once_and_short() -> None:
    question, answer = hit("Where do you live?", role="assistant").document, hit("In Porto.")
    later = replace(question, id="message-2", text="word " * 100, created_at=NOW)
    found = replace(answer, id="message-1", before=replace(question, id="message-0"), after=later)
    again = replace(
        answer, id="message-3", snippet="Porto is nice.", before=replace(question, id="message-0")
    )
    first, second = json.loads(render_hits([found, again], timezone="UTC", now=NOW))["results"]
    assert first["before"] == {"role": "assistant", "content": "Where do you live?"}
    assert "after" not in first, "that was a day later"
    assert "before" not in second
    soon = replace(later, created_at=answer.document.created_at)
    (shown,) = json.loads(render_hits([replace(found, after=soon)], timezone="UTC", now=NOW))["results"]
    assert len(shown["after"]["content"]) <= 240


def test_a_date_alone_means_the_whole_day_in_the_agents_zone() -> None:
    asked = parse_conversation_search(
        {"query": "figs", "start_date": "2026-03-01", "end_date": "2026-03-02"}, "Europe/Berlin"
    )
    assert asked.start is not None
    assert asked.end is not None
    assert asked.start.astimezone(UTC) == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert asked.end.astimezone(UTC) == datetime(2026, 3, 2, 22, 59, 59, 999999, tzinfo=UTC)


def test_a_time_counts_to_the_end_of_its_minute() -> None:
    asked = parse_conversation_search({"end_date": "2026-03-02T17:00"}, "UTC")
    assert asked.end == datetime(2026, 3, 2, 17, 0, 59, 999999, tzinfo=UTC)


def test_a_moment_copied_from_an_answer_is_understood_and_included() -> None:
    shown = json.loads(render_hits([hit("I like figs")], timezone="Europe/Berlin", now=NOW))["results"][0]
    asked = parse_conversation_search(
        {"start_date": shown["timestamp"], "end_date": shown["timestamp"]}, "Asia/Tokyo"
    )
    assert asked.start == NOW - timedelta(days=1)
    assert asked.end is not None
    assert asked.end > NOW - timedelta(days=1)
    assert parse_conversation_search({"end_date": "2026-03-02 05:30:10 PM"}, "UTC").end == datetime(
        2026, 3, 2, 17, 30, 10, 999999, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-02", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-03-02 09:15", datetime(2026, 3, 2, 9, 15, tzinfo=UTC)),
        ("2026-03-02T09:15:30Z", datetime(2026, 3, 2, 9, 15, 30, tzinfo=UTC)),
        ("2026-03-02T09:15:30.5+02:00", datetime(2026, 3, 2, 7, 15, 30, 500000, tzinfo=UTC)),
        (" 2026-03-02 ", datetime(2026, 3, 2, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_dates_may_be_written_in_several_ways(text: str | None, moment: datetime | None) -> None:
    assert parse_conversation_search({"start_date": text}, "UTC").start == moment


@pytest.mark.parametrize(
    "args",
    [
        {"start_date": "last week"},
        {"start_date": "2026-02-30"},
        {"start_date": "0001-01-01T00:00+09:00"},
        {"end_date": "9999-12-31T23:59-05:00"},
        {"end_date": 12},
        {"start_date": "2026-03-02", "end_date": "2026-03-01"},
    ],
)
def test_dates_that_make_no_sense_are_explained(args: dict[str, object]) -> None:
    with pytest.raises(ToolFailure, match="date"):
        parse_conversation_search(args, "UTC")


def test_people_and_the_agent_are_searched_unless_roles_are_named() -> None:
    assert parse_conversation_search({}, "UTC").roles == ("user", "assistant")
    assert parse_conversation_search({"roles": ["tool"]}, "UTC").roles == ("tool",)
    assert parse_conversation_search({"roles": []}, "UTC").roles == ("user", "assistant")
    assert parse_conversation_search({"roles": "User"}, "UTC").roles == ("user",)
    with pytest.raises(ToolFailure, match="wizard"):
        parse_conversation_search({"roles": ["user", "wizard"]}, "UTC")


@pytest.mark.parametrize(
    ("limit", "taken"),
    [(None, 5), (7, 7), ("7", 7), (7.0, 7), (0, 1), (-3, 1), (10**9, 50), ("many", 5), (1e400, 5)],
)
def test_any_limit_is_taken_as_it_can_be(limit: object, taken: int) -> None:
    assert parse_conversation_search({"limit": limit}, "UTC").limit == taken


def test_an_answer_says_when_who_and_how_well_it_fits() -> None:
    answer = json.loads(render_hits([hit("I like figs")], timezone="UTC", now=NOW))
    assert answer == {
        "message": "Found 1 message.",
        "results": [
            {
                "timestamp": "2026-03-14 12:00:00 PM UTC+0000",
                "time_ago": "1 day ago",
                "role": "user",
                "content": "I like figs",
                "relevance": {"rank": 1, "score": 0.812},
            }
        ],
    }


def test_the_same_words_are_shown_once_and_long_answers_end() -> None:
    assert len(json.loads(render_hits([hit("same"), hit("same")], timezone="UTC", now=NOW))["results"]) == 1
    long = [hit("x" * 5000 + str(n)) for n in range(9)]
    answer = json.loads(render_hits(long, timezone="UTC", now=NOW))
    assert len(answer["results"]) == 2
    assert answer["message"].startswith("Found 2 messages. 7 more")


def test_finding_nothing_gives_advice() -> None:
    assert json.loads(render_hits([], timezone="UTC", now=NOW))["results"] == []


def test_spans_are_told_in_their_largest_unit() -> None:
    assert time_ago(timedelta(seconds=3)) == "just now"
    assert time_ago(timedelta(days=400)) == "1 year ago"
    assert time_ago(timedelta(hours=5)) == "5 hours ago"
