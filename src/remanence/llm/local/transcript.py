"""The conversation as the small model gets it: short turns, oldest first, cut to a budget.

The cut moves in large strides, not with every message: what comes before the newest turn then stays
the same text for many turns, and its evaluated state can be used again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from remanence.core.message import ImagePart, Message, TextPart, ToolReturn
from remanence.core.packing import unpack_tool_return, unpack_user_message
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.local.actions import ALIASES, MEMORY_VERBS, REPLY, REPLY_TOOL, PastCall, spoken_call
from remanence.llm.local.blocks import MemoryBlock, without_line_numbers

BYTES_PER_TOKEN = 3.5
_RESULT_TOKENS = 200
_TURN_OVERHEAD_TOKENS = 5


@dataclass(frozen=True, slots=True)
class Turn:
    role: Literal["user", "assistant"]
    text: str

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text) + _TURN_OVERHEAD_TOKENS


@dataclass(frozen=True, slots=True)
class Transcript:
    turns: tuple[Turn, ...]
    blocks: tuple[MemoryBlock, ...]
    """Memory as it stood where the turns begin."""
    blocks_now: tuple[MemoryBlock, ...]
    done: tuple[PastCall, ...]
    """The calls made since the user last spoke."""


def estimate_tokens(text: str) -> int:
    """A cheap guess; the window of the model is far larger than any prompt made with it."""
    return int(len(text.encode()) / BYTES_PER_TOKEN) + 1


def clip(text: str, limit_tokens: int) -> str:
    """The beginning and the end of a text that is too long."""
    limit = int(limit_tokens * BYTES_PER_TOKEN)
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head].rstrip()} … {text[head - limit :].lstrip()}"


@dataclass(frozen=True, slots=True)
class Style:
    """How the conversation is written down."""

    budget_tokens: int
    said_tokens: int
    """The longest that one message of a person may be."""
    is_json: bool
    """Answers stand as the actions they were, or as plain words."""


def read_transcript(messages: Sequence[Message], blocks: tuple[MemoryBlock, ...], style: Style) -> Transcript:
    """`messages` is the window without its system message."""
    rounds = _rounds(messages, style)
    budget_tokens = style.budget_tokens
    kept = _first_kept([sum(turn.tokens for turn in each.turns) for each in rounds], budget_tokens)
    before = [edit for each in rounds[:kept] for edit in each.edits]
    after = [edit for each in rounds[kept:] for edit in each.edits]
    shown = _edited(blocks, before)
    return Transcript(
        turns=tuple(turn for each in rounds[kept:] for turn in each.turns),
        blocks=shown,
        blocks_now=_edited(shown, after),
        done=rounds[-1].done if rounds else (),
    )


@dataclass(slots=True)
class _Round:
    """What a person said and all that followed from it."""

    turns: list[Turn]
    edits: list[tuple[str, str]]
    """Labels and the new values of their blocks."""
    done: tuple[PastCall, ...] = ()


def _rounds(messages: Sequence[Message], style: Style) -> list[_Round]:
    rounds: list[_Round] = []
    labels: dict[str, str] = {}
    for message in messages:
        if message.role in ("user", "system", "summary"):
            if said := _said(message):
                rounds.append(_Round([Turn("user", clip(said, style.said_tokens))], []))
        elif rounds:  # what came before the first words of a person is decoration
            _continue(rounds[-1], message, labels, style)
    return rounds


def _continue(current: _Round, message: Message, labels: dict[str, str], style: Style) -> None:
    if message.role in ("assistant", "approval"):
        if message.text and not message.tool_calls:
            current.turns.append(Turn("assistant", _spoken(REPLY, message.text, style)))
        for call in message.tool_calls:
            arguments = _arguments(call.arguments)
            current.turns.append(Turn("assistant", _spoken(*spoken_call(call.name, arguments), style)))
            if call.name != REPLY_TOOL:
                current.done += (PastCall(call.name, arguments),)
            if isinstance(arguments.get("label"), str):
                labels[call.id] = arguments["label"]
    answers = (*message.tool_returns, *(a for a in message.approvals if isinstance(a, ToolReturn)))
    for each in answers:
        if each.name == REPLY_TOOL:
            continue
        text = _result(each)
        is_edit = each.status == "success" and _verb(each.name) in MEMORY_VERBS
        if not is_edit:
            current.turns.append(Turn("user", f"Result: {clip(text, _RESULT_TOKENS)}"))
        if is_edit and each.tool_call_id in labels:
            current.edits.append((labels[each.tool_call_id], without_line_numbers(text)))


def _spoken(verb: str, value: Any, style: Style) -> str:
    """Exactly as the grammar lets the model write it, so that its evaluated state fits."""
    return str(value) if verb == REPLY and not style.is_json else json.encode_text({verb: value})


def _said(message: Message) -> str:
    images = ["[image]" for part in message.content if isinstance(part, ImagePart)]
    text = unpack_user_message(message.text)
    if text.startswith("{") and message.role == "user":
        text = _notice(text)
    return " ".join([text, *images]).strip() if text else " ".join(images)


def _notice(packed: str) -> str:
    """Logins and heartbeats say nothing to this model; an alert may hold the summary of what was said."""
    try:
        fields = json.decode(packed)
    except ValueError:
        return packed
    if not isinstance(fields, dict) or "type" not in fields:
        return packed
    notice = cast("JsonObject", fields)
    if notice["type"] in ("login", "heartbeat"):
        return ""
    return str(notice.get("message", packed))


def _result(answer: ToolReturn) -> str:
    if isinstance(answer.content, str):
        return unpack_tool_return(answer.content)
    return "".join(part.text for part in answer.content if isinstance(part, TextPart))


def _arguments(text: str) -> JsonObject:
    try:
        arguments = json.decode(text)
    except ValueError:
        return {}
    return cast("JsonObject", arguments) if isinstance(arguments, dict) else {}


def _verb(tool_name: str) -> str:
    alias = ALIASES.get(tool_name)
    return alias.verb if alias else tool_name


def _first_kept(costs: Sequence[int], budget: int) -> int:
    """The first round to keep. It moves on by half a budget at a time, and the last round always stays."""
    excess = sum(costs) - budget
    if excess <= 0:
        return 0
    stride = max(budget // 2, 1)
    cut = -(-excess // stride) * stride
    gone = 0
    for index, cost in enumerate(costs[:-1]):
        if gone >= cut:
            return index
        gone += cost
    return len(costs) - 1


def _edited(blocks: tuple[MemoryBlock, ...], edits: Sequence[tuple[str, str]]) -> tuple[MemoryBlock, ...]:
    latest = dict(edits)
    return tuple(
        MemoryBlock(block.label, latest[block.label], block.is_read_only) if block.label in latest else block
        for block in blocks
    )
