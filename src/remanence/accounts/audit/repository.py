"""SQL for the audit log."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from remanence.core.audit import AuditEntry
from remanence.core.page import Page
from remanence.db.paging import fetch_page
from remanence.db.tables import AuditRow
from remanence.kit.clock import utc_now

_COLUMNS = tuple(AuditRow.__table__.columns)


def save_entries(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    connection.execute(insert(AuditRow), [entry._asdict() for entry in entries])


def list_entries(
    connection: Connection,
    page: Page,
    *,
    organization_id: str | None,
    user_id: str | None = None,
    key_id: str | None = None,
    object_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[AuditEntry]:
    """Of one organisation; of all, and of those whom nobody knew, if none is named."""
    given = {
        AuditRow.organization_id: organization_id,
        AuditRow.user_id: user_id,
        AuditRow.key_id: key_id,
        AuditRow.object_id: object_id,
    }
    scope = [AuditRow.organization_id == organization_id] if organization_id else []
    where = [column == value for column, value in given.items() if value is not None]
    where += [AuditRow.created_at >= since] if since else []
    where += [AuditRow.created_at <= until] if until else []
    rows = fetch_page(
        connection,
        select(*_COLUMNS).where(*where),
        page,
        key=AuditRow.created_at,
        id_column=AuditRow.id,
        scope=scope,
    )
    return [AuditEntry(**row._mapping) for row in rows]  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's own name


def drop_old(connection: Connection, days: int) -> None:
    connection.execute(delete(AuditRow).where(AuditRow.created_at < utc_now() - timedelta(days=days)))
