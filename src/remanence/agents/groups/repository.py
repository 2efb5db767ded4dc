"""SQL for groups and their members."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select, update

from remanence.core.actor import Actor
from remanence.core.group import Group, ManagerType
from remanence.core.page import Page
from remanence.db.dialect import insert_missing
from remanence.db.paging import fetch_page
from remanence.db.tables import GroupRow, GroupsAgentsRow, GroupsBlocksRow
from remanence.errors import NotFound
from remanence.kit.ids import AgentId, UserId

_PLAIN_FIELDS = tuple(set(Group.model_fields) - {"agent_ids", "shared_block_ids"})
_COLUMNS = [getattr(GroupRow, name) for name in _PLAIN_FIELDS]

_HELPING = (
    select(*_COLUMNS)
    .where(
        GroupRow.organization_id == bindparam("organization"),
        GroupRow.manager_agent_id == bindparam("agent"),
        GroupRow.manager_type == bindparam("kind"),
        GroupRow.is_deleted.is_(False),
    )
    .order_by(GroupRow.created_at)
    .limit(1)
    .with_for_update()
)


def insert_group(connection: Connection, group: Group, user_id: UserId) -> None:
    values = {name: getattr(group, name) for name in _PLAIN_FIELDS}
    audit = {"created_by_id": user_id, "last_updated_by_id": user_id}
    connection.execute(insert(GroupRow).values(**values, **audit))
    set_members(connection, group.id, group.agent_ids)
    shared = [{"group_id": group.id, "block_id": each} for each in dict.fromkeys(group.shared_block_ids)]
    if shared:
        connection.execute(insert(GroupsBlocksRow), shared)


def set_members(connection: Connection, group_id: str, agent_ids: Sequence[str]) -> None:
    connection.execute(delete(GroupsAgentsRow).where(GroupsAgentsRow.group_id == group_id))
    rows = [
        {"group_id": group_id, "agent_id": agent_id, "position": position}
        for position, agent_id in enumerate(dict.fromkeys(agent_ids))
    ]
    if rows:
        connection.execute(insert(GroupsAgentsRow), rows)


def get_group(connection: Connection, actor: Actor, group_id: str, *, locks: bool = False) -> Group:
    """Raises NotFound. `locks`: nobody else changes it before the commit."""
    statement = select(*_COLUMNS).where(*_mine(actor), GroupRow.id == group_id)
    rows = connection.execute(statement.with_for_update() if locks else statement).all()
    if not rows:
        raise NotFound(f"There is no group {group_id}.")
    return _groups(connection, rows)[0]


def list_groups(
    connection: Connection,
    actor: Actor,
    page: Page,
    *,
    manager_type: ManagerType | None = None,
    project_id: str | None = None,
    member_id: str | None = None,
) -> list[Group]:
    conditions = [*_mine(actor), GroupRow.hidden.is_not(True)]
    if manager_type is not None:
        conditions.append(GroupRow.manager_type == manager_type)
    if project_id is not None:
        conditions.append(GroupRow.project_id == project_id)
    if member_id is not None:
        conditions.append(GroupRow.id.in_(_with_member(member_id)))
    rows = fetch_page(
        connection,
        select(*_COLUMNS).where(*conditions),
        page,
        key=GroupRow.created_at,
        id_column=GroupRow.id,
        scope=[GroupRow.organization_id == actor.organization_id],
    )
    return _groups(connection, rows)


def count_groups(connection: Connection, actor: Actor) -> int:
    return (
        connection.scalar(select(func.count(GroupRow.id)).where(*_mine(actor), GroupRow.hidden.is_not(True)))
        or 0
    )


def managed_groups(
    connection: Connection, actor: Actor, agent_ids: Sequence[AgentId]
) -> dict[AgentId, Group]:
    """The group that each of these agents manages: of several the one that helps it, else the newest."""
    found: dict[AgentId, Group] = {}
    for group in list_managed(connection, actor, agent_ids):
        manager = group.manager_agent_id
        if manager is not None and not group.hidden:
            found[manager] = found[manager] if manager in found and found[manager].is_helping else group
    return found


def helping_group(connection: Connection, actor: Actor, agent_id: AgentId) -> Group | None:
    """The group that tends this agent's memory."""
    found = list_managed(connection, actor, [agent_id])
    return next((group for group in found if group.is_helping), None)


