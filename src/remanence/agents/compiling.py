"""The system message of a history: compiled from the agent, its memory and its rules, and kept in place."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from remanence.agents import repository
from remanence.agents.beginnings import system_message
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.block import Block
from remanence.core.conversation import Conversation
from remanence.core.directories import Shelf, render_directories
from remanence.core.profile import limits_of, profile_of, wants_line_numbers
from remanence.core.prompt import PromptMetadata, compile_system, find_compile_time
from remanence.files import repository as files
from remanence.kit.clock import utc_now
from remanence.kit.ids import ConversationId
from remanence.memory import repository as blocks
from remanence.messages import repository as messages


def recompile(
    connection: Connection,
    actor: Actor,
    agent_id: str,
    conversation: Conversation | None = None,
    *,
    keeps_time: bool = False,
) -> str:
    """Gives a history's system message its newly compiled text; the message keeps its id."""
    text = compile_for(connection, actor, agent_id, conversation, keeps_time=keeps_time)
    lane = conversation.id if conversation else agent_id
    ids = messages.context_ids(connection, [lane])[lane]
    found = messages.find_messages(connection, actor, ids[:1])
    if found and found[0].role == "system":
        messages.set_text(connection, found[0].id, text)
    else:  # a history without its head, e.g. after message_ids were set by hand, gets it back
        agent = repository.get_agent(connection, actor, agent_id)
        head = system_message(agent, text, utc_now(), conversation.id if conversation else None)
        messages.insert_messages(connection, agent.organization_id, [head])
        messages.replace_context(connection, lane, [head.id, *ids])
    repository.bump_window(connection, lane, is_compiled=True)
    return text


def compile_for(
    connection: Connection,
    actor: Actor,
    agent_id: str,
    conversation: Conversation | None = None,
    *,
    keeps_time: bool = False,
) -> str:
    agent = repository.get_agent(connection, actor, agent_id)
    held = blocks_in(connection, actor, agent_id, conversation)
    lane = conversation.id if conversation else agent_id
    in_window = messages.context_ids(connection, [lane])[lane]
    earlier = messages.count_messages(connection, agent.id) - len(in_window)
    head = messages.find_messages(connection, actor, in_window[:1]) if keeps_time else []
    return compile_text(
        agent,
        held,
        files.load_shelf(connection, actor, agent.id),
        at=utc_now(),
        earlier=max(0, earlier),
        archived=repository.count_passages(connection, agent.id),
        conversation_id=conversation.id if conversation else None,
        time_text=find_compile_time(head[0].text) if head else None,
    )


def blocks_in(
    connection: Connection, actor: Actor, agent_id: str, conversation: Conversation | None
) -> tuple[Block, ...]:
    """The agent's blocks; in a conversation, its own copies stand in for what they were copied from."""
    held = blocks.list_agent_blocks(connection, actor, agent_id)
    if conversation is None or not conversation.isolated_block_ids:
        return held
    own, hidden = blocks.list_stand_ins(connection, actor, conversation.id)
    copies = {copy.copied_from: copy for copy in own if copy.copied_from is not None}
    labels = {copy.label for copy in own}
    seen = [copies.get(block.id, block) for block in held]
    seen = [
        block
        for block in seen
        if block.conversation_id or (block.id not in hidden and block.label not in labels)
    ]
    return (*seen, *(copy for copy in own if copy not in seen))


def compile_text(
    agent: Agent,
    held: Sequence[Block],
    shelf: Shelf,
    *,
    at: datetime,
    earlier: int,
    archived: int = 0,
    conversation_id: ConversationId | None = None,
    time_text: str | None = None,
) -> str:
    profile = profile_of(agent.agent_type)
    return compile_system(
        system=agent.system,
        profile=profile,
        blocks=held,
        rules=agent.tool_rules,
        directories=render_directories(shelf, limits_of(agent).max_files_open),
        metadata=PromptMetadata(
            agent_id=agent.id,
            conversation_id=conversation_id,
            compiled_at=at,
            timezone=agent.timezone,
            recall_count=earlier,
            archival_count=archived,
            compiled_text=time_text,
        ),
        line_numbers=wants_line_numbers(profile, agent.llm_config.model_endpoint_type),
    )
