"""Agents that tend another one's memory while it is idle: which kinds there are, and when they are due."""

from remanence.core.agent import Agent, AgentType
from remanence.core.frozen import Frozen
from remanence.core.group import Group, ManagerType
from remanence.core.tool import ExitLoop, RunFirst, ToolRule

CAPTURE_MARK = "memory_capture"
"""In an agent's metadata: facts are to be taken down for it, since its model cannot edit memory itself."""


class HelperKind(Frozen):
    """What goes with an agent that wants to be helped."""

    manager_type: ManagerType = "sleeptime"
    agent_type: AgentType = "sleeptime_agent"
    name_ending: str
    run_type: str
    frequency: int
    visit: str
    """The prompt around a transcript."""
    system: str | None = None
    """The prompt of the helper, where it is not that of its type."""
    persona: str | None = None
    tools: tuple[str, ...] | None = None
    """Where they are not those of its type."""
    rules: tuple[ToolRule, ...] | None = None
    forgets: bool = False
    """Each visit begins with an empty window."""
    is_hidden: bool = False


SLEEPTIME = HelperKind(
    name_ending="-sleeptime",
    run_type="sleeptime_agent_send_message_async",
    frequency=5,
    visit="sleeptime_visit.md",
    persona="memory_persona.md",
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

_HELPED: frozenset[AgentType] = frozenset(
    {
        "letta_v1_agent",
        "memgpt_agent",
        "memgpt_v2_agent",
        "react_agent",
        "workflow_agent",
        "split_thread_agent",
    }
)


def helper_of(agent: Agent) -> HelperKind | None:
    """The kind of helper that this agent wants; helpers themselves have none."""
    if agent.agent_type not in _HELPED:
        return None
    if agent.enable_sleeptime:
        return SLEEPTIME
    return CAPTURE if (agent.metadata or {}).get(CAPTURE_MARK) is True else None


def kind_of(group: Group) -> HelperKind | None:
    """What kind of helpers a group is of; None if it is about something else."""
    if group.manager_type != "sleeptime":
        return None
    return CAPTURE if group.hidden else SLEEPTIME


def next_turn(counter: int | None, frequency: int | None) -> tuple[int, bool]:
    """The counter after one more turn, and whether the helpers are due."""
    every = max(frequency or 1, 1)
    after = ((-1 if counter is None else counter) + 1) % every
    return after, after == every - 1
