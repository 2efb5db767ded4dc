"""How messages look on the REST wire: typed messages, and the stored form.

One stored message yields one or more typed messages that share its id. Whoever changes a shape
here changes it for lists, answers and streams alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never
from uuid import uuid4

from remanence.core.approval import gated
from remanence.core.event import CompactionStarted
from remanence.core.message import (
    Approval,
    ImagePart,
    Message,
    OmittedReasoningPart,
    Part,
    ReasoningPart,
    RedactedReasoningPart,
    SummarizedReasoningPart,
    TextPart,
    ToolCall,
    ToolReturn,
)
from remanence.core.packing import unpack_summary, unpack_tool_return, unpack_user_message
from remanence.core.profile import ReplyStyle
from remanence.kit import json
from remanence.kit.ids import derive_otid, id_after

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """How a client wants to see an agent's messages."""

    reply: ReplyStyle = "native"
    use_assistant_message: bool = True
    speaking_tool: str = "send_message"
    speaking_argument: str = "message"
    shows_compaction: bool = False
    """A summary is shown as one; otherwise as the notice that the model gets."""
    sender_id: str | None = None
    """Where several agents speak: the one that says this."""
    sender_name: str | None = None
    names_senders: bool = False
    """Lists of several agents' messages say who said each."""

    @property
    def shows_speech(self) -> bool:
        """Whether a call of the speaking tool is shown as the words it says."""
        return self.reply == "heartbeat" and self.use_assistant_message


def wire_date(moment: datetime) -> str:
    return moment.replace(microsecond=0).isoformat()


def typed_messages(message: Message, view: View) -> list[Body]:
    bodies = _typed(message, view)
    if view.sender_id is not None and message.role in ("assistant", "tool", "approval"):
        for body in bodies:
            body["sender_id"] = view.sender_id
            body["name"] = body["name"] or view.sender_name
    return bodies


def _typed(message: Message, view: View) -> list[Body]:
    match message.role:
        case "system":
            return [_body(message, "system_message", message.otid) | {"content": message.text}]
        case "summary" if view.shows_compaction:
            return [_summary(message)]
        case "user" | "summary":
            return [_body(message, "user_message", message.otid) | {"content": _user_content(message)}]
        case "assistant":
            return _assistant(message, view)
        case "tool":
            return _tool(message, view)
        case "approval":
            return _approval(message)
        case _:
            assert_never(message.role)


def typed_list(messages: Iterable[Message], view: View) -> list[Body]:
    return [typed for message in messages for typed in typed_messages(message, view)]


def keep_types(bodies: list[Body], wanted: Sequence[str] | None) -> list[Body]:
    return bodies if wanted is None else [body for body in bodies if body["message_type"] in wanted]


def _body(message: Message, kind: str, otid: str | None, name: str | None = None) -> Body:
    return {
        "id": message.id,
        "date": wire_date(message.created_at),
        "name": name if name is not None else message.name,
        "message_type": kind,
        "otid": otid,
        "sender_id": message.sender_id,
        "step_id": message.step_id,
        "is_err": True if message.is_err else None,
        "seq_id": None,
        "run_id": message.run_id,
    }


def _summary(message: Message) -> Body:
    summary, stats = unpack_summary(message.text)
    body = _body(message, "summary_message", derive_otid(message.id, 0))
    return body | {"summary": summary, "compaction_stats": stats}


def compaction_body(event: CompactionStarted) -> Body:
    """The start of a compaction, which is told but not stored."""
    return {
        "id": str(uuid4()),
        "date": wire_date(event.at),
        "name": None,
        "message_type": "event_message",
        "otid": None,
        "sender_id": None,
        "step_id": event.step_id,
        "is_err": None,
        "seq_id": None,
        "run_id": event.run_id,
        "event_type": "compaction",
        "event_data": {
            "trigger": event.trigger,
            "context_token_estimate": event.context_tokens,
            "context_window": event.context_window,
        },
    }


