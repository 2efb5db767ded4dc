"""Tools on the wire."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from remanence.core.frozen import Frozen
from remanence.core.tool import Requirement, Tool, ToolType
from remanence.edge.fields import StoredJson, StoredText

BUILTIN_TYPES: frozenset[ToolType] = frozenset(
    kind for kind in get_args(ToolType) if kind.startswith("letta_")
)
"""The kinds of tool that come with the server."""


def _split(values: Any) -> Any:
    """Clients repeat the key or put several values into one, with commas between."""
    if not isinstance(values, list):
        return values
    parts = [str(value).split(",") for value in values]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [part.strip() for several in parts for part in several if part.strip()]


Names = Annotated[list[StoredText], BeforeValidator(_split)]
Types = Annotated[list[ToolType], BeforeValidator(_split)]


class ToolFilter(Frozen, defer_build=False):
    """Which tools a list or a count is about. All conditions must hold.

    Built at once: FastAPI reads it from the query string, and warns of a model that is built late.
    """

    name: StoredText | None = None
    names: Names | None = None
    tool_ids: Names | None = None
    search: StoredText | None = None
    tool_types: Types | None = None
    exclude_tool_types: Types | None = None
    return_only_letta_tools: bool | None = None
    exclude_letta_tools: bool | None = None


class PackageInput(BaseModel):
    """Never more than a name and a version: an installer takes options and addresses in their place."""

    name: Annotated[str, StringConstraints(pattern=r"^@?[A-Za-z0-9][A-Za-z0-9._/\[\],-]{0,200}$")]
    version: (
        Annotated[str, StringConstraints(pattern=r"^[\^~<>=!]{0,2} ?[A-Za-z0-9][A-Za-z0-9.+!*-]{0,60}$")]
        | None
    ) = None

    def requirement(self) -> Requirement:
        return Requirement(name=self.name, version=self.version)


SourceType = Annotated[str, StringConstraints(max_length=40)]
ReturnLimit = Annotated[int, Field(ge=1, le=1_000_000)]
Source = Annotated[StoredText, StringConstraints(max_length=1_000_000)]


class _ToolFields(BaseModel):
    """What making and changing a tool have in common; what is null or absent stays as it is."""

    description: StoredText | None = None
    tags: list[StoredText] | None = None
    source_type: SourceType | None = None
    json_schema: StoredJson | None = None
    args_json_schema: StoredJson | None = None
    return_char_limit: ReturnLimit | None = None
    pip_requirements: list[PackageInput] | None = None
    npm_requirements: list[PackageInput] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool | None = None


class ToolCreate(_ToolFields):
    source_code: Source


class ToolUpdate(_ToolFields):
    source_code: Source | None = None
    metadata_: StoredJson | None = None


class ToolSearch(BaseModel):
    query: StoredText | None = None
    search_mode: Literal["vector", "fts", "hybrid"] = "hybrid"
    tool_types: list[StoredText] | None = None
    tags: list[StoredText] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class ToolRun(BaseModel):
    """A source to be run once."""

    source_code: Source
    args: StoredJson
    env_vars: (
        dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,254}$")], StoredText] | None
    ) = None
    name: StoredText | None = None
    source_type: SourceType | None = None
    json_schema: StoredJson | None = None
    args_json_schema: StoredJson | None = None
    pip_requirements: list[PackageInput] | None = None
    npm_requirements: list[PackageInput] | None = None


class SourceInput(BaseModel):
    code: Source
    source_type: SourceType | None = "python"


def tool_body(tool: Tool) -> dict[str, Any]:
    return {
        "id": tool.id,
        "tool_type": tool.tool_type,
        "description": tool.description,
        "source_type": tool.source_type,
        "name": tool.name,
        "tags": tool.tags,
        "source_code": tool.source_code,
        "json_schema": tool.json_schema,
        "args_json_schema": tool.args_json_schema,
        "return_char_limit": tool.return_char_limit,
        "pip_requirements": _requirements(tool.pip_requirements),
        "npm_requirements": _requirements(tool.npm_requirements),
        "default_requires_approval": tool.default_requires_approval,
        "enable_parallel_execution": tool.enable_parallel_execution,
        "created_by_id": tool.created_by_id,
        "last_updated_by_id": tool.last_updated_by_id,
        "metadata_": tool.metadata,
        "project_id": tool.project_id,
    }


def _requirements(packages: tuple[Requirement, ...] | None) -> list[dict[str, Any]] | None:
    return None if packages is None else [package.model_dump() for package in packages]
