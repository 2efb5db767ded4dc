"""Messages told as text: for the model that summarises them, and as a summary where there is no model."""

import re
from collections.abc import Sequence

from remanence.core.message import ImagePart, Message, TextPart, ToolReturn
from remanence.core.packing import is_notice, unpack_summary, unpack_tool_return, unpack_user_message
from remanence.kit.clock import local_text

_LONGEST_CHARS = 8_000
"""Of one message, as long as there is room for all."""
_SHORTEST_CHARS = 120
_OLD_SUMMARY_SHARE = 0.4
_EXCERPT_CHARS = 240


def render_transcript(messages: Sequence[Message], *, most_chars: int, timezone: str | None) -> str:
    """Who said what, in order. Long messages lose their middle first; if that is not enough, some are left out."""
    longest = _LONGEST_CHARS
    lines = _lines(messages, longest, timezone)
    while sum(map(len, lines)) > most_chars and longest > _SHORTEST_CHARS:
        longest = max(longest // 2, _SHORTEST_CHARS)
        lines = _lines(messages, longest, timezone)
    return "\n".join(_without_middle(lines, most_chars))


def number_lines(text: str) -> str:
    """So that a reader can say which lines it means; `read_numbered` finds them again."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(text.split("\n"), 1))


def read_numbered(text: str) -> dict[int, str]:
    """The numbered lines in a text: those in one rising row, from 1 on."""
    found: dict[int, str] = {}
    for match in re.finditer(r"(?m)^(\d+)\. (.*)$", text):
        if int(match[1]) == len(found) + 1:
            found[len(found) + 1] = match[2]
    return found


def extract_summary(messages: Sequence[Message], *, most_chars: int, timezone: str | None) -> str:
    """Excerpts, in place of a summary that no model could write: the newest and what people said first."""
    before = [unpack_summary(message.text)[0] for message in messages if message.role == "summary"]
    said = [message for message in messages if message.role not in ("summary", "system")]
    told = [f"(Excerpts of {len(said)} messages; no model was there to sum them up.)"]
    if before:
        told.append(clip(before[-1], int(most_chars * _OLD_SUMMARY_SHARE)))
    room = most_chars - sum(map(len, told)) - len(told)
    chosen: dict[int, str] = {}
    by_worth = sorted(range(len(said)), key=lambda place: (said[place].role != "user", -place))
    for place in by_worth:
        line = _line(said[place], max(min(_EXCERPT_CHARS, room // 3), _SHORTEST_CHARS // 2), timezone)
        if line and len(line) < room:
            chosen[place] = line
            room -= len(line) + 1
    return clip("\n".join([*told, *(chosen[place] for place in sorted(chosen))]), most_chars)


def clip(text: str, most_chars: int) -> str:
    """A text that is too long loses its end, at a word."""
    if len(text) <= most_chars:
        return text
    if most_chars <= 1:
        return text[: max(0, most_chars)]
    cut = text[: most_chars - 1]
    at_word = cut.rsplit(None, 1)[0] if " " in cut[-40:] else cut
    return at_word + "…"


def _lines(messages: Sequence[Message], longest: int, timezone: str | None) -> list[str]:
    return [line for message in messages if (line := _line(message, longest, timezone))]


def _line(message: Message, longest: int, timezone: str | None) -> str:
    if message.role == "summary":
        return f"[earlier summary] {_shortened(unpack_summary(message.text)[0], _LONGEST_CHARS)}"
    text = _told(message, longest)
    when = local_text(message.created_at, timezone)[:16]
    return f"[{when}] {text}" if text else ""


def _told(message: Message, longest: int) -> str:
    match message.role:
        case "user":
            words = unpack_user_message(message.text)
            if is_notice(words):
                return ""
            images = sum(isinstance(part, ImagePart) for part in message.content)
            seen = f" ({images} images)" if images else ""
            return f"{message.name or 'user'}: {_shortened(words, longest)}{seen}"
        case "assistant" | "approval":
            parts = [f"agent: {_shortened(message.text, longest)}"] if message.text else []
            parts += [
                f"agent calls {call.name}: {_shortened(call.arguments, longest)}"
                for call in message.tool_calls
            ]
            return "\n".join(parts)
        case "tool":
            return "\n".join(_returned(each, longest) for each in message.tool_returns)
        case "system":
            return f"system: {_shortened(message.text, longest)}"
        case "summary":
            return ""


def _returned(each: ToolReturn, longest: int) -> str:
    if isinstance(each.content, str):
        text = unpack_tool_return(each.content)
    else:
        text = " ".join(part.text if isinstance(part, TextPart) else "(an image)" for part in each.content)
    failed = " failed" if each.status == "error" else ""
    return f"{each.name}{failed}: {_shortened(text, longest)}"


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = max(1, (longest - 5) // 2)
    return f"{text[:half]} [...] {text[-half:]}"


def _without_middle(lines: list[str], most_chars: int) -> list[str]:
    """The beginning matters for what was asked, the end for where things stand: what is between goes."""
    if sum(map(len, lines)) + len(lines) <= most_chars:
        return lines
    room = most_chars - 60
    last = len(lines)
    while last > 0 and room - len(lines[last - 1]) > most_chars // 3:
        last -= 1
        room -= len(lines[last]) + 1
    first = 0
    while first < last and room - len(lines[first]) > 0:
        room -= len(lines[first]) + 1
        first += 1
    return [*lines[:first], f"[... {last - first} messages left out ...]", *lines[last:]]
