"""A history that every provider accepts: each tool call has exactly one return, right after it.

Steps are saved whole, so a history is well formed when it is written. This mends what came from
elsewhere (imports, edited windows, older data), so that no past can make the next message fail.
"""

from collections.abc import Iterable, Sequence

from remanence.core.message import Message, ToolCall, ToolReturn
from remanence.core.packing import pack_tool_return
from remanence.kit.ids import MessageId

_LOST = "The result of this call was lost. If you still need it, call the tool again."


def is_well_formed(history: Sequence[Message]) -> bool:
    return _faults(history) == 0


def repair_history(history: Sequence[Message]) -> list[Message]:
    """The same messages where they fit, with returns supplied for calls that have none.

    Calls that wait for a person's approval at the very end are left open.
    """
    if _faults(history) == 0:
        return list(history)
    mended: list[Message] = []
    waiting: dict[str, ToolCall] = {}
    caller: Message | None = None
    for message in history:
        if message.role == "tool":
            kept = tuple(each for each in message.tool_returns if each.tool_call_id in waiting)
            for each in kept:
                waiting.pop(each.tool_call_id)
            if kept:
                mended.append(message.model_copy(update={"tool_returns": kept}))
            continue
        if waiting and caller is not None and not (message.role == "approval" and not message.tool_calls):
            mended.append(_lost_returns(caller, waiting.values()))
            waiting = {}
        if message.tool_calls:
            caller, waiting = message, {call.id: call for call in message.tool_calls}
        mended.append(message)
    if waiting and caller is not None and caller.role != "approval":
        mended.append(_lost_returns(caller, waiting.values()))
    return mended


def _faults(history: Sequence[Message]) -> int:
    waiting: set[str] = set()
    last_role = ""
    faults = 0
    for message in history:
        if message.role == "tool":
            for each in message.tool_returns:
                if each.tool_call_id in waiting:
                    waiting.remove(each.tool_call_id)
                else:
                    faults += 1
        elif message.role != "approval" or message.tool_calls:
            faults += len(waiting)
            waiting = {call.id for call in message.tool_calls}
        last_role = message.role
    is_open = last_role == "approval"
    return faults + (0 if is_open else len(waiting))


def _lost_returns(caller: Message, calls: Iterable[ToolCall]) -> Message:
    packed = pack_tool_return(_LOST, status="error", at=caller.created_at, timezone=None)
    return Message(
        id=MessageId(f"{caller.id}-lost"),
        agent_id=caller.agent_id,
        role="tool",
        created_at=caller.created_at,
        step_id=caller.step_id,
        run_id=caller.run_id,
        tool_returns=tuple(
            ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=packed) for call in calls
        ),
    )
