"""Taking back a request that waits for an answer, so that it never stands in the way."""

from datetime import timedelta

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.approval import CANCELLED, gated
from remanence.core.message import Approval, Message, ToolReturn
from remanence.core.packing import pack_tool_return
from remanence.kit.clock import later_than
from remanence.kit.ids import new_message_id
from remanence.messages import repository as messages


def withdraw_request(connection: Connection, actor: Actor, lane: str) -> Message | None:
    """Answers the open request of this history, if there is one, with a denial of every call."""
    request = messages.find_pending_approval(connection, lane)
    if request is None:
        return None
    agent = agents.get_agent(connection, actor, request.agent_id)
    at = later_than(messages.last_message_at(connection, request.agent_id))
    packed = pack_tool_return(CANCELLED, status="error", at=at, timezone=agent.timezone)
    shared = {
        "agent_id": request.agent_id,
        "conversation_id": request.conversation_id,
        "run_id": request.run_id,
    }
    denied = Message.model_validate(
        {
            "id": new_message_id(),
            "role": "approval",
            "created_at": at,
            "approvals": tuple(
                Approval(tool_call_id=call.id, approve=False, reason=CANCELLED)
                for call in gated(request.tool_calls)
            ),
            **shared,
        }
    )
    returned = Message.model_validate(
        {
            "id": new_message_id(),
            "role": "tool",
            "created_at": at + timedelta(microseconds=1),
            "step_id": request.step_id,
            "tool_returns": tuple(
                ToolReturn(tool_call_id=call.id, name=call.name, status="error", content=packed)
                for call in request.tool_calls
            ),
            **shared,
        }
    )
    messages.insert_messages(connection, agent.organization_id, [denied, returned])
    position = messages.next_position(connection, lane)
    messages.append_context(connection, lane, position, [denied.id, returned.id])
    agents.bump_window(connection, lane)
    return request
