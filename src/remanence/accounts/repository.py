"""SQL for organisations and users."""

from sqlalchemy import Connection, insert, select

from remanence.core.actor import Actor
from remanence.db.dialect import insert_missing
from remanence.db.tables import OrganizationRow, UserRow
from remanence.errors import Forbidden
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID, OrgId, UserId, new_id


def ensure_defaults(connection: Connection) -> None:
    """The organisation and the user that requests without a name belong to."""
    insert_missing(connection, OrganizationRow, [{"id": DEFAULT_ORG_ID, "name": "default_org", **_dates()}])
    insert_missing(
        connection,
        UserRow,
        [{"id": DEFAULT_USER_ID, "organization_id": DEFAULT_ORG_ID, "name": "default_user", **_dates()}],
    )


def find_actor(connection: Connection, user_id: UserId) -> Actor | None:
    """Raises Forbidden for a user who was deleted: he must not pass for somebody else."""
    row = connection.execute(
        select(UserRow.organization_id, UserRow.is_deleted, OrganizationRow.is_deleted.label("is_closed"))
        .join(OrganizationRow, OrganizationRow.id == UserRow.organization_id)
        .where(UserRow.id == user_id)
    ).first()
    if row is None:
        return None
    if row.is_deleted or row.is_closed:
        raise Forbidden(f"The user {user_id} was deleted.")
    return Actor(user_id=user_id, organization_id=row.organization_id)


def create_organization(connection: Connection, name: str) -> OrgId:
    organization_id = OrgId(new_id("org"))
    connection.execute(insert(OrganizationRow).values(id=organization_id, name=name, **_dates()))
    return organization_id


def create_user(connection: Connection, name: str, organization_id: OrgId) -> UserId:
    user_id = UserId(new_id("user"))
    connection.execute(
        insert(UserRow).values(id=user_id, name=name, organization_id=organization_id, **_dates())
    )
    return user_id


def list_organization_ids(connection: Connection) -> list[OrgId]:
    rows = connection.execute(select(OrganizationRow.id).where(OrganizationRow.is_deleted.is_(False)))
    return [OrgId(row.id) for row in rows]


def _dates() -> dict[str, object]:
    now = utc_now()
    return {"created_at": now, "updated_at": now}
