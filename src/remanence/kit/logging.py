"""Logs: one line a record, for people or as JSON, with the id of the request it belongs to.

Use the standard library's loggers; what is passed as `extra` becomes fields of the record.
"""

import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TextIO

import orjson

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The request being served, if any; tasks started while serving it inherit it."""

# What every record has of its own; the rest came in through `extra`.
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}

# Chatty libraries, and the least severe record of theirs that we let through.
_QUIETER = {"uvicorn": logging.WARNING, "alembic": logging.WARNING, "asyncio": logging.WARNING}


def set_up_logging(
    level: str = "info", style: Literal["text", "json"] = "text", stream: TextIO | None = None
) -> None:
    """Send all records to `stream` (standard error unless given), replacing what was set up before."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, least in _QUIETER.items():
        logging.getLogger(name).setLevel(max(root.level, least) if root.level > logging.DEBUG else root.level)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if trace := _trace(record):
            entry["trace"] = trace
        return orjson.dumps(entry, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class TextFormatter(logging.Formatter):
    """A line for people: time, level, message, fields, logger; then the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname:<7} {record.getMessage()}{fields} ({record.name})"
        trace = _trace(record)
        return f"{line}\n{trace}" if trace else line


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields = {name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES}
    if (request := request_id.get()) is not None:
        fields.setdefault("request_id", request)
    return fields


def _trace(record: logging.LogRecord) -> str:
    if record.exc_info and record.exc_info[1] is not None:
        return "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return record.exc_text or ""
