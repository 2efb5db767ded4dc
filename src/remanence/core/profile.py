"""The kinds of agent, as data. Code asks a profile what it wants to know, never `if agent_type == …`."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from remanence.core.agent import Agent, AgentType, CompactionMode
from remanence.core.prompts import read_text
from remanence.core.tool import ContinueLoop, ExitLoop, ToolRule
from remanence.errors import BadArgument

ReplyStyle = Literal["native", "heartbeat"]
"""`native`: text is the answer, and the loop goes on while tools are called.
`heartbeat`: every reply is a tool call, `send_message` speaks, `request_heartbeat` goes on."""

FirstMessages = Literal["system_only", "login"]
"""What a new agent's history holds: the system message alone, or a greeting and a login notice after it."""

_HELPED = ("send_message", "conversation_search", "archival_memory_search")
"""An agent with a background helper leaves memory edits to it and only looks things up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    agent_type: AgentType
    prompt: str | None
    """The file in `core/prompts` with the default system prompt; none means that one must be given."""
    reply: ReplyStyle
    default_tools: tuple[str, ...] = ()
    default_tools_with_sleeptime: tuple[str, ...] = _HELPED
    has_base_rules: bool = True
    """Whether base tools bring their rules along when nobody asks one way or the other."""
    first_messages: FirstMessages = "login"
    has_memory_section: bool = True
    line_numbered_memory: bool = False
    forces_autoclear: bool = False
    inner_thoughts_in_arguments: bool = True
    needs_sleeptime: bool = False
    archives_for_manager: bool = False
    """What it keeps goes into the archive of the agent that it helps."""
    ignores_model_in_base_rules: bool = False
    """Keeps its base rules even with models that are known to do well without."""


_PROFILES = {
    profile.agent_type: profile
    for profile in (
        Profile(
            agent_type="letta_v1_agent",
            prompt="letta_v1_agent.md",
            reply="native",
            default_tools=("conversation_search", "memory_insert", "memory_replace"),
            has_base_rules=False,
            first_messages="system_only",
            line_numbered_memory=True,
            inner_thoughts_in_arguments=False,
        ),
        Profile(
            agent_type="memgpt_agent",
            prompt="memgpt_agent.md",
            reply="heartbeat",
            default_tools=(
                "send_message",
                "conversation_search",
                "core_memory_append",
                "core_memory_replace",
                "memory",
                "memory_apply_patch",
            ),
        ),
        Profile(
            agent_type="memgpt_v2_agent",
            prompt="memgpt_v2_agent.md",
            reply="heartbeat",
            default_tools=("send_message", "conversation_search", "memory_insert", "memory_replace"),
            line_numbered_memory=True,
        ),
        Profile(
            agent_type="react_agent", prompt="react_agent.md", reply="heartbeat", has_memory_section=False
        ),
        Profile(
            agent_type="workflow_agent",
            prompt="workflow_agent.md",
            reply="heartbeat",
            has_memory_section=False,
            forces_autoclear=True,
        ),
        Profile(agent_type="split_thread_agent", prompt=None, reply="heartbeat"),
        Profile(
            agent_type="sleeptime_agent",
            prompt="sleeptime_agent.md",
            reply="native",
            default_tools=("memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"),
            default_tools_with_sleeptime=(
                "memory_replace",
                "memory_insert",
                "memory_rethink",
                "memory_finish_edits",
            ),
            first_messages="system_only",
            line_numbered_memory=True,
            ignores_model_in_base_rules=True,
        ),
        Profile(
            agent_type="voice_convo_agent",
            prompt="voice_convo_agent.md",
            reply="heartbeat",
            default_tools=("send_message", "search_memory"),
            default_tools_with_sleeptime=("send_message", "search_memory"),
            needs_sleeptime=True,
        ),
        Profile(
            agent_type="voice_sleeptime_agent",
            prompt="voice_sleeptime_agent.md",
            reply="heartbeat",
            default_tools=("store_memories", "rethink_user_memory", "finish_rethinking_memory"),
            default_tools_with_sleeptime=(
                "store_memories",
                "rethink_user_memory",
                "finish_rethinking_memory",
            ),
            first_messages="system_only",
            archives_for_manager=True,
            ignores_model_in_base_rules=True,
        ),
    )
}


def profile_of(agent_type: AgentType) -> Profile:
    return _PROFILES[agent_type]


FILE_TOOLS = ("open_files", "grep_files", "semantic_search_files")
"""They come with an agent's first folder, and go with its last."""

