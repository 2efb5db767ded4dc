"""Logs: records as lines, with the request they belong to."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from remanence.kit.logging import request_id, set_up_logging

log = logging.getLogger("remanence.test")


@pytest.fixture(autouse=True)
def restore_root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def in_request() -> Iterator[None]:
    token = request_id.set("req-1")
    yield
    request_id.reset(token)


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.usefixtures("in_request")
def test_a_json_record_carries_its_request_and_its_fields() -> None:
    set_up_logging("info", "json", stream := io.StringIO())
    log.info("step %d saved", 2, extra={"run": "run-1"})
    (entry,) = entries(stream)
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "info",
        "logger": "remanence.test",
        "message": "step 2 saved",
        "run": "run-1",
        "request_id": "req-1",
    }


def test_a_json_record_stays_on_one_line_even_with_a_traceback() -> None:
    set_up_logging("info", "json", stream := io.StringIO())
    try:
        raise ValueError("two\nlines")
    except ValueError:
        log.exception("it broke", extra={"odd": object()})
    (entry,) = entries(stream)
    assert "ValueError: two\nlines" in entry["trace"]


@pytest.mark.usefixtures("in_request")
def test_a_text_record_reads_as_a_line() -> None:
    set_up_logging("info", "text", stream := io.StringIO())
    log.warning("slow", extra={"seconds": 3})
    line = stream.getvalue().rstrip("\n")
    assert line.endswith("WARNING slow seconds=3 request_id=req-1 (remanence.test)")


def test_what_is_below_the_level_is_left_out() -> None:
    set_up_logging("warning", "text", stream := io.StringIO())
    log.info("small talk")
    assert stream.getvalue() == ""


def test_chatty_libraries_speak_up_only_when_something_is_wrong() -> None:
    set_up_logging("info", "text", stream := io.StringIO())
    logging.getLogger("uvicorn.error").info("Started server process")
    assert stream.getvalue() == ""
    logging.getLogger("uvicorn.error").error("address in use")
    assert "address in use" in stream.getvalue()
