"""The conversation search tool, its pure half: what the model asks for, and how it is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from textwrap import shorten

from remanence.core.moments import parse_moment, time_ago
from remanence.kit import json
from remanence.kit.clock import local_text
from remanence.kit.json import JsonObject
from remanence.search.ports import Document, Hit
from remanence.tools.builtin.outcome import ToolFailure

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
_DEFAULT_ROLES = ("user", "assistant")
_ROLES = ("user", "assistant", "tool")
_BESIDE_CHARS = 240
"""Of what was said before or after a hit."""
_SAME_TALK = timedelta(hours=1)
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
    """Raises ToolFailure for what cannot be meant: no date, dates the wrong way round, roles of nobody."""
    start, end = parse_span(args, "start_date", "end_date", timezone)
    return Asked(
        text=str(args.get("query") or ""),
        roles=_roles(args.get("roles")),
        limit=parse_limit(args.get("limit"), DEFAULT_LIMIT),
        start=start,
        end=end,
    )


def _roles(value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not given:
        return _DEFAULT_ROLES
    roles = tuple(dict.fromkeys(str(role).strip().lower() for role in given))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    if unknown := [role for role in roles if role not in _ROLES]:
        raise ToolFailure(f'roles can be "user", "assistant" and "tool"; "{unknown[0]}" is none of them.')
    return roles


def parse_limit(value: object, default: int) -> int:
    try:
        return max(1, min(int(float(str(value))), MAX_LIMIT))
    except (ValueError, OverflowError):
        return default


def render_hits(hits: Sequence[Hit], *, timezone: str, now: datetime) -> str:
    """JSON with what a model can use: when, who, how long ago, the words, what was said before and after, and
    how well they fit. What is shown once is not shown again."""
    if not hits:
        return json.readable(
            {"message": "Nothing found. Try other words for it, fewer words, or wider dates.", "results": []}
        )
    results: list[JsonObject] = []
    seen: set[tuple[str | None, str]] = set()
    shown = {hit.id for hit in hits}
    used = left_out = 0
    for rank, hit in enumerate(hits, 1):
        said = (hit.document.role, hit.snippet)
        if said in seen:
            continue
        used += len(hit.snippet)
        if results and used > _MAX_CHARS:
            left_out += 1
            continue
        seen.add(said)
        entry: JsonObject = {
            "timestamp": local_text(hit.document.created_at, timezone),
            "time_ago": time_ago(now - hit.document.created_at),
            "role": hit.document.role,
        }
        if hit.document.speaker:
            entry["name"] = hit.document.speaker
        for key, beside in (("before", hit.before), ("content", hit), ("after", hit.after)):
            if isinstance(beside, Hit):
                entry[key] = beside.snippet
            elif beside is not None and beside.id not in shown and _belongs(beside, hit.document):
                shown.add(beside.id)
                said = shorten(beside.text, _BESIDE_CHARS, placeholder=" …")
                used += len(said)
                entry[key] = {"role": beside.role, "content": said}
        entry["relevance"] = {"rank": rank, "score": round(hit.score, 3)}
        results.append(entry)
    noun = "message" if len(results) == 1 else "messages"
    rest = f" {left_out} more would be too long to show; narrow the search to see them." if left_out else ""
    return json.readable({"message": f"Found {len(results)} {noun}.{rest}", "results": results})


def _belongs(beside: Document, found: Document) -> bool:
    """Said in the same breath, so to speak."""
    return abs(beside.created_at - found.created_at) <= _SAME_TALK


def parse_span(
    args: JsonObject, start_name: str, end_name: str, timezone: str
) -> tuple[datetime | None, datetime | None]:
    """The first and the last moment asked for. Raises ToolFailure."""
    start = _moment(args.get(start_name), timezone, start_name, is_end=False)
    end = _moment(args.get(end_name), timezone, end_name, is_end=True)
    if start is not None and end is not None and start > end:
        raise ToolFailure(f"{start_name} lies after {end_name}; swap them.")
    return start, end


def _moment(value: object, timezone: str, name: str, *, is_end: bool) -> datetime | None:
    """A date alone means the whole day; a time without a zone is the agent's own."""
    text = str(value or "").strip()
    if not text:
        return None
    try:
        return parse_moment(text, timezone, is_end=is_end)
    except ValueError:
        raise ToolFailure(
            f'{name} must be a date like "2026-03-15" or a time like "2026-03-15T14:30", not "{text[:100]}".'
        ) from None
