"""People and clients in the loop: which calls wait for them, and what their answers mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from remanence.core.message import Approval, Message, ReturnPart, TextPart, ToolCall, ToolReturn
from remanence.errors import BadArgument

_RETRY_REACH = 10
"""How many messages back an answer may lie to be known as given already."""

DENIED = "The user did not allow this call."
EXPIRED = "Nobody answered in time, so the call was not made."
CANCELLED = "The call was cancelled before it was answered."


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client says about an open request; the older form speaks for all calls at once."""

    items: tuple[Approval | ToolReturn, ...] = ()
    approves_all: bool | None = None
    request_id: str | None = None
    """Which request the older form means: its message id, or the id of one of its calls."""
    reason: str | None = None
    otid: str | None = None


def gated(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(call for call in calls if call.gate is not None)


def match_answer(request: Message, answer: Answer) -> dict[str, Approval | ToolReturn]:
    """One answer for each call that waits, by call id. Raises BadArgument if they do not fit together."""
    waiting = gated(request.tool_calls)
    if answer.approves_all is None:
        given = {item.tool_call_id: item for item in answer.items}
    elif answer.request_id is None or _is_meant(request, answer.request_id):
        given = {
            call.id: Approval(tool_call_id=call.id, approve=answer.approves_all, reason=answer.reason)
            for call in waiting
        }
    else:
        raise BadArgument(f"The open request is {request.id}, not {answer.request_id}.")
    if answer.items and len(given) < len(answer.items):
        raise BadArgument("The answer speaks of the same call twice.")
    expected = {call.id for call in waiting}
    if given.keys() != expected:
        missing = ", ".join(sorted(expected - given.keys())) or "none"
        unknown = ", ".join(sorted(given.keys() - expected)) or "none"
        raise BadArgument(
            f"The answer must cover exactly the calls of request {request.id}. "
            f"Not answered: {missing}. Not asked: {unknown}."
        )
    for call in waiting:
        item = given[call.id]
        if call.gate == "client" and isinstance(item, Approval) and item.approve:
            raise BadArgument(f"{call.name} runs on the client: send its result, not an approval.")
    return {call.id: given[call.id] for call in waiting}


def is_given_already(history: Sequence[Message], answer: Answer) -> bool:
    """Whether this answer was taken before: a client that did not hear so may send it again."""
    recent = history[-_RETRY_REACH:]
    if answer.request_id is not None:
        return any(_is_meant(message, answer.request_id) for message in recent if message.role == "approval")
    ids = {item.tool_call_id for item in answer.items}
    return bool(ids) and ids <= {each.tool_call_id for message in recent for each in message.tool_returns}


def _is_meant(request: Message, id: str) -> bool:
    return id == request.id or any(id == call.id for call in gated(request.tool_calls))


def cut_result(content: str | tuple[ReturnPart, ...], limit_chars: int) -> str | tuple[ReturnPart, ...]:
    """What a client's result may take of the window; images are not counted."""
    if isinstance(content, str):
        excess = len(content) - limit_chars
        note = f"\n[The rest, {excess} characters, was cut off.]"
        return content if excess <= 0 else content[:limit_chars] + note
    parts: list[ReturnPart] = []
    for part in content:
        if isinstance(part, TextPart):
            text = cut_result(part.text, limit_chars)
            limit_chars = max(0, limit_chars - len(part.text))
            part = part.model_copy(update={"text": text})
        parts.append(part)
    return tuple(parts)


def in_order(items: Mapping[str, Approval | ToolReturn]) -> tuple[Approval | ToolReturn, ...]:
    """Denials first, as they decide how the rest is read."""
    return tuple(
        sorted(items.values(), key=lambda item: not (isinstance(item, Approval) and not item.approve))
    )
