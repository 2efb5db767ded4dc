"""A message in an agent file, both ways: the stored form of the wire, and back."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from remanence.core.approval import gated
from remanence.core.conform import as_object
from remanence.core.message import Approval, Message, Part, TextPart, ToolCall, ToolReturn
from remanence.kit import json
from remanence.kit.ids import AgentId, ConversationId, MessageId, new_message_id
from remanence.messages.schemas import stored_body
from remanence.transfer.schemas import CallPart, FileApproval, FileMessage, FileReturn, ReturnedPart

_KEYS = (
    *("otid", "group_id", "role", "content", "name", "sender_id", "batch_item_id", "id", "model", "agent_id"),
    *("tool_calls", "tool_call_id", "tool_returns", "created_at", "approve", "approval_request_id"),
    *("denial_reason", "approvals"),
)

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Of what a file may say: in every zone there is a time before it."""


def file_body(message: Message, ids: Mapping[str, str]) -> dict[str, Any]:
    """As it stands in a file; `ids` are those of the file."""
    stored = stored_body(message)
    body: dict[str, Any] = {"type": "message", **{key: stored[key] for key in _KEYS}}
    for call, shown in zip(message.tool_calls, body["tool_calls"] or (), strict=True):
        # Beyond the contract, which allows for it: what a request waits for, and marks that providers want back.
        shown |= {key: value for key in ("gate", "signature") if (value := getattr(call, key)) is not None}
    returns = zip(message.tool_returns, body["tool_returns"], strict=True)
    body["tool_returns"] = [shown | {"name": each.name} for each, shown in returns]
    body["approvals"] = [_answer_body(each) for each in message.approvals]
    request = message.approval_request_id
    return body | {
        "id": ids[message.id],
        "agent_id": ids[message.agent_id],
        "approval_request_id": ids.get(request, request) if request else None,
        "group_id": ids.get(message.group_id) if message.group_id else None,
        "sender_id": ids.get(message.sender_id, message.sender_id) if message.sender_id else None,
    }


def _answer_body(answer: Approval | ToolReturn) -> dict[str, Any]:
    if isinstance(answer, Approval):
        return {"type": "approval"} | answer.model_dump(mode="json")
    body = answer.model_dump(mode="json")
    return {"func_response": body.pop("content")} | body


def read_messages(
    given: Iterable[FileMessage],
    agent_id: AgentId,
    ids: Mapping[str, str],
    now: datetime,
    conversation_id: ConversationId | None = None,
    *,
    keeps_ids: bool = False,
) -> dict[str, Message]:
    """Messages by their ids in the file, in order of time; `ids` has the new ids of what they refer to.

    No two are of one moment, and none of a later one than now, so that what is said next comes after them.
    """
    found = sorted(enumerate(given), key=lambda each: (each[1].created_at or now, each[0]))
    fresh = {each.id: MessageId(each.id) if keeps_ids else new_message_id() for _, each in found}
    calls_by = {each.id: _calls_of(each) for _, each in found}
    calls = {call.id: call for some in calls_by.values() for call in some}
    known = {**ids, **fresh}
    read: dict[str, Message] = {}
    latest = now - timedelta(microseconds=len(found))
    moment = _EARLIEST
    for place, (_, each) in enumerate(found):
        bound = latest + timedelta(microseconds=place)
        moment = max(min(each.created_at or bound, bound), moment + timedelta(microseconds=1))
        parts = _parts_of(each)
        read[each.id] = Message(
            id=fresh[each.id],
            agent_id=agent_id,
            role=each.role,
            content=() if each.role == "tool" else parts,
            created_at=moment,
            name=each.name,
            tool_calls=tuple(calls_by[each.id]),
            tool_returns=_returns_of(each, parts, calls),
            approvals=_answers_of(each, calls_by.get(each.approval_request_id or "", []), calls),
            approval_request_id=_known_id(each.approval_request_id, known),
            conversation_id=conversation_id,
            otid=each.otid,
            sender_id=known.get(each.sender_id, each.sender_id) if each.sender_id else None,
            group_id=known.get(each.group_id) if each.group_id else None,
            batch_item_id=each.batch_item_id,
            model=each.model,
        )
    return read


def _known_id(given: str | None, known: Mapping[str, str]) -> MessageId | None:
    return MessageId(known[given]) if given is not None and given in known else None


def _parts_of(each: FileMessage) -> tuple[Part, ...]:
    return tuple(part for part in each.parts if not isinstance(part, CallPart | ReturnedPart))


def _calls_of(each: FileMessage) -> list[ToolCall]:
    default = "approval" if each.role == "approval" else None
    has_gates = any(call.gate for call in each.tool_calls or ())
    calls = [
        ToolCall(
            id=call.id,
            name=call.function.name,
            arguments=call.function.arguments,
            gate=call.gate if has_gates else default,
            signature=call.signature,
        )
        for call in each.tool_calls or ()
    ]
    within = [part for part in each.parts if isinstance(part, CallPart)]
    known = {call.id for call in calls}
    return calls + [
        ToolCall(
            id=part.id,
            name=part.name,
            arguments=json.readable(part.input),
            gate=default,
            signature=part.signature,
        )
        for part in within
        if part.id not in known
    ]


def _returns_of(
    each: FileMessage, parts: tuple[Part, ...], calls: Mapping[str, ToolCall]
) -> tuple[ToolReturn, ...]:
    given = [_return(one, each, calls) for one in each.tool_returns or ()]
    known = {one.tool_call_id for one in given}
    for part in each.parts:
        if isinstance(part, ReturnedPart) and part.tool_call_id not in known:
            status = "error" if part.is_error else "success"
            one = FileReturn(tool_call_id=part.tool_call_id, status=status, func_response=part.content)
            given.append(_return(one, each, calls))
    if not given and each.role == "tool":
        # The oldest form: the text of the message is what came back.
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        status = "error" if _has_failed(text) else "success"
        given.append(_return(FileReturn(status=status, func_response=text), each, calls))
    return tuple(given)


def _return(one: FileReturn, each: FileMessage, calls: Mapping[str, ToolCall]) -> ToolReturn:
    call_id = one.tool_call_id or each.tool_call_id or ""
    call = calls.get(call_id)
    content = one.func_response if one.func_response is not None else one.tool_return
    return ToolReturn(
        tool_call_id=call_id,
        name=one.name if one.name is not None else (call.name if call else each.name or ""),
        status=one.status,
        content=tuple(content) if isinstance(content, list) else content or "",
        stdout=None if one.stdout is None else tuple(one.stdout),
        stderr=None if one.stderr is None else tuple(one.stderr),
    )


def _answers_of(
    each: FileMessage, asked: list[ToolCall], calls: Mapping[str, ToolCall]
) -> tuple[Approval | ToolReturn, ...]:
    if each.role != "approval" or each.tool_calls:
        return ()
    if each.approvals:
        return tuple(
            Approval(tool_call_id=one.tool_call_id, approve=one.approve, reason=one.reason)
            if isinstance(one, FileApproval)
            else _return(one, each, calls)
            for one in each.approvals
        )
    if each.approve is None:
        return ()
    return tuple(
        Approval(tool_call_id=call.id, approve=each.approve, reason=each.denial_reason)
        for call in gated(asked)
    )


def _has_failed(text: str) -> bool:
    try:
        return as_object(json.decode(text)).get("status") == "Failed"
    except ValueError:
        return False
