"""SQL that tells what belongs to a project or to an agent."""

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, Select, select, union_all

from remanence.core.access import Scope
from remanence.db.tables import (
    AgentRow,
    ArchivePassageRow,
    ArchivesAgentsRow,
    BlockRow,
    BlocksAgentsRow,
    BudgetRow,
    ConversationRow,
    FileRow,
    GroupRow,
    GroupsAgentsRow,
    IdentitiesAgentsRow,
    IdentityRow,
    JobRow,
    MessageRow,
    RunRow,
    ScheduleRow,
    SourcesAgentsRow,
    StepRow,
)
from remanence.kit.ids import OrgId

Agents = Callable[[str], "Select[Any]"]
"""The agents that something belongs to, by its id."""

_AGENTS: dict[str, list[Agents]] = {
    "agent": [lambda id: select(AgentRow.id).where(AgentRow.id == id)],
    "conv": [lambda id: select(ConversationRow.agent_id).where(ConversationRow.id == id)],
    "message": [lambda id: select(MessageRow.agent_id).where(MessageRow.id == id)],
    "run": [lambda id: select(RunRow.agent_id).where(RunRow.id == id)],
    "step": [lambda id: select(StepRow.agent_id).where(StepRow.id == id)],
    "schedule": [lambda id: select(ScheduleRow.agent_id).where(ScheduleRow.id == id)],
    "job": [lambda id: select(JobRow.agent_id).where(JobRow.id == id)],
    "budget": [lambda id: select(BudgetRow.agent_id).where(BudgetRow.id == id)],
    "block": [lambda id: select(BlocksAgentsRow.agent_id).where(BlocksAgentsRow.block_id == id)],
    "archive": [lambda id: select(ArchivesAgentsRow.agent_id).where(ArchivesAgentsRow.archive_id == id)],
    "passage": [
        lambda id: (
            select(ArchivesAgentsRow.agent_id)
            .join(ArchivePassageRow, ArchivePassageRow.archive_id == ArchivesAgentsRow.archive_id)
            .where(ArchivePassageRow.id == id)
        )
    ],
    "source": [lambda id: select(SourcesAgentsRow.agent_id).where(SourcesAgentsRow.source_id == id)],
    "file": [
        lambda id: (
            select(SourcesAgentsRow.agent_id)
            .join(FileRow, FileRow.source_id == SourcesAgentsRow.source_id)
            .where(FileRow.id == id)
        )
    ],
    "group": [
        lambda id: select(GroupRow.manager_agent_id).where(GroupRow.id == id),
        lambda id: select(GroupsAgentsRow.agent_id).where(GroupsAgentsRow.group_id == id),
    ],
    "identity": [
        lambda id: select(IdentitiesAgentsRow.agent_id).where(IdentitiesAgentsRow.identity_id == id)
    ],
}
_PROJECTS: dict[str, Agents] = {
    "block": lambda id: select(BlockRow.project_id).where(BlockRow.id == id),
    "group": lambda id: select(GroupRow.project_id).where(GroupRow.id == id),
    "identity": lambda id: select(IdentityRow.project_id).where(IdentityRow.id == id),
}
"""What may be of a project without an agent of it."""


def are_within(
    connection: Connection, organization_id: OrgId, scopes: Iterable[Scope], ids: Iterable[str]
) -> bool:
    """Whether each of them belongs to one of these agents or projects. Unknown kinds belong to none."""
    agents = {scope.id for scope in scopes if scope.type == "agent"}
    projects = {scope.id for scope in scopes if scope.type == "project"}
    return all(_is_within(connection, organization_id, agents, projects, id) for id in ids)


def _is_within(
    connection: Connection, organization_id: OrgId, agents: set[str], projects: set[str], id: str
) -> bool:
    kind = kind_of(id)
    if id in agents:
        return True
    if kind not in _AGENTS:
        return False
    if projects and kind in _PROJECTS and connection.scalar(_PROJECTS[kind](id)) in projects:
        return True
    holders = union_all(*(find(id) for find in _AGENTS[kind])).subquery()
    rows = connection.execute(
        select(AgentRow.id, AgentRow.project_id).where(
            AgentRow.organization_id == organization_id, AgentRow.id.in_(select(holders.c[0]))
        )
    )
    return any(row.id in agents or row.project_id in projects for row in rows)


def kind_of(id: str) -> str:
    return id[:-37]
