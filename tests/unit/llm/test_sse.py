"""Events cut out of bytes, however the network cut the bytes."""

import pytest

from remanence.errors import BadReply
from remanence.llm import sse
from remanence.llm.sse import EventSplitter

STREAM = (
    b": a comment\n\n"
    b'event: first\ndata: {"a":1}\n\n'
    b'data:{"b":"\xc3\xa9\xf0\x9f\x98\x80"}\n\n'
    b"id: 7\nretry: 10\ndata: line one\ndata: line two\n\n"
    b"\n\n"
    b"data: [DONE]\n\n"
)
EXPECTED = [b'{"a":1}', '{"b":"é😀"}'.encode(), b"line one\n line two", b"[DONE]"]


def read(chunks: list[bytes]) -> list[bytes]:
    splitter = EventSplitter()
    events = [event.strip() for chunk in chunks for event in splitter.feed(chunk)]
    return events + [event.strip() for event in splitter.end()]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_a_stream_may_be_cut_at_any_two_bytes(ending: bytes) -> None:
    stream = STREAM.replace(b"\n", ending)
    for cut in range(len(stream) + 1):
        assert read([stream[:cut], stream[cut:]]) == EXPECTED


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_a_stream_may_arrive_byte_by_byte(ending: bytes) -> None:
    stream = STREAM.replace(b"\n", ending)
    assert read([stream[at : at + 1] for at in range(len(stream))]) == EXPECTED


def test_events_are_given_as_soon_as_they_are_complete() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: 1") == []
    assert splitter.feed(b"\n") == []
    assert splitter.feed(b"\ndata: 2\n\nda") == [b" 1", b" 2"]


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert read([b"data: 1\n\ndata: 2"]) == [b"1", b"2"]


def test_events_without_data_are_none() -> None:
    assert read([b"event: ping\n\ndata:\n\n:\n\n"]) == []


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT_BYTES", 100)
    splitter = EventSplitter()
    with pytest.raises(BadReply):
        splitter.feed(b"data: " + b"x" * 200)