MULTI_AGENT_TOOLS = (
    "send_message_to_agent_and_wait_for_reply",
    "send_message_to_agents_matching_tags",
    "send_message_to_agent_async",
)


def default_tools(profile: Profile, *, has_sleeptime: bool) -> tuple[str, ...]:
    return profile.default_tools_with_sleeptime if has_sleeptime else profile.default_tools


def default_system(profile: Profile) -> str:
    """The profile's own system prompt. Raises BadArgument for a kind that has none."""
    if profile.prompt is None:
        raise BadArgument(f"{profile.agent_type} has no default system prompt: give one as `system`")
    return read_text(profile.prompt)


def compaction_prompt(mode: CompactionMode) -> str:
    """What the summarising model is told when the agent's settings say nothing else."""
    return read_text(f"compaction_{mode}.md")


def greeting() -> tuple[str, str]:
    """The thought and the words with which the history of a `login` profile begins."""
    texts = tomllib.loads(read_text("greeting.toml"))
    return str(texts["thinking"]), str(texts["message"])


DEFAULT_BLOCK_DESCRIPTIONS: Mapping[str, str] = tomllib.loads(read_text("blocks.toml"))
"""By label, for blocks created without a description."""

_EXIT_TOOLS = frozenset(
    {"send_message", "send_message_to_agent_async", "memory_finish_edits", "finish_rethinking_memory"}
)
_CONTINUE_TOOLS = frozenset(
    {
        "conversation_search",
        "archival_memory_insert",
        "archival_memory_search",
        "core_memory_append",
        "core_memory_replace",
        "memory",
        "memory_apply_patch",
        "memory_replace",
        "memory_insert",
        "memory_rethink",
        *FILE_TOOLS,
        "search_memory",
        "store_memories",
        "rethink_user_memory",
    }
)

_SELF_STEERING = ("claude-4-sonnet", "claude-3-5-sonnet", "gpt-5", "gemini-2.5-pro")
"""Models that end a turn well without being ruled; their `-mini` kin do not."""


def base_rules_for(tool_names: Iterable[str]) -> tuple[ToolRule, ...]:
    """The rules that the built-in tools among these bring along, in their order."""
    rules: list[ToolRule] = []
    for name in tool_names:
        if name in _EXIT_TOOLS:
            rules.append(ExitLoop(tool_name=name))
        elif name in _CONTINUE_TOOLS:
            rules.append(ContinueLoop(tool_name=name))
    return tuple(rules)


def wants_base_rules(
    profile: Profile,
    *,
    asked: bool | None,
    model: str,
    has_base_tools: bool,
    has_own_rules: bool,
    has_sleeptime: bool,
) -> bool:
    """Whether a new agent gets the base rules; `asked` is `include_base_tool_rules` of the request."""
    if asked is not None:
        return asked
    is_plain = has_base_tools and not has_own_rules and not has_sleeptime
    if is_plain and not profile.has_base_rules:
        return False
    if profile.ignores_model_in_base_rules:
        return True
    is_self_steering = any(part in model for part in _SELF_STEERING) and "-mini" not in model
    return not is_self_steering


class FileLimits(NamedTuple):
    max_files_open: int
    per_file_view_window_char_limit: int


def file_limits(context_window: int | None) -> FileLimits:
    """How much of its files an agent may have open, by the size of its model's window."""
    if not context_window:
        return FileLimits(5, 50_000)
    for largest, limits in (
        (8_000, FileLimits(3, 5_000)),
        (32_000, FileLimits(5, 15_000)),
        (128_000, FileLimits(10, 25_000)),
        (200_000, FileLimits(10, 40_000)),
    ):
        if context_window <= largest:
            return limits
    return FileLimits(15, 40_000)


def limits_of(agent: Agent) -> FileLimits:
    """The agent's own; where it has none, those that fit its model."""
    default = file_limits(agent.llm_config.context_window)
    own = (agent.max_files_open, agent.per_file_view_window_char_limit)
    return FileLimits(*(usual if given is None else given for given, usual in zip(own, default, strict=True)))


def wants_line_numbers(profile: Profile, model_endpoint_type: str) -> bool:
    """Numbered lines help models that were trained to edit by them, and confuse the others."""
    return profile.line_numbered_memory and model_endpoint_type == "anthropic"
