"""SQL for looking after organisations and users.

Deleting hides: the row stays, nobody can act as it any more, and its keys are gone. What an organisation
had stays in the database, out of everybody's reach.
"""

from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from remanence.accounts import repository as accounts
from remanence.accounts.admin.schemas import (
    OrganizationCreate,
    OrganizationUpdate,
    UserCreate,
    UserUpdate,
    organization_body,
    user_body,
)
from remanence.core.naming import new_agent_name
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import ApiKeyRow, OrganizationRow, UserRow
from remanence.errors import BadArgument, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, OrgId
from remanence.kit.json import JsonObject

_ORG = tuple(OrganizationRow.__table__.columns)
_USER = tuple(UserRow.__table__.columns)


def list_organizations(connection: Connection, page: Page) -> list[JsonObject]:
    where = [OrganizationRow.is_deleted.is_(False)]
    rows = fetch_page(
        connection,
        select(*_ORG).where(*where),
        page,
        key=OrganizationRow.created_at,
        id_column=OrganizationRow.id,
        scope=where,
    )
    return [organization_body(row) for row in rows]


def list_users(connection: Connection, page: Page) -> list[JsonObject]:
    where = [UserRow.is_deleted.is_(False)]
    rows = fetch_page(
        connection,
        select(*_USER).where(*where),
        page,
        key=UserRow.created_at,
        id_column=UserRow.id,
        scope=where,
    )
    return [user_body(row) for row in rows]


def create_organization(connection: Connection, body: OrganizationCreate) -> JsonObject:
    org_id = accounts.create_organization(connection, body.name or new_agent_name())
    values = {"privileged_tools": bool(body.privileged_tools)}
    connection.execute(update(OrganizationRow).where(OrganizationRow.id == org_id).values(values))
    return organization_body(_get_organization(connection, org_id))


def create_user(connection: Connection, body: UserCreate) -> JsonObject:
    """Raises NotFound."""
    _get_organization(connection, body.organization_id)
    user_id = accounts.create_user(connection, body.name, OrgId(body.organization_id))
    return user_body(_get_user(connection, user_id))


def update_organization(connection: Connection, org_id: str, body: OrganizationUpdate) -> JsonObject:
    """Raises NotFound."""
    _get_organization(connection, org_id)
    values = body.model_dump(exclude_unset=True, exclude_none=True) | {"updated_at": utc_now()}
    connection.execute(update(OrganizationRow).where(OrganizationRow.id == org_id).values(values))
    return organization_body(_get_organization(connection, org_id))


def update_user(connection: Connection, body: UserUpdate) -> JsonObject:
    """Whoever moves to another organisation leaves his keys behind. Raises NotFound and BadArgument."""
    user = _get_user(connection, body.id)
    if body.organization_id not in (None, user.organization_id):
        if body.id == DEFAULT_USER_ID:
            raise BadArgument("The default user stays in the default organisation.")
        _get_organization(connection, str(body.organization_id))
        connection.execute(delete(ApiKeyRow).where(ApiKeyRow.user_id == body.id))
    values = body.model_dump(exclude={"id"}, exclude_none=True) | {"updated_at": utc_now()}
    connection.execute(update(UserRow).where(UserRow.id == body.id).values(values))
    return user_body(_get_user(connection, body.id))


def delete_organization(connection: Connection, org_id: str) -> JsonObject:
    """With its users. Raises NotFound and BadArgument."""
    if org_id == DEFAULT_ORG_ID:
        raise BadArgument("The default organisation stays: requests that name nobody belong to it.")
    gone = _get_organization(connection, org_id)
    hidden = {"is_deleted": True, "updated_at": utc_now()}
    connection.execute(update(OrganizationRow).where(OrganizationRow.id == org_id).values(hidden))
    connection.execute(update(UserRow).where(UserRow.organization_id == org_id).values(hidden))
    connection.execute(delete(ApiKeyRow).where(ApiKeyRow.organization_id == org_id))
    return organization_body(gone)


def delete_user(connection: Connection, user_id: str) -> JsonObject:
    """Raises NotFound and BadArgument."""
    if user_id == DEFAULT_USER_ID:
        raise BadArgument("The default user stays: requests that name nobody are his.")
    gone = _get_user(connection, user_id)
    hidden = {"is_deleted": True, "updated_at": utc_now()}
    connection.execute(update(UserRow).where(UserRow.id == user_id).values(hidden))
    connection.execute(delete(ApiKeyRow).where(ApiKeyRow.user_id == user_id))
    return user_body(gone) | {"is_deleted": True}


def _get_organization(connection: Connection, org_id: str) -> Row[*tuple[Any, ...]]:
    row = connection.execute(
        select(*_ORG).where(OrganizationRow.id == org_id, OrganizationRow.is_deleted.is_(False))
    ).first()
    if row is None:
        raise NotFound(f"There is no organisation {org_id}.")
    return row


def _get_user(connection: Connection, user_id: str) -> Row[*tuple[Any, ...]]:
    row = connection.execute(
        select(*_USER).where(UserRow.id == user_id, UserRow.is_deleted.is_(False))
    ).first()
    if row is None:
        raise NotFound(f"There is no user {user_id}.")
    return row