def lock_helping(
    connection: Connection, actor: Actor, agent_id: AgentId, manager_type: ManagerType
) -> Group | None:
    """The group that tends this agent's memory, without its members; nobody else changes it meanwhile."""
    row = connection.execute(
        _HELPING, {"organization": actor.organization_id, "agent": agent_id, "kind": manager_type}
    ).first()
    return Group.model_validate(dict(zip(_PLAIN_FIELDS, row, strict=True))) if row is not None else None


def list_members(connection: Connection, group_id: str) -> list[AgentId]:
    rows = connection.scalars(
        select(GroupsAgentsRow.agent_id)
        .where(GroupsAgentsRow.group_id == group_id)
        .order_by(GroupsAgentsRow.position)
    )
    return [AgentId(each) for each in rows]


def list_managed(connection: Connection, actor: Actor, agent_ids: Sequence[AgentId]) -> list[Group]:
    if not agent_ids:
        return []
    wanted = select(*_COLUMNS).where(*_mine(actor), GroupRow.manager_agent_id.in_(agent_ids))
    return _groups(connection, connection.execute(wanted.order_by(GroupRow.created_at)).all())


def link_block(connection: Connection, group_id: str, block_id: str) -> None:
    insert_missing(connection, GroupsBlocksRow, [{"group_id": group_id, "block_id": block_id}])


def unlink_block(connection: Connection, group_id: str, block_id: str) -> None:
    connection.execute(
        delete(GroupsBlocksRow).where(
            GroupsBlocksRow.group_id == group_id, GroupsBlocksRow.block_id == block_id
        )
    )


def groups_of_member(connection: Connection, actor: Actor, agent_id: str) -> list[Group]:
    wanted = select(*_COLUMNS).where(*_mine(actor), GroupRow.id.in_(_with_member(agent_id)))
    return _groups(connection, connection.execute(wanted).all())


def update_group(connection: Connection, group_id: str, changes: Mapping[str, Any]) -> None:
    if changes:
        connection.execute(update(GroupRow).where(GroupRow.id == group_id).values(**changes))


def delete_group(connection: Connection, group_id: str) -> None:
    """Out of sight; the row stays."""
    update_group(connection, group_id, {"is_deleted": True})


def _with_member(agent_id: str) -> Any:
    return select(GroupsAgentsRow.group_id).where(GroupsAgentsRow.agent_id == agent_id)


def _mine(actor: Actor) -> list[ColumnElement[bool]]:
    return [GroupRow.organization_id == actor.organization_id, GroupRow.is_deleted.is_(False)]


def _groups(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> list[Group]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    members: dict[str, list[str]] = {id: [] for id in ids}
    blocks: dict[str, list[str]] = {id: [] for id in ids}
    member_rows = select(GroupsAgentsRow.group_id, GroupsAgentsRow.agent_id).where(
        GroupsAgentsRow.group_id.in_(ids)
    )
    for row in connection.execute(member_rows.order_by(GroupsAgentsRow.position)):
        members[row.group_id].append(row.agent_id)
    for row in connection.execute(
        select(GroupsBlocksRow.group_id, GroupsBlocksRow.block_id).where(GroupsBlocksRow.group_id.in_(ids))
    ):
        blocks[row.group_id].append(row.block_id)
    return [
        Group.model_validate(
            {name: getattr(row, name) for name in _PLAIN_FIELDS}
            | {"agent_ids": members[row.id], "shared_block_ids": blocks[row.id]}
        )
        for row in rows
    ]
