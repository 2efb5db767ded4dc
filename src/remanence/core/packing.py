"""Packed texts: the JSON envelopes in which tool results and automatic notices reach the model."""

from datetime import datetime
from typing import Any, Literal

from remanence.kit import json
from remanence.kit.clock import local_text

AUTOMATED = "[This is an automated notice. The user does not see it.]"


def pack(fields: dict[str, Any]) -> str:
    return json.readable(fields, indent=2)


def pack_tool_return(
    text: str, *, status: Literal["success", "error"], at: datetime, timezone: str | None
) -> str:
    outcome = "OK" if status == "success" else "Failed"
    return pack({"status": outcome, "message": text, "time": local_text(at, timezone)})


def unpack_tool_return(packed: str) -> str:
    """The text inside a packed return; the input itself if it is not one."""
    if not packed.startswith("{"):
        return packed
    try:
        fields = json.decode(packed)
    except ValueError:
        return packed
    if isinstance(fields, dict) and "status" in fields and "message" in fields:
        return str(fields["message"])  # pyright: ignore[reportUnknownArgumentType] - JSON read just above
    return packed


def pack_user_message(text: str, *, at: datetime, timezone: str | None, name: str | None = None) -> str:
    fields: dict[str, Any] = {"type": "user_message", "message": text, "time": local_text(at, timezone)}
    return pack(fields | ({"name": name} if name else {}))


def unpack_user_message(text: str) -> str:
    """A packed user message is shown as its words; any other envelope as it is."""
    if not (text.startswith("{") and '"user_message"' in text):
        return text
    try:
        fields = json.decode(text)
    except ValueError:
        return text
    if isinstance(fields, dict) and fields.get("type") == "user_message":  # pyright: ignore[reportUnknownMemberType]
        return str(fields.get("message", text))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return text


def pack_heartbeat(reason: str, *, at: datetime, timezone: str | None) -> str:
    return pack({"type": "heartbeat", "reason": f"{AUTOMATED} {reason}", "time": local_text(at, timezone)})


def pack_login(*, at: datetime, timezone: str | None) -> str:
    return pack({"type": "login", "last_login": "Never (first login)", "time": local_text(at, timezone)})


def pack_alert(text: str, *, at: datetime, timezone: str | None, **extra: Any) -> str:
    return pack({"type": "system_alert", "message": text, "time": local_text(at, timezone)} | extra)


_SUMMARY_NOTE = (
    f"{AUTOMATED} Earlier messages have left your view to make room; all of them are kept and can be found "
    "by searching the conversation. In short, this is what they said:"
)
_NOTICES = ('"type": "heartbeat"', '"type": "system_alert"', '"type": "login"')


def pack_summary(summary: str, *, at: datetime, timezone: str | None, stats: dict[str, Any] | None) -> str:
    extra = {"compaction_stats": stats} if stats is not None else {}
    return pack_alert(f"{_SUMMARY_NOTE}\n\n{summary}", at=at, timezone=timezone, **extra)


def unpack_summary(packed: str) -> tuple[str, dict[str, Any] | None]:
    """The summary inside, and the figures of the compaction that made it."""
    try:
        fields = json.decode(packed)
    except ValueError:
        return packed, None
    if not isinstance(fields, dict) or "message" not in fields:
        return packed, None
    _, _, summary = str(fields["message"]).partition("\n\n")  # pyright: ignore[reportUnknownArgumentType] - JSON
    return summary, fields.get("compaction_stats")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


_PRESSURE = "Your view is filling up"


def pack_pressure_alert(tokens: int, window: int, *, at: datetime, timezone: str | None) -> str:
    text = (
        f"{AUTOMATED} {_PRESSURE}: about {tokens} of {window} tokens are taken. When it is full, older messages "
        "leave it and only a summary stays. What you will need word for word, write into your memory now."
    )
    return pack_alert(text, at=at, timezone=timezone)


def is_pressure_alert(text: str) -> bool:
    return is_notice(text) and _PRESSURE in text[:160]


def is_notice(text: str) -> bool:
    """Whether this is said by the server and not by a person."""
    return text.startswith("{") and any(mark in text[:40] for mark in _NOTICES)
