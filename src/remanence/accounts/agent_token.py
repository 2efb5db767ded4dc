"""Tokens for tools that call back: signed, short-lived, and good for one agent alone."""

import hmac
from dataclasses import dataclass
from hashlib import sha256

_PREFIX = "rat1"


@dataclass(frozen=True, slots=True)
class AgentToken:
    user_id: str
    agent_id: str


def make_token(key: bytes, user_id: str, agent_id: str, expires: int) -> str:
    body = f"{_PREFIX}.{user_id}.{agent_id}.{expires}"
    return f"{body}.{_sign(key, body)}"


def read_token(key: bytes, text: str, now: float) -> AgentToken | None:
    """None if it is no such token, was not signed here, or has lapsed."""
    body, _, signature = text.rpartition(".")
    parts = body.split(".")
    if len(parts) != 4 or parts[0] != _PREFIX or not parts[3].isdigit():
        return None
    if not hmac.compare_digest(signature.encode("latin-1", "replace"), _sign(key, body).encode()):
        return None
    return AgentToken(parts[1], parts[2]) if int(parts[3]) > now else None


def is_token(text: str) -> bool:
    return text.startswith(f"{_PREFIX}.")


def _sign(key: bytes, body: str) -> str:
    return hmac.new(key, f"agent-token:{body}".encode(), sha256).hexdigest()
