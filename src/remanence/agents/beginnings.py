"""The first messages of a history."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from remanence.core.agent import Agent
from remanence.core.message import Message, ReasoningPart, ToolCall, ToolReturn, text_parts
from remanence.core.packing import pack_alert, pack_login, pack_tool_return, pack_user_message
from remanence.core.profile import Profile, greeting
from remanence.kit import json
from remanence.kit.ids import ConversationId, new_id, new_message_id
from remanence.messages.sending import MessageCreate
from remanence.tools.executor import SENT, SPEAKING_TOOL


def first_messages(
    agent: Agent, profile: Profile, system: str, given: Sequence[MessageCreate] | None
) -> tuple[Message, ...]:
    """The system message, then what the client gave, or else what agents of this kind begin with."""
    head = system_message(agent, system, agent.created_at)
    moment = agent.created_at
    rest: list[Message] = []
    if given is None and profile.first_messages == "login":
        thought, words = greeting()
        rest += _spoken(agent, words, moment, thought=thought)
        login = pack_login(at=moment, timezone=agent.timezone)
        rest.append(_message(agent, "user", login, moment))
    for each in given or ():
        text = "".join(part.text for part in each.parts() if part.type == "text")
        if each.role == "assistant" and profile.reply == "heartbeat":
            rest += _spoken(agent, text, moment)
        elif each.role == "assistant":
            rest.append(_message(agent, "assistant", text, moment).model_copy(update={"otid": each.otid}))
        else:
            packed = (
                pack_user_message(text, at=moment, timezone=agent.timezone, name=each.name)
                if each.role == "user"
                else pack_alert(text, at=moment, timezone=agent.timezone)
            )
            message = _message(agent, each.role, packed, moment)
            rest.append(
                message.model_copy(update={"name": each.name, "otid": each.otid, "sender_id": each.sender_id})
            )
    return tuple(
        message.model_copy(update={"created_at": moment + timedelta(microseconds=offset)})
        for offset, message in enumerate((head, *rest))
    )


def system_message(
    agent: Agent, text: str, at: datetime, conversation_id: ConversationId | None = None
) -> Message:
    message = _message(agent, "system", text, at)
    return message.model_copy(update={"conversation_id": conversation_id}) if conversation_id else message


def _message(agent: Agent, role: str, text: str, at: datetime) -> Message:
    return Message.model_validate(
        {
            "id": new_message_id(),
            "agent_id": agent.id,
            "role": role,
            "content": text_parts(text),
            "created_at": at,
            "model": agent.llm_config.model if role in ("system", "assistant") else None,
        }
    )


def _spoken(agent: Agent, text: str, at: datetime, thought: str | None = None) -> list[Message]:
    """Words that an agent of the heartbeat kind said: a call of the speaking tool and its return."""
    call = ToolCall(id=new_id("call"), name=SPEAKING_TOOL, arguments=json.readable({"message": text}))
    packed = pack_tool_return(SENT, status="success", at=at, timezone=agent.timezone)
    said = Message(
        id=new_message_id(),
        agent_id=agent.id,
        role="assistant",
        content=(ReasoningPart(is_native=False, reasoning=thought),) if thought else (),
        tool_calls=(call,),
        created_at=at,
        model=agent.llm_config.model,
    )
    returned = Message(
        id=new_message_id(),
        agent_id=agent.id,
        role="tool",
        tool_returns=(
            ToolReturn(tool_call_id=call.id, name=SPEAKING_TOOL, status="success", content=packed),
        ),
        created_at=at,
    )
    return [said, returned]