def _user_content(message: Message) -> str | list[Body]:
    if any(isinstance(part, ImagePart) for part in message.content):
        return [part_body(part) for part in message.content]
    return unpack_user_message(message.text)


def _assistant(message: Message, view: View) -> list[Body]:
    bodies = _content(message)
    calls: list[Body] = []
    for call in message.tool_calls:
        words = _speech_of(call, view)
        if words is None:
            calls.append(call_body(call))
        else:
            bodies.append(_derived(message, "assistant_message", len(bodies)) | {"content": words})
    if calls:
        body = _derived(message, "tool_call_message", len(bodies))
        bodies.append(body | {"tool_call": calls[0], "tool_calls": calls})
    return bodies


def _content(message: Message) -> list[Body]:
    bodies: list[Body] = []
    for part in message.content:
        kind, fields = _typed_part(part)
        previous = bodies[-1] if bodies else None
        if previous is not None and previous["message_type"] == kind == "assistant_message":
            previous["content"] += fields["content"]
        elif (
            previous is not None
            and previous["message_type"] == kind == "reasoning_message"
            and previous["source"] == fields["source"]
            and previous["signature"] is None
        ):
            previous["reasoning"] += fields["reasoning"]
            previous["signature"] = fields["signature"]
        else:
            bodies.append(_derived(message, kind, len(bodies)) | fields)
    return bodies


def _typed_part(part: Part) -> tuple[str, Body]:
    match part:
        case TextPart(text=text):
            return "assistant_message", {"content": text}
        case ReasoningPart():
            source = "reasoner_model" if part.is_native else "non_reasoner_model"
            fields = {"source": source, "reasoning": part.reasoning, "signature": part.signature}
            return "reasoning_message", fields
        case RedactedReasoningPart(data=data):
            return "hidden_reasoning_message", {"state": "redacted", "hidden_reasoning": data}
        case SummarizedReasoningPart(text=text) if text:
            return "reasoning_message", {"source": "reasoner_model", "reasoning": text, "signature": None}
        case OmittedReasoningPart() | SummarizedReasoningPart():
            return "hidden_reasoning_message", {"state": "omitted", "hidden_reasoning": None}
        case ImagePart():
            return "assistant_message", {"content": ""}
        case _:
            assert_never(part)


def _derived(message: Message, kind: str, index: int) -> Body:
    # What a client put into the agent's mouth keeps the id that it came with.
    otid = message.otid if message.otid and index == 0 else derive_otid(message.id, index)
    return _body(message, kind, otid)


def _tool(message: Message, view: View) -> list[Body]:
    returns = [
        each
        for each in message.tool_returns
        # Speech that went well speaks for itself.
        if not (view.shows_speech and each.name == view.speaking_tool and each.status == "success")
    ]
    if not returns:
        return []
    bodies = [return_body(each) for each in returns]
    first = {key: bodies[0][key] for key in ("tool_return", "status", "tool_call_id", "stdout", "stderr")}
    body = _body(message, "tool_return_message", derive_otid(message.id, 0), name=returns[0].name)
    return [body | first | {"tool_returns": bodies}]


def _approval(message: Message) -> list[Body]:
    if message.tool_calls:
        content = _content(message)
        return [*content, *_free_calls(message, len(content)), _request(message)]
    answers = [_answer_body(answer) for answer in message.approvals]
    first = next((answer for answer in message.approvals if isinstance(answer, Approval)), None)
    return [
        _body(message, "approval_response_message", message.otid)
        | {
            "approvals": answers,
            "approve": first.approve if first else None,
            "approval_request_id": first.tool_call_id if first else None,
            "reason": first.reason if first else None,
        }
    ]


def _request(message: Message) -> Body:
    calls = [call_body(call) for call in gated(message.tool_calls)]
    body = _body(message, "approval_request_message", message.id)
    return body | {"tool_call": calls[0], "tool_calls": calls}


