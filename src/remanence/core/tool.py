"""Tools and the nine rules that govern their order."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Discriminator, Field

from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId, ToolId, UserId
from remanence.kit.json import JsonObject

ToolType = Literal[
    "custom",
    "letta_core",
    "letta_memory_core",
    "letta_multi_agent_core",
    "letta_sleeptime_core",
    "letta_voice_sleeptime_core",
    "letta_builtin",
    "letta_files_core",
    "external_langchain",
    "external_composio",
    "external_mcp",
]

DEFAULT_RETURN_CHARS = 50_000
IDEMPOTENT_TAG = "idempotent"
_MEMORY_EDITORS: frozenset[ToolType] = frozenset({"letta_memory_core", "letta_sleeptime_core"})
_INSIDE = _MEMORY_EDITORS | {"letta_core", "letta_voice_sleeptime_core", "letta_files_core"}
_READERS = frozenset({"web_search", "fetch_webpage"})


class Requirement(Frozen):
    """A package a tool needs, from PyPI or npm."""

    name: str
    version: str | None = None


class Tool(Frozen):
    id: ToolId
    organization_id: OrgId
    name: str
    tool_type: ToolType = "custom"
    description: str | None = None
    source_type: str | None = "python"
    source_code: str | None = None
    json_schema: JsonObject
    args_json_schema: JsonObject | None = None
    tags: tuple[str, ...] = ()
    return_char_limit: int = DEFAULT_RETURN_CHARS
    pip_requirements: tuple[Requirement, ...] | None = None
    npm_requirements: tuple[Requirement, ...] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool = False
    metadata: JsonObject = Field(default_factory=dict)
    project_id: str | None = None
    created_at: datetime | None = None
    created_by_id: UserId | None = None
    last_updated_by_id: UserId | None = None

    @property
    def has_outside_effects(self) -> bool:
        """Whether a call may change something out there, so that it must never be made twice unawares.

        People say of their own tools that twice is as good as once by tagging them `idempotent`.
        """
        return self.tool_type not in _INSIDE and self.name not in _READERS and IDEMPOTENT_TAG not in self.tags

    @property
    def edits_memory(self) -> bool:
        return self.tool_type in _MEMORY_EDITORS


class _Rule(Frozen):
    tool_name: str
    prompt_template: str | None = None
    """Accepted from older clients and ignored."""


class RunFirst(_Rule):
    type: Literal["run_first"] = "run_first"
    args: JsonObject | None = None


class ExitLoop(_Rule):
    type: Literal["exit_loop"] = "exit_loop"


class ContinueLoop(_Rule):
    type: Literal["continue_loop"] = "continue_loop"


class ToolCallNode(Frozen):
    name: str
    args: JsonObject | None = None


class ChildTools(_Rule):
    type: Literal["constrain_child_tools"] = "constrain_child_tools"
    children: tuple[str, ...]
    child_arg_nodes: tuple[ToolCallNode, ...] | None = None


class ParentTool(_Rule):
    type: Literal["parent_last_tool"] = "parent_last_tool"
    children: tuple[str, ...]


class Conditional(_Rule):
    type: Literal["conditional"] = "conditional"
    default_child: str | None = None
    child_output_mapping: dict[str, str]
    require_output_mapping: bool = False


class MaxCountPerStep(_Rule):
    type: Literal["max_count_per_step"] = "max_count_per_step"
    max_count_limit: int


class RequiredBeforeExit(_Rule):
    type: Literal["required_before_exit"] = "required_before_exit"


class RequiresApproval(_Rule):
    type: Literal["requires_approval"] = "requires_approval"


ToolRule = Annotated[
    RunFirst
    | ExitLoop
    | ContinueLoop
    | ChildTools
    | ParentTool
    | Conditional
    | MaxCountPerStep
    | RequiredBeforeExit
    | RequiresApproval,
    Discriminator("type"),
]
