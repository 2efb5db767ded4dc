"""What a tool call may know of its agent, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.block import Block, MemoryEdit
from remanence.core.message import ReturnPart
from remanence.core.open_files import AgentFile
from remanence.kit.ids import ConversationId


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may know of the agent that makes it."""

    actor: Actor
    agent: Agent
    blocks: tuple[Block, ...]
    conversation_id: ConversationId | None
    seen: tuple[Block, ...] | None = None
    """The blocks as the model knew them, if others may have written to them since."""
    senders: tuple[str, ...] = ()
    """The agents whose messages, one after the other, led to this call."""
    group_id: str | None = None
    """The group in whose conversation the agent speaks."""
    files: tuple[AgentFile, ...] = ()
    """In the folders of the agent."""
    told: str = ""
    """What the agent was told in this run, for the tools that are about it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    succeeded: bool
    edits: Sequence[MemoryEdit] = ()
    unmerged: Sequence[MemoryEdit] = ()
    """The edits as the model meant them, where they had to be joined with somebody else's."""
    stdout: tuple[str, ...] | None = None
    stderr: tuple[str, ...] | None = None
    parts: tuple[ReturnPart, ...] | None = None
    """Given instead of the text where there are images in it."""
    value: object = None
    """What was returned, where that is more than a text."""
