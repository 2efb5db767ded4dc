"""What is said in a campaign, and what the model makes of it: each text tells its own turn.

`#12 ip` is number 12, answered by a step with one call (`i`), one with two at once (`p`), and then words.
So the whole turn is known from its text, and any history can be held against it.
"""

import re
from random import Random
from typing import Any
from uuid import UUID

from tests.support.script import Call, Line, Speech
from tests.support.scripted_model import SeenRequest, text_of

from remanence.core.packing import is_notice
from remanence.kit import json

SENSOR = {
    "name": "read_sensor",
    "description": "Reads a sensor.",
    "parameters": {"type": "object", "properties": {"room": {"type": "string"}}},
}
"""A tool that only the client has."""
PLANS = ("", "", "i", "i", "ii", "p", "pi", "iii")
CLIENT_PLANS = ("c", "ic", "m", "ci")
_TEXT = re.compile(r"#(\d+) ?([ipcm]*)")
_KIND = {"memory_insert": "insert", "read_sensor": "read"}
_STEP = {"i": ("memory_insert",), "p": ("memory_insert",) * 2, "c": ("read_sensor",)}
_STEP["m"] = ("memory_insert", "read_sensor")


def steps_of(text: str) -> list[list[tuple[str, str]]]:
    """The calls of each step before the words: id and name."""
    found = _TEXT.fullmatch(text)
    assert found is not None, f"nobody says {text!r}"
    number, plan = found.groups()
    return [
        [(f"{_KIND[name]}-{number}-{step}-{place}", name) for place, name in enumerate(_STEP[letter])]
        for step, letter in enumerate(plan)
    ]


def words_for(text: str) -> str:
    return f"Re {text.split(' ')[0]}: one two three four"


def body_of(text: str) -> dict[str, Any]:
    """How it is sent; the id that its client gave it is the same each time."""
    otid = str(UUID(int=Random(text).getrandbits(128), version=4))
    message = {"role": "user", "content": text, "otid": otid}
    return {"messages": [message], "client_tools": [SENSOR]}


def marker(call_id: str) -> str:
    """What an insertion leaves in memory."""
    return f"<{call_id}>"


def is_insertion(call_id: str) -> bool:
    return call_id.startswith("insert-")


def answer(request: SeenRequest) -> Line:
    """The next line of the turn that the last user message began."""
    said = {
        place: text_of(message) for place, message in enumerate(request.messages) if message["role"] == "user"
    }
    last = max(place for place, text in said.items() if not is_notice(text))
    text = said[last]
    done = sum(1 for message in request.messages[last:] if message.get("tool_calls"))
    chance = Random(f"{text} {done}")
    steps = steps_of(text)
    if done < len(steps):
        line = Line(pieces=tuple(_call(id, name) for id, name in steps[done]))
    else:
        line = Line(pieces=(Speech(words_for(text)),))
    return line.slow(first_s=chance.choice((0, 0, 0.002, 0.02)), token_s=chance.choice((0, 0.001, 0.004)))


def _call(call_id: str, name: str) -> Call:
    if name == "read_sensor":
        return Call(name, json.readable({"room": "attic"}), call_id)
    return Call(name, json.readable({"label": "human", "new_string": marker(call_id)}), call_id)
