"""A history that every provider accepts: each tool call has exactly one return, right after it.

Steps are saved whole, so a history is well formed when it is written. This mends what came from
elsewhere (imports, edited windows, older data), so that no past can make the next message fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from remanence.core.message import Message, TextPart, ToolCall, ToolReturn
from remanence.core.packing import pack_tool_return
from remanence.kit.ids import MessageId

_LOST = "The result of this call was lost. If you still need it, call the tool again."

Problem = Literal[
    "dangling_call",
    "misplaced_return",
    "duplicate_return",
    "orphan_return",
    "empty_message",
    "repeated_message",
    "no_system_message",
]
Mend = Literal["return_supplied", "moved", "dropped", "compiled_anew"]


@dataclass(frozen=True, slots=True)
class Finding:
    message_id: MessageId | None
    problem: Problem
    mend: Mend
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    messages: list[Message]
    """Those that fit are the very same; where returns were supplied or divided there are new ones."""
    findings: list[Finding]


def is_well_formed(history: Sequence[Message]) -> bool:
    return not mend_history(history).findings


def repair_history(history: Sequence[Message]) -> list[Message]:
    return mend_history(history).messages


def mend_history(history: Sequence[Message]) -> Mended:
    """The same messages where they fit, with returns supplied for calls that have none.

    A return that stands elsewhere is moved to its call. A request at the very end, which waits for
    somebody's answer, is left open.
    """
    findings: list[Finding] = []
    messages = _without_noise(history, findings)
    turns = _turns_of(messages)
    _place_strays(turns, findings)
    mended: list[Message] = []
    for place, turn in enumerate(turns):
        is_open = place == len(turns) - 1 and turn.waits_for_an_answer
        mended += turn.whole(findings, is_open=is_open)
    return Mended(mended, findings)


def whole_until(history: Sequence[Message], message_id: str) -> list[Message] | None:
    """The beginning of a history that ends with this message; None if the message is not in it.

    Where that would leave calls without their returns, it ends before them.
    """
    places = [place for place, message in enumerate(history) if message.id == message_id]
    if not places:
        return None
    kept = list(history[: places[0] + 1])
    callers = [place for place, message in enumerate(kept) if message.tool_calls]
    if not callers:
        return kept
    turn = _Turn(kept[callers[-1]], kept[callers[-1] + 1 :])
    is_whole = turn.waits_for_an_answer or not turn.unanswered()
    return kept if is_whole else kept[: callers[-1]]


def without_lost_calls(history: Sequence[Message]) -> list[Message]:
    """Leaves out calls that were never answered, but for a request at the very end."""
    turns = _turns_of(history)
    answered = [turn for turn in turns[:-1] if not turn.unanswered()] + turns[-1:]
    return [message for turn in answered for message in (turn.head, *turn.rest)]


@dataclass(slots=True)
class _Turn:
    """A message and what answers its calls. Everything that calls nothing stands alone."""

    head: Message
    rest: list[Message] = field(default_factory=list[Message])
    """Returns, and a person's answer to a request."""
    strays: dict[MessageId, list[ToolReturn]] = field(default_factory=dict[MessageId, list[ToolReturn]])
    """Returns that do not belong here, by the message that they are in."""
    late: list[tuple[Message, list[ToolReturn]]] = field(
        default_factory=list[tuple[Message, list[ToolReturn]]]
    )
    """Returns of these calls that stand elsewhere, with the message that they are in."""

    @property
    def waits_for_an_answer(self) -> bool:
        return self.head.role == "approval" and bool(self.head.tool_calls) and not self.rest

    def unanswered(self) -> list[ToolCall]:
        here = [each for message in self.rest for each in message.tool_returns]
        elsewhere = [each for _, returns in self.late for each in returns]
        known = {each.tool_call_id for each in (*here, *elsewhere)}
        return [call for call in self.head.tool_calls if call.id not in known]

    def whole(self, findings: list[Finding], *, is_open: bool) -> list[Message]:
        messages = [self.head] if self.head.role != "tool" else []
        for message in self.rest:
            strays = self.strays.get(message.id, [])
            kept = tuple(each for each in message.tool_returns if not _is_in(each, strays))
            if kept or message.role != "tool":
                messages.append(message.model_copy(update={"tool_returns": kept}) if strays else message)
        for source, returns in self.late:
            is_all = len(returns) == len(source.tool_returns)
            messages.append(
                source if is_all else _returns_after(self.head, returns, MessageId(f"{source.id}-part"))
            )
        lost = [] if is_open else self.unanswered()
        if lost:
            findings += [Finding(self.head.id, "dangling_call", "return_supplied", call.id) for call in lost]
            messages.append(_lost_returns(self.head, lost))
        return messages


