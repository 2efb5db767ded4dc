"""Agents that tend another one's memory while it is idle: which kinds there are, and when they are due."""

from remanence.core.agent import AgentType
from remanence.core.frozen import Frozen
from remanence.core.group import ManagerType

DEFAULT_FREQUENCY = 5


class HelperKind(Frozen):
    """What an agent gets that has `enable_sleeptime`."""

    manager_type: ManagerType
    agent_type: AgentType
    name_ending: str
    persona_label: str
    run_type: str


_SLEEPTIME = HelperKind(
    manager_type="sleeptime",
    agent_type="sleeptime_agent",
    name_ending="-sleeptime",
    persona_label="memory_persona",
    run_type="sleeptime_agent_send_message_async",
)

_HELPERS: dict[AgentType, HelperKind] = dict.fromkeys(
    (
        "letta_v1_agent",
        "memgpt_agent",
        "memgpt_v2_agent",
        "react_agent",
        "workflow_agent",
        "split_thread_agent",
    ),
    _SLEEPTIME,
)


def helper_of(agent_type: AgentType) -> HelperKind | None:
    """The kind of helper for such an agent; None if it has none, as helpers themselves."""
    return _HELPERS.get(agent_type)


def next_turn(counter: int | None, frequency: int | None) -> tuple[int, bool]:
    """The counter after one more turn, and whether the helpers are due."""
    every = max(frequency or 1, 1)
    after = ((-1 if counter is None else counter) + 1) % every
    return after, after == every - 1
