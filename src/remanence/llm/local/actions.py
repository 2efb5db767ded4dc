"""The few short verbs in which the small model thinks, and their translation to the agent's tools.

Different agents have different tools for the same thing (`memory_replace`, `core_memory_replace`).
Under one verb they share one prompt, whose evaluated state is then shared too, and a short verb with
short arguments is spoken in half the time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from remanence.core.llm import ModelRequest, ToolSpec
from remanence.kit.json import JsonObject
from remanence.llm.local.blocks import MemoryBlock
from remanence.llm.local.schema import LOOP_ARGUMENTS, closed_object, plain_parameters, plain_schema

REPLY = "reply"
FINISH = "finish"
REPLY_TOOL = "send_message"
MAX_TOOL_STEPS = 3
"""Calls in one turn, after which only the reply is left, so that a turn always ends."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MAX_QUOTES = 40
_MAX_QUOTE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Alias:
    """A built-in tool under its verb. `arguments` maps the short names to the tool's own."""

    verb: str
    arguments: Mapping[str, str]


ALIASES: Mapping[str, Alias] = {
    "memory_insert": Alias("remember", {"label": "label", "text": "new_string"}),
    "core_memory_append": Alias("remember", {"label": "label", "text": "content"}),
    "memory_replace": Alias("correct", {"label": "label", "old": "old_string", "new": "new_string"}),
    "core_memory_replace": Alias("correct", {"label": "label", "old": "old_content", "new": "new_content"}),
    "conversation_search": Alias("search", {"query": "query"}),
    "archival_memory_insert": Alias("archive", {"text": "content"}),
    "archival_memory_search": Alias("look_up", {"query": "query"}),
    "memory_rethink": Alias("rewrite", {"label": "label", "text": "new_memory"}),
    "memory_finish_edits": Alias(FINISH, {}),
    "finish_rethinking_memory": Alias(FINISH, {}),
}
VERBS = (REPLY, *dict.fromkeys(alias.verb for alias in ALIASES.values()))
"""All verbs of ours, in the order in which prompts list them."""
MEMORY_VERBS = ("remember", "correct", "rewrite")
_COVERED = {"memory": "correct", "memory_apply_patch": "correct"}
"""Tools too intricate for this model, left out where the agent has the plain verb."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the model may do. `tool` is None for a plain text answer."""

    verb: str
    tool: ToolSpec | None = None
    alias: Alias | None = None
    value_schema: JsonObject | None = field(default_factory=lambda: {"type": "string", "minLength": 1})
    """None where there is nothing to do it to: an empty memory cannot be corrected."""

    def arguments(self, value: object) -> JsonObject:
        """The tool's own arguments for what the model wrote."""
        given = cast("JsonObject", value) if isinstance(value, dict) else {}
        if self.alias is not None:
            given = {
                self.alias.arguments[name]: each
                for name, each in given.items()
                if name in self.alias.arguments
            }
        return given | self.loop_arguments()

    def loop_arguments(self) -> JsonObject:
        """After a tool the turn goes on, so that the user gets an answer; after the reply it ends."""
        wanted = self.tool is not None and "request_heartbeat" in self.tool.parameters.get("properties", {})
        return {"request_heartbeat": self.verb != REPLY} if wanted else {}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All the actions of a request, and those that are possible at this step."""

    known: tuple[Action, ...]
    allowed: tuple[Action, ...]

    def find(self, verb: str) -> Action | None:
        return next((action for action in self.allowed if action.verb == verb), None)

    def schema(self) -> JsonObject:
        """One object with one key out of the allowed ones, written without spaces."""
        options = [closed_object({action.verb: action.value_schema or {}}) for action in self.allowed]
        layout = {"x-guidance": {"whitespace_flexible": False}}
        return {"anyOf": options} | layout if len(options) > 1 else options[0] | layout


@dataclass(frozen=True, slots=True)
class PastCall:
    name: str
    arguments: JsonObject


def plan_vocabulary(
    request: ModelRequest, blocks: Sequence[MemoryBlock], done: Sequence[PastCall]
) -> Vocabulary:
    """`done` are the calls already made in this turn, `blocks` memory as it is now."""
    known = _known_actions(request, blocks)
    allowed = [action for action in known if _is_allowed(action, request)]
    if request.forced_tool is None:
        allowed = _narrowed(allowed, done)
    return Vocabulary(
        known=tuple(known), allowed=tuple(allowed or (action for action in known if action.value_schema))
    )


def own_verb(tool_name: str) -> str:
    """A tool that is not one of ours goes by its name, unless we have taken it for a verb."""
    return f"{tool_name}_tool" if tool_name in VERBS else tool_name


def spoken_call(name: str, arguments: JsonObject) -> tuple[str, Any]:
    """A past call in the model's own words: its verb and value."""
    if name == REPLY_TOOL:
        return REPLY, str(arguments.get("message", ""))
    alias = ALIASES.get(name)
    if alias is None:
        return own_verb(name), {key: value for key, value in arguments.items() if key not in LOOP_ARGUMENTS}
    return alias.verb, {short: arguments[own] for short, own in alias.arguments.items() if own in arguments}


