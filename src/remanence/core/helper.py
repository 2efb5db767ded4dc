"""Agents that tend another one's memory while it is idle: which kinds there are, and when they are due."""

from remanence.core.agent import Agent, AgentType
from remanence.core.frozen import Frozen
from remanence.core.group import Group, ManagerType
from remanence.core.tool import ExitLoop, RunFirst, ToolRule
from remanence.kit.json import JsonObject

CAPTURE_MARK = "memory_capture"
"""In an agent's metadata: facts are to be taken down for it, since its model cannot edit memory itself."""


_TALKING: frozenset[AgentType] = frozenset(
    {
        "letta_v1_agent",
        "memgpt_agent",
        "memgpt_v2_agent",
        "react_agent",
        "workflow_agent",
        "split_thread_agent",
    }
)


class HelperKind(Frozen):
    """What goes with an agent that wants to be helped."""

    manager_type: ManagerType = "sleeptime"
    agent_type: AgentType = "sleeptime_agent"
    helps: frozenset[AgentType] = _TALKING
    name_ending: str
    run_type: str
    frequency: int | None = None
    """A visit every so many turns; None where it depends on the buffer."""
    buffer: tuple[int, int] | None = None
    """A visit when more messages than the second number have gathered; so many as the first are left alone."""
    visit: str
    """The prompt around a transcript."""
    system: str | None = None
    """The prompt of the helper, where it is not that of its type."""
    persona: str | None = None
    tools: tuple[str, ...] | None = None
    """Where they are not those of its type."""
    rules: tuple[ToolRule, ...] | None = None
    numbers_lines: bool = False
    """The lines of its transcripts have numbers, by which it says what to keep."""
    forgets: bool = False
    """Each visit begins with an empty window."""
    is_hidden: bool = False

    def suits(self, agent: Agent) -> bool:
        return agent.agent_type in self.helps

    def group_settings(self) -> JsonObject:
        """How often a new group of this kind comes."""
        if self.buffer is None:
            return {"sleeptime_agent_frequency": self.frequency, "turns_counter": -1}
        least, most = self.buffer
        return {"min_message_buffer_length": least, "max_message_buffer_length": most}


SLEEPTIME = HelperKind(
    name_ending="-sleeptime",
    run_type="sleeptime_agent_send_message_async",
    frequency=5,
    visit="sleeptime_visit.md",
    persona="memory_persona.md",
)

VOICE = HelperKind(
    manager_type="voice_sleeptime",
    agent_type="voice_sleeptime_agent",
    helps=frozenset({"voice_convo_agent"}),
    name_ending="-sleeptime",
    run_type="voice_sleeptime_agent_send_message_async",
    buffer=(15, 30),
    visit="voice_visit.md",
    numbers_lines=True,
    forgets=True,
)

CAPTURE = HelperKind(
    name_ending="-capture",
    run_type="memory_capture",
    frequency=1,
    visit="capture_visit.md",
    system="capture.md",
    tools=("memory_capture",),
    # One call, which must be made and must fit its schema: that much every model can do.
    rules=(RunFirst(tool_name="memory_capture"), ExitLoop(tool_name="memory_capture")),
    forgets=True,
    is_hidden=True,
)


def helper_of(agent: Agent) -> HelperKind | None:
    """The kind of helper that this agent wants; helpers themselves have none."""
    if agent.enable_sleeptime:
        return next((kind for kind in (SLEEPTIME, VOICE) if kind.suits(agent)), None)
    wants_capture = CAPTURE.suits(agent) and (agent.metadata or {}).get(CAPTURE_MARK) is True
    return CAPTURE if wants_capture else None


def kind_of(group: Group) -> HelperKind | None:
    """What kind of helpers a group is of; None if it is about something else."""
    if group.manager_type == "sleeptime" and group.hidden:
        return CAPTURE
    return kind_of_manager(group.manager_type)


def kind_of_manager(manager_type: ManagerType) -> HelperKind | None:
    return next((kind for kind in (SLEEPTIME, VOICE) if kind.manager_type == manager_type), None)


def next_turn(counter: int | None, frequency: int | None) -> tuple[int, bool]:
    """The counter after one more turn, and whether the helpers are due."""
    every = max(frequency or 1, 1)
    after = ((-1 if counter is None else counter) + 1) % every
    return after, after == every - 1


def due_of_buffer(count: int, kind: HelperKind, group: Group) -> int:
    """How many of the messages that have gathered the helpers get, from the oldest on."""
    if kind.buffer is None:
        return count
    least = kind.buffer[0] if group.min_message_buffer_length is None else group.min_message_buffer_length
    most = group.max_message_buffer_length or kind.buffer[1]
    return count - min(least, most - 1) if count > most else 0
