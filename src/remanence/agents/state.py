"""The snapshot that a run works on, and the copy of it that the last run left behind.

Every write that a run must see bumps a version in the database; a kept snapshot with the same
versions is the truth, and nothing is read or encoded again.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from remanence.agents import repository
from remanence.agents.compiling import blocks_in
from remanence.agents.conversations.repository import find_told, get_conversation
from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState
from remanence.core.block import Block, MemoryChange
from remanence.core.directories import SECTION as DIRECTORIES
from remanence.core.directories import FileChange, Shelf, find_file_changes
from remanence.core.history import repair_history
from remanence.core.llm import InContext
from remanence.core.memory_notes import Told, find_untold
from remanence.core.message import Message, TextPart
from remanence.core.profile import profile_of
from remanence.core.prompt import looks_alike, shows_block, split_system
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.errors import Gone, NotFound
from remanence.files import repository as files
from remanence.kit.ids import AgentId, ConversationId
from remanence.memory import repository as memory
from remanence.messages import repository as messages
from remanence.tools import repository as tools

_MAX_BYTES = 64 * 1024 * 1024
_LOOKS_BACK = 20
"""Revisions of a block, to find the one that the model was shown."""
_STATE_BYTES = 24_000
"""Of an agent, its settings and its blocks; tools are shared by those who hold the same."""
_FILE_BYTES = 1_000
"""Of a file beside what is seen of it."""
_MESSAGE_BYTES = 2_500
"""Of a message beside its texts."""


@dataclass(frozen=True, slots=True)
class Versions:
    agent: int
    window: int


@dataclass(slots=True)
class _Kept:
    state: AgentState
    size: int


class StateStore:
    def __init__(self, db: Database, *, max_bytes: int = _MAX_BYTES) -> None:
        self._db = db
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0
        self._tools: WeakValueDictionary[str, Tool] = WeakValueDictionary()

    async def load(
        self, actor: Actor, agent_id: AgentId, conversation_id: ConversationId | None, versions: Versions
    ) -> AgentState:
        """The state at these versions or later. Raises NotFound."""
        kept = self._kept.get(conversation_id or agent_id)
        if kept is not None:
            state = kept.state
            if state.agent_version == versions.agent and state.window_version == versions.window:
                return state
        state = await self._db.read(load_state, actor, agent_id, conversation_id, versions.window)
        state = replace(state, tools=tuple(map(self._shared, state.tools)))
        self.keep(state)
        return state

    def _shared(self, tool: Tool) -> Tool:
        known = self._tools.get(tool.id)
        if known is not None and known == tool:
            return known
        self._tools[tool.id] = tool
        return tool

    def find_agent(self, actor: Actor, agent_id: str) -> Agent | None:
        """The agent as last seen here. Good for what never changes, such as its kind."""
        kept = self._kept.get(agent_id)
        if kept is None or kept.state.agent.organization_id != actor.organization_id:
            return None
        return kept.state.agent

    def keep(self, state: AgentState) -> None:
        old = self._kept.pop(state.lane, None)
        if old is not None:
            self._bytes -= old.size
        known = len(old.state.window) if old is not None and _continues(old.state, state) else 0
        base = old.size - _shelf_size(old.state) if known and old else _STATE_BYTES
        size = base + _shelf_size(state) + sum(_size(each.message) for each in state.window[known:])
        self._kept[state.lane] = _Kept(state, size)
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.size

    def forget(self, lane: str) -> None:
        kept = self._kept.pop(lane, None)
        if kept is not None:
            self._bytes -= kept.size


def load_state(
    connection: Connection,
    actor: Actor,
    agent_id: AgentId,
    conversation_id: ConversationId | None,
    window_version: int,
) -> AgentState:
    agent, agent_version = repository.get_versioned(connection, actor.organization_id, agent_id)
    conversation = get_conversation(connection, actor, conversation_id) if conversation_id else None
    window, next_position = messages.load_window(connection, conversation_id or agent_id)
    blocks = blocks_in(connection, actor, agent_id, conversation)
    shelf = files.load_shelf(connection, actor, agent_id)
    told = find_told(connection, conversation_id or agent_id)
    head = window[0].text if window and window[0].role == "system" else None
    return AgentState(
        agent=agent,
        blocks=blocks,
        tools=tools.list_agent_tools(connection, actor, agent_id),
        window=tuple(InContext(message) for message in repair_history(window)),
        conversation_id=conversation_id,
        agent_version=agent_version,
        window_version=window_version,
        next_position=next_position,
        last_message_at=messages.last_message_at(connection, agent_id),
        changes=_find_changes(connection, agent, told, blocks, head),
        shelf=shelf,
        file_changes=_find_file_changes(shelf, told, head),
    )


def _find_file_changes(shelf: Shelf, told: Told | None, head: str | None) -> tuple[FileChange, ...]:
    if head is None or not (shelf.folders or told or DIRECTORIES in head):
        return ()
    section = split_system(head).directories if told is None else None
    return find_file_changes(shelf, told, section or "")


def _find_changes(
    connection: Connection, agent: Agent, told: Told | None, blocks: Sequence[Block], head: str | None
) -> tuple[MemoryChange, ...]:
    if head is None or not profile_of(agent.agent_type).has_memory_section:
        return ()
    changes: list[MemoryChange] = []
    for each in find_untold(blocks, told, head):
        before = None
        if each.now is not None and not each.is_new:
            before = _known_form(connection, each.now, each.revision, head)
        if each.now is None or before is None or not looks_alike(before, each.now):
            changes.append(MemoryChange(each.label, each.now, before))
    return tuple(changes)


def _known_form(connection: Connection, block: Block, revision: int | None, head: str) -> Block | None:
    """The block as the model knows it: at this revision, or as its system message shows it."""
    oldest = max(0, block.revision - _LOOKS_BACK)
    for number in [revision] if revision is not None else range(block.revision - 1, oldest - 1, -1):
        try:
            past = memory.past_block(connection, block, False, number).block
        except (Gone, NotFound):
            return None
        if revision is not None or shows_block(head, past):
            return past.model_copy(update={"revision": number})
    return None


def _continues(old: AgentState, new: AgentState) -> bool:
    shared = len(old.window)
    return 0 < shared <= len(new.window) and old.window[-1] is new.window[shared - 1]


def _shelf_size(state: AgentState) -> int:
    return sum(_FILE_BYTES + len(file.view or "") for file in state.shelf.files)


def _size(message: Message) -> int:
    """Twice the texts: the message itself and its encoding for a provider."""
    text = sum(len(part.text) for part in message.content if isinstance(part, TextPart))
    text += sum(len(call.arguments) for call in message.tool_calls)
    text += sum(len(each.content) for each in message.tool_returns)
    return _MESSAGE_BYTES + 2 * text
