"""SQL for tools: the records, who holds them, and the built-in ones of each organisation.

What belongs to another organisation, or is deleted, is not there.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.tool import Requirement, Tool
from remanence.db.dialect import checked, insert_missing
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, ToolRow, ToolsAgentsRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, OrgId, new_tool_id
from remanence.memory.repository import touch_agent
from remanence.tools.builtin.catalogue import BuiltinTool, builtin_tools
from remanence.tools.schemas import BUILTIN_TYPES, ToolFilter

_PLAIN_FIELDS = (
    "id",
    "organization_id",
    "name",
    "tool_type",
    "description",
    "source_type",
    "source_code",
    "json_schema",
    "args_json_schema",
    "return_char_limit",
    "default_requires_approval",
    "enable_parallel_execution",
    "project_id",
    "created_at",
    "created_by_id",
    "last_updated_by_id",
)
"""Fields that are called the same, and kept the same way, in the core type and in the table."""

_TOOL: tuple[Any, ...] = (
    ToolRow.tags,
    ToolRow.pip_requirements,
    ToolRow.npm_requirements,
    ToolRow.metadata_,
    *(getattr(ToolRow, name) for name in _PLAIN_FIELDS),
)

# Built once: to build a statement costs several times as much as to run it.
_SEEN = (checked(ToolRow.organization_id) == bindparam("organization"), ToolRow.is_deleted.is_(False))
_BY_ID = select(*_TOOL).where(ToolRow.id.in_(bindparam("ids", expanding=True)), *_SEEN)
_BY_NAME = select(*_TOOL).where(ToolRow.name.in_(bindparam("names", expanding=True)), *_SEEN)
_HELD = (
    select(*_TOOL)
    .join(ToolsAgentsRow, ToolsAgentsRow.tool_id == ToolRow.id)
    .where(ToolsAgentsRow.agent_id == bindparam("agent"), ToolRow.name == bindparam("name"), *_SEEN)
)
_LINKS = select(ToolsAgentsRow.agent_id, ToolsAgentsRow.tool_id).where(
    ToolsAgentsRow.agent_id.in_(bindparam("agents", expanding=True))
)


# Records


def insert_tool(connection: Connection, tool: Tool) -> Tool:
    """Raises AlreadyExists if the organisation has a tool of this name."""
    # A deleted tool keeps its row, but not its name.
    connection.execute(
        delete(ToolRow).where(
            ToolRow.organization_id == tool.organization_id,
            ToolRow.name == tool.name,
            ToolRow.is_deleted.is_(True),
        )
    )
    stored = tool.model_copy(update={"created_at": tool.created_at or utc_now()})
    try:
        connection.execute(insert(ToolRow).values(**_values(stored)))
    except IntegrityError:
        raise AlreadyExists(
            f"There is a tool named {tool.name!r} already; update that one, or choose another name."
        ) from None
    return stored


def get_tool(connection: Connection, actor: Actor, tool_id: str) -> Tool:
    """Raises NotFound."""
    row = connection.execute(select(*_TOOL).where(ToolRow.id == tool_id, *_live(actor))).first()
    if row is None:
        raise _unknown(tool_id)
    return _tool(row)


def find_by_name(connection: Connection, actor: Actor, name: str) -> Tool | None:
    row = connection.execute(select(*_TOOL).where(ToolRow.name == name, *_live(actor))).first()
    return _tool(row) if row else None


def find_by_names(connection: Connection, actor: Actor, names: Collection[str]) -> list[Tool]:
    """The tools of these names that exist, in the order given."""
    if not names:
        return []
    rows = connection.execute(_BY_NAME, {"organization": actor.organization_id, "names": list(names)})
    found = {row.name: _tool(row) for row in rows}
    return [found[name] for name in dict.fromkeys(names) if name in found]


def find_by_ids(connection: Connection, actor: Actor, tool_ids: Collection[str]) -> list[Tool]:
    """The tools of these ids that exist, in the order given."""
    if not tool_ids:
        return []
    values = {"organization": actor.organization_id, "ids": list(tool_ids)}
    rows = connection.execute(_BY_ID, values)
    found = {row.id: _tool(row) for row in rows}
    return [found[tool_id] for tool_id in dict.fromkeys(tool_ids) if tool_id in found]


def list_tools(connection: Connection, actor: Actor, where: ToolFilter, page: Page) -> list[Tool]:
    """Raises NotFound for an unknown cursor."""
    statement = select(*_TOOL).where(*_live(actor), *_conditions(where))
    rows = fetch_page(
        connection,
        statement,
        page,
        key=ToolRow.created_at,
        id_column=ToolRow.id,
        scope=(ToolRow.organization_id == actor.organization_id,),
    )
    return [_tool(row) for row in rows]


def count_tools(connection: Connection, actor: Actor, where: ToolFilter) -> int:
    statement = select(func.count()).select_from(ToolRow).where(*_live(actor), *_conditions(where))
    return connection.execute(statement).scalar_one()


def update_tool(connection: Connection, actor: Actor, tool: Tool) -> Tool:
    """Stores the tool as it now is, under its id. Raises AlreadyExists if another one has its name."""
    taken = select(ToolRow.id).where(ToolRow.name == tool.name, ToolRow.id != tool.id, *_live(actor))
    if connection.execute(taken).first() is not None:
        raise AlreadyExists(f"There is another tool named {tool.name!r}; choose another name.")
    connection.execute(
        delete(ToolRow).where(
            ToolRow.organization_id == actor.organization_id,
            ToolRow.name == tool.name,
            ToolRow.is_deleted.is_(True),
        )
    )
    stored = tool.model_copy(update={"last_updated_by_id": actor.user_id})
    connection.execute(update(ToolRow).where(ToolRow.id == tool.id, *_live(actor)).values(**_values(stored)))
    _bump_holders(connection, [tool.id])
    return stored


def list_every_tool(connection: Connection, actor: Actor, where: ToolFilter | None = None) -> list[Tool]:
    conditions = _conditions(where) if where is not None else []
    return [_tool(row) for row in connection.execute(select(*_TOOL).where(*_live(actor), *conditions))]


def delete_tool(connection: Connection, actor: Actor, tool_id: str) -> None:
    """Takes the tool from all its holders and out of sight; the row stays. Raises NotFound."""
    get_tool(connection, actor, tool_id)
    _bump_holders(connection, [tool_id])
    connection.execute(delete(ToolsAgentsRow).where(ToolsAgentsRow.tool_id == tool_id))
    connection.execute(
        update(ToolRow)
        .where(ToolRow.id == tool_id, *_live(actor))
        .values(is_deleted=True, last_updated_by_id=actor.user_id)
    )


def purge_tool(connection: Connection, actor: Actor, tool_id: str) -> None:
    """Removes the row for good, a deleted one too, with all that refers to it. Raises NotFound."""
    mine = (ToolRow.id == tool_id, ToolRow.organization_id == actor.organization_id)
    if connection.execute(select(ToolRow.id).where(*mine)).first() is None:
        raise _unknown(tool_id)
    _bump_holders(connection, [tool_id])
    connection.execute(delete(ToolRow).where(*mine))


# Holders


def find_agent_tool(connection: Connection, actor: Actor, agent_id: str, name: str) -> Tool | None:
    values = {"organization": actor.organization_id, "agent": agent_id, "name": name}
    row = connection.execute(_HELD, values).first()
    return _tool(row) if row else None


def list_agent_tools(connection: Connection, actor: Actor, agent_id: str) -> tuple[Tool, ...]:
    """All tools of one agent, by name: the order in which models see them."""
    return list_tools_of_agents(connection, actor, [AgentId(agent_id)])[AgentId(agent_id)]


def list_tools_of_agents(
    connection: Connection, actor: Actor, agent_ids: Collection[AgentId]
) -> dict[AgentId, tuple[Tool, ...]]:
    """The same for many agents at once; each has an entry. A tool that several hold is one object."""
    held: dict[AgentId, list[Tool]] = {agent_id: [] for agent_id in agent_ids}
    if held:
        links = connection.execute(_LINKS, {"agents": list(held)}).all()
        # Most agents hold the same few tools, and a schema is long: each is read once.
        tools = {tool.id: tool for tool in find_by_ids(connection, actor, {link.tool_id for link in links})}
        for link in links:
            if link.tool_id in tools:
                held[AgentId(link.agent_id)].append(tools[link.tool_id])
    return {agent_id: tuple(sorted(tools, key=lambda tool: tool.name)) for agent_id, tools in held.items()}


def page_agent_tools(connection: Connection, actor: Actor, agent_id: str, page: Page) -> list[Tool]:
    """Raises NotFound for an unknown cursor."""
    statement = (
        select(*_TOOL)
        .join(ToolsAgentsRow, ToolsAgentsRow.tool_id == ToolRow.id)
        .where(ToolsAgentsRow.agent_id == agent_id, *_live(actor))
    )
    rows = fetch_page(
        connection,
        statement,
        page,
        key=ToolRow.created_at,
        id_column=ToolRow.id,
        scope=(ToolRow.organization_id == actor.organization_id,),
    )
    return [_tool(row) for row in rows]


def attach_tool(connection: Connection, actor: Actor, agent_id: str, tool_id: str) -> Tool:
    """Nothing changes if the agent holds it already. Raises NotFound."""
    touch_agent(connection, actor, agent_id)
    tool = get_tool(connection, actor, tool_id)
    insert_missing(connection, ToolsAgentsRow, [{"agent_id": agent_id, "tool_id": tool_id}])
    return tool


def detach_tool(connection: Connection, actor: Actor, agent_id: str, tool_id: str) -> Tool:
    """Nothing changes if the agent does not hold it; the tool stays in any case. Raises NotFound."""
    touch_agent(connection, actor, agent_id)
    tool = get_tool(connection, actor, tool_id)
    connection.execute(
        delete(ToolsAgentsRow).where(ToolsAgentsRow.agent_id == agent_id, ToolsAgentsRow.tool_id == tool_id)
    )
    return tool


# The built-in tools


def ensure_builtins(connection: Connection, organization_id: OrgId) -> None:
    """Brings an organisation's built-in tools up to this server's catalogue.

    A tool keeps its id for good. A custom tool of a built-in's name stays what it is. Several processes
    may do this at once.
    """
    catalogue = {tool.name: tool for tool in builtin_tools()}
    rows = connection.execute(
        select(*_TOOL, ToolRow.is_deleted).where(
            ToolRow.organization_id == organization_id, ToolRow.name.in_(list(catalogue))
        )
    ).all()
    is_lost = {row.id for row in rows if row.is_deleted and row.tool_type not in BUILTIN_TYPES}
    if is_lost:  # a custom tool that was deleted leaves its name to the built-in one
        connection.execute(delete(ToolRow).where(ToolRow.id.in_(is_lost)))
    present = {row.name: row for row in rows if row.id not in is_lost}
    _insert_builtins(
        connection, organization_id, [tool for name, tool in catalogue.items() if name not in present]
    )
    changed: list[str] = []
    for name, row in present.items():
        if row.tool_type not in BUILTIN_TYPES:
            continue
        values = {**_builtin_values(catalogue[name]), "is_deleted": False}
        if any(getattr(row, column) != value for column, value in values.items()):
            connection.execute(update(ToolRow).where(ToolRow.id == row.id).values(**values))
            changed.append(row.id)
    if changed:
        _bump_holders(connection, changed)


def restore_builtins(connection: Connection, actor: Actor) -> list[Tool]:
    """The same on demand, and all of them as they then are."""
    ensure_builtins(connection, actor.organization_id)
    return list_tools(connection, actor, ToolFilter(return_only_letta_tools=True), Page(order="asc"))


def _insert_builtins(connection: Connection, organization_id: OrgId, tools: Sequence[BuiltinTool]) -> None:
    now = utc_now()
    rows = [
        {
            **_values(
                Tool(
                    id=new_tool_id(),
                    organization_id=organization_id,
                    name=tool.name,
                    json_schema=tool.json_schema,
                    created_at=now + timedelta(microseconds=position),  # listed as the catalogue has them
                )
            ),
            **_builtin_values(tool),
        }
        for position, tool in enumerate(tools)
    ]
    insert_missing(connection, ToolRow, rows)


def _builtin_values(tool: BuiltinTool) -> dict[str, Any]:
    """What the catalogue decides; all else about a built-in tool is the organisation's to choose."""
    return {
        "tool_type": tool.tool_type,
        "description": tool.description,
        "json_schema": tool.json_schema,
        "tags": [tool.tool_type],
        "enable_parallel_execution": tool.enable_parallel_execution,
    }


