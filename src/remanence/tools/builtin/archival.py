"""The tools of archival memory, their pure half: what the model asks for, and how it is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remanence.core.moments import time_ago
from remanence.kit import json
from remanence.kit.clock import local_text
from remanence.kit.json import JsonObject
from remanence.search.ports import Hit
from remanence.tools.builtin.conversation import parse_limit, parse_span
from remanence.tools.builtin.outcome import ToolFailure

DEFAULT_TOP_K = 5
_MAX_CHARS = 16_000
"""Of the whole answer, some 4,000 tokens: a search must not push out of view what it was made for."""
_MAX_TAG_CHARS = 255


@dataclass(frozen=True, slots=True)
class ArchivalQuestion:
    text: str
    tags: tuple[str, ...]
    needs_all_tags: bool
    limit: int
    start: datetime | None
    end: datetime | None


def parse_tags(value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list):
        return ()
    tags = [str(tag).strip() for tag in given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    if long := [tag for tag in tags if len(tag) > _MAX_TAG_CHARS]:
        raise ToolFailure(
            f"A tag is a short label of at most {_MAX_TAG_CHARS} characters, not {long[0][:40]!r}…"
        )
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def parse_archival_search(args: JsonObject, timezone: str) -> ArchivalQuestion:
    """Raises ToolFailure for what cannot be meant."""
    start, end = parse_span(args, "start_datetime", "end_datetime", timezone)
    return ArchivalQuestion(
        text=str(args.get("query") or ""),
        tags=parse_tags(args.get("tags")),
        needs_all_tags=str(args.get("tag_match_mode") or "any").lower() == "all",
        limit=parse_limit(args.get("top_k"), DEFAULT_TOP_K),
        start=start,
        end=end,
    )


def render_passages(hits: Sequence[Hit], *, timezone: str, now: datetime) -> str:
    """JSON with what a model can use: the note, when it was kept, its tags, and how well it fits."""
    if not hits:
        return json.readable(
            {"message": "Nothing found. Try other words for it, fewer tags, or wider dates.", "results": []}
        )
    results: list[JsonObject] = []
    seen: set[str] = set()
    used = left_out = 0
    for rank, hit in enumerate(hits, 1):
        text = hit.document.text
        if text in seen:
            continue
        # A long note is shown around what was sought, unless there is room for all of it.
        shown = (
            text if used + len(text) <= _MAX_CHARS // min(len(hits), 3) or len(text) < 600 else hit.snippet
        )
        if results and used + len(shown) > _MAX_CHARS:
            left_out += 1
            continue
        seen.add(text)
        used += len(shown)
        entry: JsonObject = {
            "id": hit.id,
            "timestamp": local_text(hit.document.created_at, timezone),
            "time_ago": time_ago(now - hit.document.created_at),
            "content": shown,
            "tags": list(hit.document.tags),
            "relevance": {"rank": rank, "score": round(hit.score, 3)},
        }
        results.append(entry)
    noun = "note" if len(results) == 1 else "notes"
    rest = f" {left_out} more would be too long to show; narrow the search to see them." if left_out else ""
    return json.readable({"message": f"Found {len(results)} {noun}.{rest}", "results": results})