def _free_calls(message: Message, index: int) -> list[Body]:
    """Calls of the same step that need no answer: shown as a message of their own beside the request."""
    calls = [call_body(call) for call in message.tool_calls if call.gate is None]
    if not calls:
        return []
    id = id_after(message.id)
    body = _body(message, "tool_call_message", derive_otid(id, index)) | {"id": id}
    return [body | {"tool_call": calls[0], "tool_calls": calls}]


def is_answer(message: Message) -> bool:
    """Answers to requests are stored and listed, but no part of a reply."""
    return message.role == "approval" and not message.tool_calls


def _answer_body(answer: Approval | ToolReturn) -> Body:
    if isinstance(answer, ToolReturn):
        return return_body(answer)
    return {
        "type": "approval",
        "tool_call_id": answer.tool_call_id,
        "approve": answer.approve,
        "reason": answer.reason,
    }


def call_body(call: ToolCall) -> Body:
    return {"name": call.name, "arguments": call.arguments, "tool_call_id": call.id}


def return_body(each: ToolReturn) -> Body:
    content = each.content
    return {
        "type": "tool",
        "tool_return": unpack_tool_return(content)
        if isinstance(content, str)
        else [part_body(p) for p in content],
        "status": each.status,
        "tool_call_id": each.tool_call_id,
        "stdout": None if each.stdout is None else list(each.stdout),
        "stderr": None if each.stderr is None else list(each.stderr),
    }


def part_body(part: Part) -> Body:
    return part.model_dump(mode="json")


def _speech_of(call: ToolCall, view: View) -> str | None:
    """The words a call says; None if it is to be shown as a call, or says nothing that can be read."""
    if not (view.shows_speech and call.name == view.speaking_tool):
        return None
    try:
        return str(json.decode(call.arguments)[view.speaking_argument])
    except (ValueError, KeyError, TypeError):
        return None


def stored_body(message: Message, user_id: str | None = None) -> Body:
    """The stored form, as the context overview shows it."""
    first_return = message.tool_returns[0] if message.tool_returns else None
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    return {
        "created_by_id": user_id,
        "last_updated_by_id": user_id,
        "created_at": message.created_at,
        "updated_at": None,
        "id": message.id,
        "agent_id": message.agent_id,
        "model": message.model,
        "role": message.role,
        "content": _stored_content(message),
        "name": message.name,
        "tool_calls": calls or None,
        "tool_call_id": first_return.tool_call_id if first_return else None,
        "step_id": message.step_id,
        "run_id": message.run_id,
        "otid": message.otid,
        "tool_returns": [_stored_return(each) for each in message.tool_returns],
        "group_id": message.group_id,
        "sender_id": message.sender_id,
        "batch_item_id": message.batch_item_id,
        "conversation_id": message.conversation_id,
        "is_err": True if message.is_err else None,
        "approval_request_id": message.approval_request_id,
        "approve": next((a.approve for a in message.approvals if isinstance(a, Approval)), None),
        "denial_reason": next((a.reason for a in message.approvals if isinstance(a, Approval)), None),
        "approvals": [_answer_body(answer) for answer in message.approvals],
    }


def _stored_content(message: Message) -> list[Body]:
    if message.role == "tool":  # the first return is mirrored, as older readers look for it here
        packed = message.tool_returns[0].content if message.tool_returns else ""
        return [{"type": "text", "text": packed, "signature": None}] if isinstance(packed, str) else []
    return [part_body(part) for part in message.content]


def _stored_return(each: ToolReturn) -> Body:
    content = each.content
    return {
        "tool_call_id": each.tool_call_id,
        "status": each.status,
        "stdout": None if each.stdout is None else list(each.stdout),
        "stderr": None if each.stderr is None else list(each.stderr),
        "func_response": content if isinstance(content, str) else [part_body(part) for part in content],
    }
