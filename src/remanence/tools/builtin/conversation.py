"""The conversation search tool, its pure half: what the model asks for, and how it is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from remanence.kit import json
from remanence.kit.clock import local_text, zone_of
from remanence.kit.json import JsonObject
from remanence.search.ports import Hit
from remanence.tools.builtin.outcome import ToolFailure

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
_DEFAULT_ROLES = ("user", "assistant")
_MAX_CHARS = 12_000
"""Of the whole answer: a search must not push out of view what it was made for."""


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    roles: tuple[str, ...]
    limit: int
    start: datetime | None
    end: datetime | None


def parse_conversation_search(args: JsonObject, timezone: str) -> Asked:
    """Raises ToolFailure for a date that is none, or dates the wrong way round."""
    start = _moment(args.get("start_date"), timezone, "start_date", is_end=False)
    end = _moment(args.get("end_date"), timezone, "end_date", is_end=True)
    if start is not None and end is not None and start > end:
        raise ToolFailure("start_date lies after end_date; swap them.")
    limit = args.get("limit")
    return Asked(
        text=str(args.get("query") or ""),
        roles=tuple(args.get("roles") or _DEFAULT_ROLES),
        limit=max(1, min(int(limit), MAX_LIMIT)) if limit is not None else DEFAULT_LIMIT,
        start=start,
        end=end,
    )


def render_hits(hits: Sequence[Hit], *, timezone: str, now: datetime) -> str:
    """JSON with what a model can use: when, who, how long ago, the words, and how well they fit."""
    if not hits:
        return json.readable(
            {"message": "Nothing found. Try other words for it, fewer words, or wider dates.", "results": []}
        )
    results: list[JsonObject] = []
    seen: set[tuple[str | None, str]] = set()
    used = 0
    for rank, hit in enumerate(hits, 1):
        said = (hit.document.role, hit.snippet)
        used += len(hit.snippet)
        if said in seen or (results and used > _MAX_CHARS):
            continue
        seen.add(said)
        entry: JsonObject = {
            "timestamp": local_text(hit.document.created_at, timezone),
            "time_ago": time_ago(now - hit.document.created_at),
            "role": hit.document.role,
        }
        if hit.document.speaker:
            entry["name"] = hit.document.speaker
        entry["content"] = hit.snippet
        entry["relevance"] = {"rank": rank, "score": round(hit.score, 3)}
        results.append(entry)
    noun = "message" if len(results) == 1 else "messages"
    return json.readable({"message": f"Found {len(results)} {noun}.", "results": results})


def time_ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for unit, size in (
        ("year", 31_536_000),
        ("month", 2_592_000),
        ("day", 86_400),
        ("hour", 3600),
        ("minute", 60),
    ):
        count = seconds // size
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _moment(value: object, timezone: str, name: str, *, is_end: bool) -> datetime | None:
    """A date alone means the whole day; a time without a zone is the agent's own."""
    if value is None or value == "":
        return None
    text = str(value).strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ToolFailure(
            f'{name} must be a date like "2026-03-15" or a time like "2026-03-15T14:30", not "{text}".'
        ) from None
    if len(text) <= len("2026-03-15") and is_end:
        moment = datetime.combine(moment.date(), time.max)
    elif is_end and moment.second == 0 and moment.microsecond == 0:
        moment += timedelta(seconds=59, microseconds=999_999)  # a minute is meant to its end
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_of(timezone))
