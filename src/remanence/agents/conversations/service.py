"""Rules of conversations: how they begin, branch off and end."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.beginnings import system_message
from remanence.agents.compiling import blocks_in, compile_text
from remanence.agents.conversations import repository
from remanence.agents.conversations.schemas import ConversationCreate, ConversationUpdate
from remanence.agents.model_settings import apply_model_settings
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.block import Block
from remanence.core.conversation import Conversation
from remanence.core.message import Message
from remanence.errors import BadArgument, NotFound
from remanence.files import repository as files
from remanence.kit.clock import utc_now
from remanence.kit.ids import ConversationId, new_block_id, new_id
from remanence.memory import repository as blocks
from remanence.messages import repository as messages


def create_conversation(
    connection: Connection, actor: Actor, agent_id: str, body: ConversationCreate
) -> Conversation:
    """Raises NotFound, Invalid, and BadArgument for a label that the agent has no block of."""
    agent = agents.get_agent(connection, actor, agent_id)
    if body.model_settings is not None:
        apply_model_settings(agent.llm_config, body.model_settings)
    conversation = _new(actor, agent)
    copies = _copy_blocks(connection, actor, conversation, body.isolated_block_labels or ())
    conversation = conversation.model_copy(
        update={
            **body.model_dump(exclude={"isolated_block_labels"}),
            "isolated_block_ids": tuple(copy.id for copy in copies),
        }
    )
    repository.insert_conversation(connection, conversation)
    _begin(connection, actor, agent, conversation, ())
    return conversation


def update_conversation(
    connection: Connection, actor: Actor, conversation_id: str, body: ConversationUpdate
) -> Conversation:
    """Raises NotFound and Invalid."""
    if body.model_settings is not None:
        conversation = repository.get_conversation(connection, actor, conversation_id)
        agent = agents.get_agent(connection, actor, conversation.agent_id)
        apply_model_settings(agent.llm_config, body.model_settings)
    return repository.update_conversation(connection, actor, conversation_id, body.changes())


def fork(
    connection: Connection,
    actor: Actor,
    agent_id: str,
    source: Conversation | None,
    *,
    up_to: str | None,
    is_hidden: bool,
) -> Conversation:
    """A new conversation with the messages of another, or of the agent's own history, up to one of them.

    Model and settings come along; summary and blocks of its own do not. Calls without their returns are
    left out. Raises NotFound.
    """
    agent = agents.get_agent(connection, actor, agent_id)
    lane = source.id if source else agent.id
    kept: list[Message] | None
    if up_to is None:
        kept, _ = messages.load_window(connection, lane)
    else:
        kept = messages.window_until(connection, actor, agent.id, source.id if source else None, up_to)
    if kept is None:
        raise NotFound(f"Message {up_to} is not in the history of {lane}.")
    rest = kept[1:] if kept and kept[0].role == "system" else kept
    shared = list({message.id: message for message in rest}.values())
    conversation = _new(actor, agent).model_copy(
        update={
            "model": source.model if source else None,
            "model_settings": source.model_settings if source else None,
            "context_window_limit": source.context_window_limit if source else None,
            "hidden": True if is_hidden else None,
        }
    )
    repository.insert_conversation(connection, conversation)
    repository.share_messages(connection, conversation.id, [message.id for message in shared])
    _begin(connection, actor, agent, conversation, shared)
    return conversation


def delete_conversation(connection: Connection, actor: Actor, conversation_id: str) -> None:
    """Raises NotFound."""
    conversation = repository.get_conversation(connection, actor, conversation_id)
    for copy in blocks.list_conversation_blocks(connection, actor, conversation.id):
        blocks.delete_block(connection, actor, copy.id)
    repository.delete_conversation(connection, conversation.id)


def _new(actor: Actor, agent: Agent) -> Conversation:
    now = utc_now()
    return Conversation(
        id=ConversationId(new_id("conv")),
        organization_id=actor.organization_id,
        agent_id=agent.id,
        created_at=now,
        updated_at=now,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )


def _begin(
    connection: Connection,
    actor: Actor,
    agent: Agent,
    conversation: Conversation,
    shared: Sequence[Message],
) -> None:
    """Its own system message, before all that it shares."""
    held = blocks_in(connection, actor, agent.id, conversation)
    earlier = messages.count_messages(connection, agent.id)
    text = compile_text(
        agent,
        held,
        files.load_shelf(connection, actor, agent.id),
        at=conversation.created_at,
        earlier=earlier,
        conversation_id=conversation.id,
    )
    at = shared[0].created_at - timedelta(microseconds=1) if shared else conversation.created_at
    head = system_message(agent, text, at, conversation.id)
    messages.insert_messages(connection, agent.organization_id, [head])
    ids = [head.id, *(message.id for message in shared)]
    messages.append_context(connection, conversation.id, 0, ids)


def _copy_blocks(
    connection: Connection, actor: Actor, conversation: Conversation, labels: Sequence[str]
) -> list[Block]:
    agent_id = conversation.agent_id
    held = {block.label: block for block in blocks.list_agent_blocks(connection, actor, agent_id)}
    unknown = [label for label in labels if label not in held]
    if unknown:
        raise BadArgument(f"Agent {agent_id} has no block labelled {', '.join(unknown)}.")
    mark = {"conversation_id": conversation.id, "created_at": utc_now()}
    copies = [
        held[label].model_copy(update={"id": new_block_id(), "copied_from": held[label].id, **mark})
        for label in dict.fromkeys(labels)
    ]
    return blocks.insert_blocks(connection, copies)
