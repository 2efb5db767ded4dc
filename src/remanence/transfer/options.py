"""What can be asked of an export or an import. Light, for the rest of the room is loaded when it is first used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remanence.core.conform import as_object
from remanence.edge.bodies import find_fault
from remanence.errors import BadArgument
from remanence.kit import json
from remanence.kit.json import JsonObject

MAX_BYTES = 64 << 20
"""Of an agent file."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    conversation_id: str | None = None
    """Whose history is taken in place of the agent's own."""
    is_scrubbed: bool = False
    """Without anything that was said: no messages, no passages, no conversations."""
    skills: Sequence[JsonObject] = ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    name: str | None = None
    """Of every agent in the file."""
    model: str | None = None
    embedding: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    project_id: str | None = None
    appends_copy: bool = True
    overrides_tools: bool = True
    strips_messages: bool = False


def read_secrets(text: str | None, what: str) -> dict[str, str]:
    """Raises BadArgument unless it is a JSON object of texts."""
    if not text:
        return {}
    found = None if find_fault(text.encode()) else json.decode(text)
    pairs = as_object(found)
    are_texts = all(isinstance(value, str) and 0 < len(key) <= 255 for key, value in pairs.items())
    if not isinstance(found, dict) or not are_texts:
        raise BadArgument(f'`{what}` must be a JSON object of texts, such as {{"TOKEN": "…"}}.')
    return pairs
