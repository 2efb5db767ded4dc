"""Taking back a request that waits for an answer, so that it never stands in the way."""

from collections.abc import Sequence
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
from remanence.runs import repository


class AtWork(Exception):
    """A run is at work on this history: what it makes of the request is to be waited for."""


def withdraw_request(
    connection: Connection, actor: Actor, lane: str, run_ids: Sequence[str] | None, *, by_force: bool
) -> Message | None:
    """Answers the open request of this history, if there is one, with a denial of every call.

    With `run_ids` only a request of one of these runs. Raises AtWork; `by_force` only while a run
    that nobody cancelled is at work.
    """
    is_idle = repository.lock_idle_lane(connection, lane, by_force=by_force)
    request = messages.find_pending_approval(connection, lane)
    if request is None or (run_ids and request.run_id not in run_ids):
        return None
    if not is_idle:
        raise AtWork
    agent = agents.get_agent(connection, actor, request.agent_id)
    at = later_than(messages.last_message_at(connection, request.agent_id))
    packed = pack_tool_return(CANCELLED, status="error", at=at, timezone=agent.timezone)
    shared = {
        "agent_id": request.agent_id,
        # Not the request's own: a fork shares it with the history that it came from.
        "conversation_id": None if lane == request.agent_id else lane,
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