# Rows and conditions


def _live(actor: Actor) -> tuple[ColumnElement[bool], ...]:
    return (ToolRow.organization_id == actor.organization_id, ToolRow.is_deleted.is_(False))


def _conditions(where: ToolFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if where.name is not None:
        found.append(ToolRow.name == where.name)
    if where.search:
        found.append(ToolRow.name.icontains(where.search, autoescape=True))
    # An empty list is a list: of no tool at all.
    if where.names is not None:
        found.append(ToolRow.name.in_(where.names))
    if where.tool_ids is not None:
        found.append(ToolRow.id.in_(where.tool_ids))
    if where.tool_types is not None:
        found.append(ToolRow.tool_type.in_(where.tool_types))
    if where.exclude_tool_types:
        found.append(ToolRow.tool_type.not_in(where.exclude_tool_types))
    if where.return_only_letta_tools:
        found.append(ToolRow.tool_type.in_(BUILTIN_TYPES))
    if where.exclude_letta_tools:
        found.append(ToolRow.tool_type.not_in(BUILTIN_TYPES))
    return found


def _bump_holders(connection: Connection, tool_ids: Collection[str]) -> None:
    """What the agents themselves are has not changed, so their `updated_at` stays."""
    holders = select(ToolsAgentsRow.agent_id).where(ToolsAgentsRow.tool_id.in_(list(tool_ids)))
    connection.execute(
        update(AgentRow)
        .where(AgentRow.id.in_(holders))
        .values(state_version=AgentRow.state_version + 1, updated_at=AgentRow.updated_at)
    )


def _tool(row: Any) -> Tool:
    return Tool(
        tags=row.tags,
        pip_requirements=row.pip_requirements,
        npm_requirements=row.npm_requirements,
        metadata=row.metadata_,
        **{name: getattr(row, name) for name in _PLAIN_FIELDS},
    )


def _values(tool: Tool) -> dict[str, Any]:
    return {
        "tags": list(tool.tags),
        "pip_requirements": _packages(tool.pip_requirements),
        "npm_requirements": _packages(tool.npm_requirements),
        "metadata_": tool.metadata,
        **{name: getattr(tool, name) for name in _PLAIN_FIELDS},
    }


def _packages(packages: tuple[Requirement, ...] | None) -> list[dict[str, Any]] | None:
    return None if packages is None else [package.model_dump() for package in packages]


def _unknown(tool_id: str) -> NotFound:
    return NotFound(f"There is no tool {tool_id}.")
