"""SQL for the providers of organisations."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.provider import ProviderRecord
from remanence.db.paging import fetch_page
from remanence.db.tables import ProviderRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId

_COLUMNS = list(ProviderRow.__table__.columns)


def insert_provider(connection: Connection, provider: ProviderRecord) -> None:
    """Raises AlreadyExists for a name that the organisation uses."""
    try:
        with connection.begin_nested():
            connection.execute(insert(ProviderRow).values(**provider.model_dump()))
    except IntegrityError:
        raise AlreadyExists(
            f"There is a provider named {provider.name!r} already; change that one, or choose another name."
        ) from None


def list_providers(
    connection: Connection, actor: Actor, page: Page, *, name: str | None, provider_type: str | None
) -> list[ProviderRecord]:
    """Raises NotFound for an unknown cursor."""
    statement = select(*_COLUMNS).where(_of(actor.organization_id))
    if name is not None:
        statement = statement.where(ProviderRow.name == name)
    if provider_type is not None:
        statement = statement.where(ProviderRow.provider_type == provider_type)
    rows = fetch_page(
        connection,
        statement,
        page,
        key=ProviderRow.created_at,
        id_column=ProviderRow.id,
        scope=(_of(actor.organization_id),),
    )
    return [_provider(row) for row in rows]


def list_all(connection: Connection, organization_id: OrgId) -> list[ProviderRecord]:
    """Oldest first."""
    statement = select(*_COLUMNS).where(_of(organization_id)).order_by(ProviderRow.created_at, ProviderRow.id)
    return [_provider(row) for row in connection.execute(statement)]


def get_provider(connection: Connection, actor: Actor, provider_id: str) -> ProviderRecord:
    row = connection.execute(
        select(*_COLUMNS).where(_of(actor.organization_id), ProviderRow.id == provider_id)
    ).first()
    if row is None:
        raise NotFound(f"There is no provider {provider_id}.")
    return _provider(row)


def update_provider(
    connection: Connection, actor: Actor, provider_id: str, changes: dict[str, Any]
) -> ProviderRecord:
    """Raises NotFound."""
    connection.execute(
        update(ProviderRow)
        .where(_of(actor.organization_id), ProviderRow.id == provider_id)
        .values(**changes, updated_at=utc_now(), last_updated_by_id=actor.user_id)
    )
    return get_provider(connection, actor, provider_id)


def note_sync(connection: Connection, provider_id: str, at: datetime) -> None:
    connection.execute(
        update(ProviderRow)
        .where(ProviderRow.id == provider_id)
        .values(last_synced=at, updated_at=ProviderRow.updated_at)
    )


def delete_provider(connection: Connection, actor: Actor, provider_id: str) -> None:
    """Raises NotFound."""
    get_provider(connection, actor, provider_id)
    connection.execute(delete(ProviderRow).where(_of(actor.organization_id), ProviderRow.id == provider_id))


def _of(organization_id: OrgId) -> ColumnElement[bool]:
    return ProviderRow.organization_id == organization_id


def _provider(row: Row[Any]) -> ProviderRecord:
    return ProviderRecord.model_validate(dict(row._mapping))  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's own name
