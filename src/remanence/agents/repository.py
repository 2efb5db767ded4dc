"""SQL for agents and what hangs on them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from remanence.agents.groups.repository import managed_groups
from remanence.agents.queries import AgentQuery, Include
from remanence.core.actor import Actor
from remanence.core.agent import Agent, Relations, Secret
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import (
    AgentRow,
    AgentSecretRow,
    AgentTagRow,
    ArchivePassageRow,
    ArchivesAgentsRow,
    BlockRow,
    BlocksAgentsRow,
    IdentitiesAgentsRow,
    IdentityRow,
    LeaseRow,
    ScheduleRow,
    SourcesAgentsRow,
    ToolsAgentsRow,
)
from remanence.errors import NotFound
from remanence.files.repository import folders_of_agents
from remanence.identities.repository import list_identities_of_agents
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, OrgId, ToolId, new_id
from remanence.kit.vault import Vault
from remanence.memory import repository as blocks
from remanence.search.ports import SearchIndex
from remanence.tools import repository as tools

_COLUMNS = [column for column in AgentRow.__table__.columns if column.name != "is_deleted"]
_NAMES = [column.name for column in _COLUMNS]
_FIELDS = set(Agent.model_fields) - {"metadata"}

# Built once: to build a statement costs several times as much as to run it.
_ONE_AGENT = select(*_COLUMNS).where(
    AgentRow.organization_id == bindparam("organization"),
    AgentRow.is_deleted.is_(False),
    AgentRow.id == bindparam("agent"),
)
_TAGS = (
    select(AgentTagRow.agent_id, AgentTagRow.tag)
    .where(AgentTagRow.agent_id.in_(bindparam("agents", expanding=True)))
    .order_by(AgentTagRow.position)
)
_SECRETS = (
    select(
        AgentSecretRow.id,
        AgentSecretRow.agent_id,
        AgentSecretRow.key,
        AgentSecretRow.value_enc,
        AgentSecretRow.description,
    )
    .where(AgentSecretRow.agent_id.in_(bindparam("agents", expanding=True)))
    .order_by(AgentSecretRow.created_at, AgentSecretRow.key)
)


def insert_agent(connection: Connection, agent: Agent) -> None:
    values = {name: getattr(agent, name) for name in _FIELDS}
    # Given beside the statement and not in it: SQLAlchemy then need not look at each of them.
    connection.execute(insert(AgentRow), values | {"metadata_": agent.metadata})
    connection.execute(insert(LeaseRow), {"lane": agent.id, "agent_id": agent.id})


def link_tools(connection: Connection, agent_id: AgentId, tool_ids: Sequence[ToolId]) -> None:
    if tool_ids:
        rows = [{"agent_id": agent_id, "tool_id": tool_id} for tool_id in tool_ids]
        connection.execute(insert(ToolsAgentsRow), rows)


def replace_tools(connection: Connection, agent_id: AgentId, tool_ids: Sequence[ToolId]) -> None:
    connection.execute(delete(ToolsAgentsRow).where(ToolsAgentsRow.agent_id == agent_id))
    link_tools(connection, agent_id, tool_ids)


def set_tags(connection: Connection, agent_id: AgentId, tags: Sequence[str]) -> None:
    connection.execute(delete(AgentTagRow).where(AgentTagRow.agent_id == agent_id))
    rows = [
        {"agent_id": agent_id, "tag": tag, "position": position}
        for position, tag in enumerate(dict.fromkeys(tags))
    ]
    if rows:
        connection.execute(insert(AgentTagRow), rows)


def set_secrets(connection: Connection, agent: Agent, secrets: Mapping[str, str], vault: Vault) -> None:
    """Replaces them all. A key that stays keeps its id."""
    known = {
        row.key: row.id
        for row in connection.execute(
            select(AgentSecretRow.key, AgentSecretRow.id).where(AgentSecretRow.agent_id == agent.id)
        )
    }
    connection.execute(delete(AgentSecretRow).where(AgentSecretRow.agent_id == agent.id))
    rows = [
        {
            "id": known.get(key) or new_id("agent-env"),
            "organization_id": agent.organization_id,
            "agent_id": agent.id,
            "key": key,
            "value_enc": vault.encrypt(value),
        }
        for key, value in secrets.items()
    ]
    if rows:
        connection.execute(insert(AgentSecretRow), rows)


def set_identities(
    connection: Connection, actor: Actor, agent_id: AgentId, identity_ids: Sequence[str]
) -> None:
    _check_all_exist(connection, actor, IdentityRow, "identity", identity_ids)
    connection.execute(delete(IdentitiesAgentsRow).where(IdentitiesAgentsRow.agent_id == agent_id))
    if identity_ids:
        rows = [{"agent_id": agent_id, "identity_id": each} for each in dict.fromkeys(identity_ids)]
        connection.execute(insert(IdentitiesAgentsRow), rows)


def update_agent(connection: Connection, agent_id: AgentId, changes: Mapping[str, Any]) -> None:
    """Applies core field values and lets every cache know."""
    values = {("metadata_" if name == "metadata" else name): value for name, value in changes.items()}
    connection.execute(
        update(AgentRow)
        .where(AgentRow.id == agent_id)
        .values(**values, state_version=AgentRow.state_version + 1)
    )


def bump_version(connection: Connection, agent_id: AgentId) -> None:
    connection.execute(
        update(AgentRow).where(AgentRow.id == agent_id).values(state_version=AgentRow.state_version + 1)
    )


def bump_window(connection: Connection, lane: str, *, is_compiled: bool = False) -> None:
    """`is_compiled`: the system message shows the memory as it is now."""
    values: dict[str, Any] = {"window_version": LeaseRow.window_version + 1}
    told: dict[str, Any] = {"told": None} if is_compiled else {}
    connection.execute(update(LeaseRow).where(LeaseRow.lane == lane).values(values | told))


def soft_delete_agent(connection: Connection, actor: Actor, agent_id: str) -> None:
    """Invisible from now on; the rows stay, save what would still happen to it. Raises NotFound."""
    result = connection.execute(
        update(AgentRow)
        .where(*_mine(actor), AgentRow.id == agent_id)
        .values(is_deleted=True, updated_at=utc_now(), state_version=AgentRow.state_version + 1)
    )
    if result.rowcount == 0:
        raise _no_agent(agent_id)
    connection.execute(delete(ScheduleRow).where(ScheduleRow.agent_id == agent_id))


def hard_delete_agent(connection: Connection, actor: Actor, agent_id: str, index: SearchIndex) -> None:
    """Gone with all that was its own: messages, runs, links, secrets. Raises NotFound."""
    mine = (AgentRow.organization_id == actor.organization_id, AgentRow.id == agent_id)
    if connection.scalar(select(AgentRow.id).where(*mine)) is None:
        raise _no_agent(agent_id)
    index.forget(connection, agent_id)  # while the texts are still there
    connection.execute(delete(AgentRow).where(*mine))


def get_agent(connection: Connection, actor: Actor, agent_id: str) -> Agent:
    """Raises NotFound, also for an agent of another organisation."""
    return get_versioned(connection, actor.organization_id, agent_id)[0]


def find_agents(connection: Connection, actor: Actor, agent_ids: Sequence[str]) -> list[Agent]:
    """Those of these that are there, in no order."""
    if not agent_ids:
        return []
    rows = connection.execute(select(*_COLUMNS).where(*_mine(actor), AgentRow.id.in_(agent_ids)))
    return [agent_from(row) for row in rows]


def lock_agent(connection: Connection, actor: Actor, agent_id: str) -> Agent:
    """The agent, which nobody else changes before the commit. Raises NotFound."""
    connection.execute(select(AgentRow.id).where(*_mine(actor), AgentRow.id == agent_id).with_for_update())
    return get_agent(connection, actor, agent_id)


def get_versioned(connection: Connection, organization_id: OrgId, agent_id: str) -> tuple[Agent, int]:
    """The agent and the version of its state. Raises NotFound."""
    row = connection.execute(_ONE_AGENT, {"organization": organization_id, "agent": agent_id}).first()
    if row is None:
        raise _no_agent(agent_id)
    return agent_from(row), row.state_version


def list_agents(connection: Connection, actor: Actor, query: AgentQuery, page: Page) -> list[Agent]:
    statement = _filtered(select(*_COLUMNS), actor, query)
    key = {
        "updated_at": AgentRow.updated_at,
        "last_run_completion": AgentRow.last_run_completion,
    }.get(page.order_by, AgentRow.created_at)
    rows = fetch_page(
        connection,
        statement,
        page,
        key=key,
        id_column=AgentRow.id,
        scope=[AgentRow.organization_id == actor.organization_id],
        nulls_last=page.order_by == "last_run_completion",
    )
    return [agent_from(row) for row in rows]


def count_agents(connection: Connection, actor: Actor, query: AgentQuery) -> int:
    return connection.scalar(_filtered(select(func.count(AgentRow.id)), actor, query)) or 0


def load_relations(
    connection: Connection, actor: Actor, agents: Sequence[Agent], include: frozenset[Include], vault: Vault
) -> dict[AgentId, Relations]:
    """What was asked for, of all these agents, with one query for each kind."""
    ids = [agent.id for agent in agents]
    found_blocks = blocks.list_blocks_of_agents(connection, actor, ids) if "agent.blocks" in include else {}
    found_tools = tools.list_tools_of_agents(connection, actor, ids) if "agent.tools" in include else {}
    found_folders = folders_of_agents(connection, actor, ids) if "agent.sources" in include else {}
    found_tags = _tags_of(connection, ids) if "agent.tags" in include else {}
    found_secrets = _secrets_of(connection, ids, vault) if "agent.secrets" in include else {}
    belong = list_identities_of_agents(connection, actor, ids) if "agent.identities" in include else {}
    found_groups = managed_groups(connection, actor, ids) if "agent.managed_group" in include else {}
    return {
        id: Relations(
            blocks=tuple(found_blocks.get(id, ())),
            tools=tuple(found_tools.get(id, ())),
            tags=tuple(found_tags.get(id, ())),
            folders=found_folders.get(id, ()),
            secrets=tuple(found_secrets.get(id, ())),
            identities=tuple(belong.get(id, ())),
            managed_group=found_groups.get(id),
        )
        for id in ids
    }


def agent_from(row: Row[Any]) -> Agent:
    # By place: SQLAlchemy takes longer to find a column by its name than the database to read it.
    stored = dict(zip(_NAMES, row, strict=False))
    fields: dict[str, Any] = {name: stored[name] for name in _FIELDS}
    fields |= {
        "metadata": stored["metadata_"],
        "tool_rules": fields["tool_rules"] or (),
        "timezone": fields["timezone"] or "UTC",
        "name": fields["name"] or "",
        "system": fields["system"] or "",
    }
    # The columns have validated their own JSON; the rest is plain values of our own making.
    return Agent.model_construct(**fields)


def _mine(actor: Actor) -> tuple[ColumnElement[bool], ...]:
    return (AgentRow.organization_id == actor.organization_id, AgentRow.is_deleted.is_(False))


def _filtered(statement: Select[Any], actor: Actor, query: AgentQuery) -> Select[Any]:
    conditions: list[ColumnElement[bool]] = [*_mine(actor)]
    if not query.include_hidden:
        conditions.append(AgentRow.hidden.is_not(True))
    for column, value in (
        (AgentRow.name, query.name),
        (AgentRow.project_id, query.project_id),
        (AgentRow.template_id, query.template_id),
        (AgentRow.base_template_id, query.base_template_id),
        (AgentRow.last_stop_reason, query.last_stop_reason),
        (AgentRow.created_by_id, query.created_by_id),
    ):
        if value is not None:
            conditions.append(column == value)
    if query.query_text:
        conditions.append(func.lower(AgentRow.name).contains(query.query_text.lower(), autoescape=True))
    if query.tags:
        conditions.append(_tagged(query.tags, match_all=query.match_all_tags))
    if query.tool_id is not None:
        conditions.append(
            exists().where(ToolsAgentsRow.agent_id == AgentRow.id, ToolsAgentsRow.tool_id == query.tool_id)
        )
    if query.source_id is not None:
        conditions.append(
            exists().where(
                SourcesAgentsRow.agent_id == AgentRow.id, SourcesAgentsRow.source_id == query.source_id
            )
        )
    if query.archive_id is not None:
        conditions.append(
            exists().where(
                ArchivesAgentsRow.agent_id == AgentRow.id, ArchivesAgentsRow.archive_id == query.archive_id
            )
        )
    if query.block_id is not None:
        conditions.append(
            exists().where(
                BlocksAgentsRow.agent_id == AgentRow.id, BlocksAgentsRow.block_id == query.block_id
            )
        )
    if query.identity_id is not None or query.identifier_keys:
        conditions.append(_of_identity(query))
    return statement.where(*conditions)


def _tagged(tags: Sequence[str], *, match_all: bool) -> ColumnElement[bool]:
    def has(tag: str) -> ColumnElement[bool]:
        return exists().where(AgentTagRow.agent_id == AgentRow.id, AgentTagRow.tag == tag)

    return and_(*map(has, tags)) if match_all else or_(*map(has, tags))


def _of_identity(query: AgentQuery) -> ColumnElement[bool]:
    matches = [
        IdentitiesAgentsRow.agent_id == AgentRow.id,
        IdentitiesAgentsRow.identity_id == IdentityRow.id,
        IdentityRow.is_deleted.is_(False),
    ]
    if query.identity_id is not None:
        matches.append(IdentityRow.id == query.identity_id)
    if query.identifier_keys:
        matches.append(IdentityRow.identifier_key.in_(query.identifier_keys))
    return exists().where(*matches)


def _tags_of(connection: Connection, ids: Sequence[AgentId]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in connection.execute(_TAGS, {"agents": ids}):
        found.setdefault(row.agent_id, []).append(row.tag)
    return found


def secret_values(connection: Connection, agent_id: AgentId, vault: Vault) -> list[str]:
    return [secret.value for secret in _secrets_of(connection, [agent_id], vault).get(agent_id, ())]


def _secrets_of(connection: Connection, ids: Sequence[AgentId], vault: Vault) -> dict[str, list[Secret]]:
    found: dict[str, list[Secret]] = {}
    for row in connection.execute(_SECRETS, {"agents": ids}):
        secret = Secret(
            id=row.id, key=row.key, value=vault.decrypt(row.value_enc), description=row.description
        )
        found.setdefault(row.agent_id, []).append(secret)
    return found


def _check_all_exist(
    connection: Connection,
    actor: Actor,
    table: type[IdentityRow],
    noun: str,
    ids: Sequence[str],
) -> None:
    if not ids:
        return
    known = set(
        connection.scalars(
            select(table.id).where(
                table.organization_id == actor.organization_id, table.is_deleted.is_(False), table.id.in_(ids)
            )
        )
    )
    for id in ids:
        if id not in known:
            raise NotFound(f"There is no {noun} {id}.")


def list_holders(connection: Connection, actor: Actor, block_id: str, page: Page) -> list[Agent]:
    """The agents that hold a block. Raises NotFound for an unknown block."""
    known = connection.scalar(
        select(BlockRow.id).where(
            BlockRow.organization_id == actor.organization_id,
            BlockRow.is_deleted.is_(False),
            BlockRow.id == block_id,
        )
    )
    if known is None:
        raise NotFound(f"There is no block {block_id}.")
    return list_agents(connection, actor, AgentQuery(block_id=block_id, include_hidden=True), page)


def count_passages(connection: Connection, agent_id: AgentId) -> int:
    """How many passages the archives of this agent hold."""
    statement = (
        select(func.count(ArchivePassageRow.id))
        .join(ArchivesAgentsRow, ArchivesAgentsRow.archive_id == ArchivePassageRow.archive_id)
        .where(ArchivesAgentsRow.agent_id == agent_id, ArchivePassageRow.is_deleted.is_(False))
    )
    return connection.scalar(statement) or 0


def _no_agent(agent_id: str) -> NotFound:
    return NotFound(f"There is no agent {agent_id}.")
