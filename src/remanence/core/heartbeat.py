"""The two arguments that heartbeat agents give with every call: a thought, and whether to go on."""

from dataclasses import dataclass

from remanence.kit.json import JsonObject

THINKING = "thinking"
REQUEST_HEARTBEAT = "request_heartbeat"

_THINKING_SCHEMA: JsonObject = {
    "type": "string",
    "description": "Private: what you notice and what you will do next, in a sentence or two. Nobody else sees it.",
}
_HEARTBEAT_SCHEMA: JsonObject = {
    "type": "boolean",
    "description": "true to act again once this call has returned; false to end your turn with it.",
}


@dataclass(frozen=True, slots=True)
class HeartbeatArguments:
    """A call's arguments, taken apart."""

    arguments: JsonObject
    """What the tool itself gets."""
    thinking: str | None
    requested_heartbeat: bool


def with_heartbeat_arguments(parameters: JsonObject, *, thinking: bool, heartbeat: bool) -> JsonObject:
    """A tool's parameters with the extra ones, `thinking` first so that thought comes before action.

    A parameter of the tool's own by one of these names is left alone.
    """
    own: JsonObject = dict(parameters.get("properties") or {})
    required: list[str] = list(parameters.get("required") or ())
    before = {THINKING: _THINKING_SCHEMA} if thinking and THINKING not in own else {}
    after = {REQUEST_HEARTBEAT: _HEARTBEAT_SCHEMA} if heartbeat and REQUEST_HEARTBEAT not in own else {}
    return {
        **parameters,
        "type": "object",
        "properties": {**before, **own, **after},
        "required": [*before, *required, *after],
    }


def take_heartbeat_arguments(args: JsonObject, parameters: JsonObject) -> HeartbeatArguments:
    """Take the extra arguments out of a call; `parameters` are the tool's own, without them.

    Both are taken whether or not they were offered: models add them from habit.
    """
    own: JsonObject = parameters.get("properties") or {}
    rest = dict(args)
    thinking = rest.pop(THINKING, None) if THINKING not in own else None
    wish = rest.pop(REQUEST_HEARTBEAT, False) if REQUEST_HEARTBEAT not in own else False
    is_wished = wish.strip().lower() == "true" if isinstance(wish, str) else bool(wish)
    return HeartbeatArguments(rest, thinking if isinstance(thinking, str) else None, is_wished)
