"""What a list or a count of blocks asks for, as SQL."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, func, select

from remanence.db.tables import (
    AgentRow,
    BlockRow,
    BlocksAgentsRow,
    BlockTagRow,
    IdentitiesBlocksRow,
    IdentityRow,
)
from remanence.memory.schemas import BlockFilter


def conditions(where: BlockFilter) -> list[ColumnElement[bool]]:
    equal = {
        BlockRow.label: where.label,
        BlockRow.template_name: where.name,
        BlockRow.project_id: where.project_id,
    }
    contains = {
        BlockRow.label: where.label_search,
        BlockRow.description: where.description_search,
        BlockRow.value: where.value_search,
    }
    found = [BlockRow.conversation_id.is_(None)]  # copies are known to their conversation alone
    found += [column == value for column, value in equal.items() if value is not None]
    found += [column.icontains(text, autoescape=True) for column, text in contains.items() if text]
    if where.templates_only:
        found.append(BlockRow.is_template.is_(True))
    if where.tags:
        found.append(BlockRow.id.in_(_tagged(where.tags, match_all=where.match_all_tags)))
    if where.identity_id is not None or where.identifier_keys:
        found.append(BlockRow.id.in_(_of_identities(where)))
    return found + _by_holders(where)


def _tagged(tags: Sequence[str], *, match_all: bool) -> Select[str]:
    wanted = set(tags)
    statement = select(BlockTagRow.block_id).where(BlockTagRow.tag.in_(wanted))
    if match_all:
        statement = statement.group_by(BlockTagRow.block_id).having(func.count() == len(wanted))
    return statement


def _of_identities(where: BlockFilter) -> Select[str]:
    statement = (
        select(IdentitiesBlocksRow.block_id)
        .join(IdentityRow, IdentityRow.id == IdentitiesBlocksRow.identity_id)
        .where(IdentityRow.is_deleted.is_(False))
    )
    if where.identity_id is not None:
        statement = statement.where(IdentityRow.id == where.identity_id)
    if where.identifier_keys:
        statement = statement.where(IdentityRow.identifier_key.in_(where.identifier_keys))
    return statement


def _by_holders(where: BlockFilter) -> list[ColumnElement[bool]]:
    count = (
        select(func.count())
        .select_from(BlocksAgentsRow)
        .join(AgentRow, AgentRow.id == BlocksAgentsRow.agent_id)
        .where(BlocksAgentsRow.block_id == BlockRow.id, AgentRow.is_deleted.is_(False))
        .correlate(BlockRow)
        .scalar_subquery()
    )
    found: list[ColumnElement[bool]] = []
    if where.connected_to_agents_count_gt is not None:
        found.append(count > where.connected_to_agents_count_gt)
    if where.connected_to_agents_count_lt is not None:
        found.append(count < where.connected_to_agents_count_lt)
    if where.connected_to_agents_count_eq:
        found.append(count.in_(where.connected_to_agents_count_eq))
    return found
