"""Agents whose tools wait for somebody, and the answers that people and clients give them."""

from typing import Any

from tests.support.script import Line, calls, says
from tests.support.talks import Talk, messages_path
from tests.support.wire import Frame, read_frames

from remanence.kit.json import JsonObject

INSERT = calls("memory_insert", label="human", new_string="Likes figs.")
REPLACE = calls("memory_replace", label="human", old_string="Eve", new_string="Ada")
DONE = says("Done.")

SENSOR: JsonObject = {
    "name": "read_sensor",
    "description": "Reads a sensor.",
    "parameters": {
        "type": "object",
        "properties": {"room": {"type": "string", "description": "Which room"}},
        "required": ["room"],
    },
}
"""A tool that only the client has."""
READ = calls("read_sensor", room="attic")


def gate(tool: str) -> JsonObject:
    return {"type": "requires_approval", "tool_name": tool}


def gated_agent(talk: Talk, *tools: str, **options: Any) -> JsonObject:
    """An agent that may not call these, `memory_insert` if none are named, without being allowed to."""
    rules = [gate(tool) for tool in tools or ("memory_insert",)]
    given: JsonObject = {
        "tool_rules": rules,
        "include_base_tool_rules": False,
        "parallel_tool_calls": True,
        **options,
    }
    return talk.agent(given.pop("agent_type", "letta_v1_agent"), **given)


def yes(call_id: str) -> JsonObject:
    return {"type": "approval", "tool_call_id": call_id, "approve": True}


def no(call_id: str, reason: str | None = None) -> JsonObject:
    return {"type": "approval", "tool_call_id": call_id, "approve": False, "reason": reason}


def result(call_id: str, value: Any, status: str = "success", **more: Any) -> JsonObject:
    return {"type": "tool", "tool_call_id": call_id, "tool_return": value, "status": status, **more}


def approval(*items: JsonObject) -> JsonObject:
    return {"type": "approval", "approvals": list(items)}


def tool_return(*items: JsonObject) -> JsonObject:
    return {"type": "tool_return", "tool_returns": list(items)}


def reply(talk: Talk, agent: JsonObject, item: JsonObject, *lines: Line, **options: Any) -> JsonObject:
    """Answers what the agent asked; these lines are what its model says to that."""
    talk.model.script(*lines)
    return talk.ask("POST", messages_path(agent), json={"messages": [item], **options})


def stream_reply(
    talk: Talk, agent: JsonObject, item: JsonObject, *lines: Line, **options: Any
) -> list[Frame]:
    talk.model.script(*lines)
    response = talk.http.post(f"{messages_path(agent)}/stream", json={"messages": [item], **options})
    assert response.status_code == 200, response.text
    return read_frames(response.content)


def asked(answer: JsonObject) -> list[str]:
    """The ids of the calls that the agent waits with."""
    request = answer["messages"][-1]
    assert request["message_type"] == "approval_request_message", request
    return [call["tool_call_id"] for call in request["tool_calls"]]


def pending(talk: Talk, agent: JsonObject) -> JsonObject | None:
    return talk.get(f"/v1/agents/{agent['id']}", include="agent.pending_approval")["pending_approval"]


def cancel(talk: Talk, agent: JsonObject, *run_ids: str) -> JsonObject:
    body = {"run_ids": list(run_ids)} if run_ids else {}
    return talk.ask("POST", f"{messages_path(agent)}/cancel", json=body)
