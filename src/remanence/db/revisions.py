"""Revisions in SQL, the same for blocks and passages: each room decides what a write of its own is."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select

from remanence.core.revision import Action, Author, Revision
from remanence.db.tables import RevisionRow
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject


def note_writes(
    connection: Connection,
    writes: Sequence[tuple[str, int, int]],
    author: Author,
    action: Action,
    *,
    restored: int | None = None,
    change: JsonObject | None = None,
) -> None:
    """Each write is what was written, its number, and the length of the text after it."""
    now = utc_now()
    rows = [
        {
            "subject_id": subject_id,
            "number": number,
            "created_at": now,
            "action": action,
            "author_kind": author.kind,
            "author_id": author.id,
            "run_id": author.run_id,
            "message_id": author.message_id,
            "tool": author.tool,
            "restored": restored,
            "chars": chars,
            "change": change or {},
        }
        for subject_id, number, chars in writes
    ]
    if rows:
        connection.execute(insert(RevisionRow), rows)


def list_writes(connection: Connection, subject_id: str) -> list[Revision]:
    """All that is kept of the writes to one thing, newest first."""
    statement = select(RevisionRow.__table__).where(RevisionRow.subject_id == subject_id)
    rows = connection.execute(statement.order_by(RevisionRow.number.desc()))
    return [read_revision(row) for row in rows]


def last_number(connection: Connection, subject_id: str) -> int | None:
    return connection.scalar(select(func.max(RevisionRow.number)).where(RevisionRow.subject_id == subject_id))


def read_revision(row: Row[Any]) -> Revision:
    return Revision(
        subject_id=row.subject_id,
        number=row.number,
        action=row.action,
        author=Author(
            kind=row.author_kind,
            id=row.author_id,
            run_id=row.run_id,
            message_id=row.message_id,
            tool=row.tool,
        ),
        created_at=row.created_at,
        restored=row.restored,
        chars=row.chars,
        change=row.change,
    )
