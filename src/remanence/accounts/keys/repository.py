"""SQL for keys."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select, update
from sqlalchemy.orm import aliased

from remanence.core.access import ApiKey, KeyKind
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, ApiKeyRow, OrganizationRow, UserRow
from remanence.errors import NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId, UserId

_PARENT = aliased(ApiKeyRow)
_KEY = [getattr(ApiKeyRow, name) for name in ApiKey.model_fields if name != "parent_expires_at"]


def _keys() -> Select[*tuple[Any, ...]]:
    joined = ApiKeyRow.__table__.outerjoin(_PARENT, _PARENT.id == ApiKeyRow.parent_id)
    return select(*_KEY, _PARENT.expires_at.label("parent_expires_at")).select_from(joined)


def find_key(connection: Connection, digest: str) -> ApiKey | None:
    """The key with this digest, unless its user or his organisation was deleted."""
    row = connection.execute(
        _keys()
        .join(UserRow, UserRow.id == ApiKeyRow.user_id)
        .join(OrganizationRow, OrganizationRow.id == ApiKeyRow.organization_id)
        .where(
            ApiKeyRow.digest == digest,
            UserRow.organization_id == ApiKeyRow.organization_id,
            UserRow.is_deleted.is_(False),
            OrganizationRow.is_deleted.is_(False),
        )
    ).first()
    return _key(row) if row else None


def save_key(connection: Connection, key: ApiKey, digest: str) -> None:
    values = key.model_dump(exclude={"parent_expires_at", "scopes"})
    connection.execute(
        insert(ApiKeyRow).values(**values, scopes=key.scopes, digest=digest, updated_at=key.created_at)
    )


def list_keys(
    connection: Connection, organization_id: OrgId, page: Page, *, user_id: UserId | None
) -> list[ApiKey]:
    """Those of one user, or of the whole organisation; without what signing in and browsers use."""
    where = _of_kind("key", organization_id, user_id)
    rows = fetch_page(
        connection, _keys().where(*where), page, key=ApiKeyRow.created_at, id_column=ApiKeyRow.id, scope=where
    )
    return [_key(row) for row in rows]


def list_client_keys(
    connection: Connection,
    organization_id: OrgId,
    *,
    user_id: UserId | None,
    offset: int,
    limit: int,
    agent_id: str | None,
) -> list[ApiKey]:
    """Those made for pages in browsers that are still good, the newest first."""
    where = _of_kind("client", organization_id, user_id)
    rows = connection.execute(
        _keys()
        .where(*where, ApiKeyRow.expires_at > utc_now())
        .order_by(ApiKeyRow.created_at.desc(), ApiKeyRow.id)
    )
    keys = [
        key
        for key in map(_key, rows.all())
        if agent_id is None or any(scope.id == agent_id for scope in key.scopes)
    ]
    return keys[offset : offset + limit]


def _of_kind(kind: KeyKind, organization_id: OrgId, user_id: UserId | None) -> list[ColumnElement[bool]]:
    where = [ApiKeyRow.kind == kind, ApiKeyRow.organization_id == organization_id]
    return [*where, ApiKeyRow.user_id == user_id] if user_id else where


def delete_key(
    connection: Connection, organization_id: OrgId, *, user_id: UserId | None, named: Mapping[str, str]
) -> str:
    """Found by its `id` or its `digest`; its id. Its sessions go with it. Raises NotFound."""
    where: list[ColumnElement[bool]] = [getattr(ApiKeyRow, name) == value for name, value in named.items()]
    where.append(ApiKeyRow.organization_id == organization_id)
    if user_id is not None:
        where.append(ApiKeyRow.user_id == user_id)
    found = connection.execute(delete(ApiKeyRow).where(*where).returning(ApiKeyRow.id)).first()
    if found is None:
        raise NotFound("There is no such key.")
    return found.id


def note_use(connection: Connection, key_id: str, moment: datetime) -> None:
    connection.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=moment))


def drop_expired(connection: Connection) -> None:
    connection.execute(delete(ApiKeyRow).where(ApiKeyRow.expires_at < utc_now()))


def has_agents(connection: Connection, organization_id: OrgId, agent_ids: set[str]) -> bool:
    """Whether all of them are there."""
    found = connection.scalar(
        select(func.count()).where(AgentRow.id.in_(agent_ids), AgentRow.organization_id == organization_id)
    )
    return found == len(agent_ids)


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey.model_validate(dict(row._mapping))  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's own name