def _known_actions(request: ModelRequest, blocks: Sequence[MemoryBlock]) -> list[Action]:
    """In a fixed order, so that agents with the same tools share the same prompt."""
    by_verb: dict[str, Action] = {}
    others: list[Action] = []
    names = {tool.name for tool in request.tools}
    verbs = {ALIASES[name].verb for name in names if name in ALIASES}
    for tool in request.tools:
        if tool.name == REPLY_TOOL:
            by_verb.setdefault(REPLY, Action(REPLY, tool))
        elif alias := ALIASES.get(tool.name):
            by_verb.setdefault(alias.verb, Action(alias.verb, tool, alias, _alias_schema(alias, blocks)))
        elif _COVERED.get(tool.name) not in verbs or tool.name == request.forced_tool:
            others.append(Action(own_verb(tool.name), tool, None, plain_parameters(tool.parameters)))
    if REPLY not in by_verb and request.tool_choice != "required":
        by_verb[REPLY] = Action(REPLY, None, None, _reply_schema(request))
    return [by_verb[verb] for verb in VERBS if verb in by_verb] + others


def _reply_schema(request: ModelRequest) -> JsonObject:
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return {"type": "string", "minLength": 1}
    return plain_schema(wanted.json_schema or {"type": "object"})


def _is_allowed(action: Action, request: ModelRequest) -> bool:
    if action.value_schema is None:
        return False
    if request.forced_tool is not None:
        return action.tool is not None and action.tool.name == request.forced_tool
    return request.tool_choice != "required" or action.tool is not None


def _narrowed(allowed: list[Action], done: Sequence[PastCall]) -> list[Action]:
    """Small models like to repeat themselves: a built-in verb comes once a turn, and no call comes thrice."""
    ending = [action for action in allowed if action.verb in (REPLY, FINISH)]
    if ending and len(done) >= MAX_TOOL_STEPS:
        return ending
    used = {call.name for call in done if call.name in ALIASES}
    if len(done) > 1 and done[-1] == done[-2]:
        used.add(done[-1].name)
    return [action for action in allowed if action.tool is None or action.tool.name not in used] or allowed


def _alias_schema(alias: Alias, blocks: Sequence[MemoryBlock]) -> JsonObject | None:
    """None where the verb has nothing to work on."""
    text: JsonObject = {"type": "string", "minLength": 1}
    if "label" not in alias.arguments:
        return closed_object(dict.fromkeys(alias.arguments, text))
    writable = [block for block in blocks if not block.is_read_only]
    if alias.verb == "correct":
        options = [_correction(block, text) for block in writable if block.value.strip()]
        return {"anyOf": options} if options else None
    if not writable:
        return None
    label: JsonObject = {"enum": [block.label for block in writable]}
    return closed_object({name: label if name == "label" else text for name in alias.arguments})


def _correction(block: MemoryBlock, text: JsonObject) -> JsonObject:
    """What is to be replaced can only be quoted from the block, so that it is always found there."""
    quotes = quotable(block.value)
    return closed_object(
        {"label": {"const": block.label}, "old": {"enum": quotes} if quotes else text, "new": text}
    )


def quotable(value: str) -> list[str]:
    """The sentences and lines of a block that occur in it once."""
    pieces = [piece.strip() for line in value.splitlines() for piece in _SENTENCE_END.split(line)]
    usable = [p for p in dict.fromkeys(pieces) if p and len(p) <= _MAX_QUOTE_CHARS and value.count(p) == 1]
    return usable[:_MAX_QUOTES]