def _without_noise(history: Sequence[Message], findings: list[Finding]) -> list[Message]:
    kept: dict[MessageId, Message] = {}
    for message in history:
        if message.id in kept:
            findings.append(Finding(message.id, "repeated_message", "dropped"))
        elif _is_empty(message):
            findings.append(Finding(message.id, "empty_message", "dropped"))
        else:
            kept[message.id] = message
    return list(kept.values())


def _is_empty(message: Message) -> bool:
    """Whether the agent said nothing at all here, which some providers refuse to read."""
    if message.role == "tool":
        return not message.tool_returns
    says_nothing = all(isinstance(part, TextPart) and not part.text for part in message.content)
    return message.role == "assistant" and says_nothing and not message.tool_calls


def _turns_of(messages: Sequence[Message]) -> list[_Turn]:
    turns: list[_Turn] = []
    for message in messages:
        answers = message.role == "tool" or (message.role == "approval" and not message.tool_calls)
        if answers and turns and (turns[-1].head.tool_calls or turns[-1].head.role == "tool"):
            turns[-1].rest.append(message)
        elif message.role == "tool":  # in nobody's place
            turns.append(_Turn(message, [message]))
        else:
            turns.append(_Turn(message))
    return turns


def _place_strays(turns: Sequence[_Turn], findings: list[Finding]) -> None:
    """Finds the returns that answer no call where they stand, and gives them to the calls that lack them."""
    strays: list[tuple[int, Message, ToolReturn]] = []
    for place, turn in enumerate(turns):
        expected = {call.id for call in turn.head.tool_calls}
        for message in turn.rest:
            for each in message.tool_returns:
                if each.tool_call_id in expected:
                    expected.remove(each.tool_call_id)
                else:
                    turn.strays.setdefault(message.id, []).append(each)
                    strays.append((place, message, each))
    for place, message, each in strays:
        lacking = [
            other
            for other, turn in enumerate(turns)
            if any(call.id == each.tool_call_id for call in turn.unanswered())
            and not (other == len(turns) - 1 and turn.waits_for_an_answer)
        ]
        if lacking:
            nearest = turns[min(lacking, key=lambda other: abs(other - place))]
            _add_late(nearest, message, each)
            findings.append(Finding(message.id, "misplaced_return", "moved", each.tool_call_id))
            continue
        is_second = any(
            call.id == each.tool_call_id for turn in turns[: place + 1] for call in turn.head.tool_calls
        )
        problem: Problem = "duplicate_return" if is_second else "orphan_return"
        findings.append(Finding(message.id, problem, "dropped", each.tool_call_id))


def _add_late(turn: _Turn, message: Message, each: ToolReturn) -> None:
    for source, returns in turn.late:
        if source is message:
            returns.append(each)
            return
    turn.late.append((message, [each]))


def _is_in(each: ToolReturn, returns: Sequence[ToolReturn]) -> bool:
    return any(each is other for other in returns)


def _lost_returns(caller: Message, calls: Sequence[ToolCall]) -> Message:
    packed = pack_tool_return(_LOST, status="error", at=caller.created_at, timezone=None)
    returns = [
        ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=packed) for call in calls
    ]
    return _returns_after(caller, returns, MessageId(f"{caller.id}-lost"))


def _returns_after(caller: Message, returns: Sequence[ToolReturn], id: MessageId) -> Message:
    return Message(
        id=id,
        agent_id=caller.agent_id,
        role="tool",
        created_at=caller.created_at,
        conversation_id=caller.conversation_id,
        step_id=caller.step_id,
        run_id=caller.run_id,
        tool_returns=tuple(returns),
    )
