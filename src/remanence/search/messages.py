"""Messages as documents: from a message to be indexed, and back from its row to be shown."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, or_, select, text

from remanence.core.llm import EmbeddingConfig
from remanence.core.message import Message
from remanence.core.search_text import message_words, said_plainly
from remanence.db.tables import AgentRow, MessageRow
from remanence.kit import json
from remanence.search.ports import Document, SearchQuery

_STORED_ROLES = {"user": ("user",), "assistant": ("assistant", "approval"), "tool": ("tool",)}
_LATER_PAGES = 200
_MAX_PAGES = 20
"""Of the newest messages, when most of them say nothing."""

_NEEDED = {
    *("id", "organization_id", "agent_id", "conversation_id", "role", "name"),
    *("content", "tool_calls", "tool_returns", "created_at"),
}
_COLUMNS = [column for column in MessageRow.__table__.columns if column.name in _NEEDED]
_BY_ID = (
    select(*_COLUMNS, MessageRow.is_err, AgentRow.is_deleted)
    .join(AgentRow, AgentRow.id == MessageRow.agent_id)
    .where(MessageRow.id.in_(bindparam("ids", expanding=True)))
)


def message_document(message: Message, organization_id: str) -> Document | None:
    """None for messages that are not to be found: prompts, summaries, notices, bare tool calls."""
    words = message_words(message)
    return _said(words, message, message.role, organization_id) if words else None


def _said(words: str, source: Any, role: str, organization_id: str | None = None) -> Document:
    """`source` is a message or its row."""
    return Document(
        kind="message",
        id=source.id,
        owner_id=source.agent_id,
        organization_id=organization_id or source.organization_id,
        text=words,
        created_at=source.created_at,
        conversation_id=source.conversation_id,
        role="assistant" if role == "approval" else role,
        speaker=source.name if role != "tool" else None,
    )


def message_documents(messages: Iterable[Message], organization_id: str) -> list[Document]:
    found = (message_document(message, organization_id) for message in messages)
    return [document for document in found if document is not None]


def load_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    rows = (row for row in connection.execute(_BY_ID, {"ids": ids}))
    return {document.id: document for document in _documents(rows)}


def load_visible(connection: Connection, query: SearchQuery, ids: Sequence[str]) -> dict[str, Document]:
    # The filters are checked here: in SQL they would tempt SQLite away from the primary key.
    rows = connection.execute(_BY_ID, {"ids": ids})
    shown = (row for row in rows if not row.is_err and not row.is_deleted)
    return {document.id: document for document in _documents(shown) if _passes(query, document)}


def _passes(query: SearchQuery, document: Document) -> bool:
    return (
        document.organization_id == query.organization_id
        and (query.owner_ids is None or document.owner_id in query.owner_ids)
        and (query.roles is None or document.role in query.roles)
        and (query.start is None or document.created_at >= query.start)
        and (query.end is None or document.created_at <= query.end)
        and query.conversation_id in (None, document.conversation_id or "default")
    )


def list_ids(connection: Connection, owner_id: str) -> list[str]:
    return list(connection.execute(select(MessageRow.id).where(MessageRow.agent_id == owner_id)).scalars())


has_order = True

# The rows beside each of some moments, in one statement. Calls and their returns say nothing, so a few are
# looked at on either side; the nearest that says something is what was said before or after.
_ASIDE = 3
_BESIDE_SQLITE = """
SELECT c.key AS place, m.id, m.role, m.conversation_id, m.created_at FROM json_each(?) AS c, messages AS m
WHERE m.id IN (
  SELECT id FROM (SELECT id FROM messages WHERE agent_id = c.value ->> 0 AND created_at < c.value ->> 1
    ORDER BY created_at DESC LIMIT {aside})
  UNION ALL
  SELECT id FROM (SELECT id FROM messages WHERE agent_id = c.value ->> 0 AND created_at > c.value ->> 1
    ORDER BY created_at LIMIT {aside})
)
"""
_BESIDE_POSTGRES = """
SELECT c.place - 1 AS place, m.id, m.role, m.conversation_id, m.created_at
FROM unnest(CAST(:agents AS text[]), CAST(:moments AS timestamptz[])) WITH ORDINALITY AS c (agent, moment, place)
CROSS JOIN LATERAL (
  (SELECT * FROM messages WHERE agent_id = c.agent AND created_at < c.moment ORDER BY created_at DESC LIMIT {aside})
  UNION ALL
  (SELECT * FROM messages WHERE agent_id = c.agent AND created_at > c.moment ORDER BY created_at LIMIT {aside})
) AS m
"""
_SPEAKING = {"user", "assistant"}


def load_neighbours(
    connection: Connection, documents: Sequence[Document]
) -> dict[str, tuple[str | None, str | None]]:
    if not documents:
        return {}
    beside: list[tuple[list[tuple[datetime, str]], list[tuple[datetime, str]]]] = [
        ([], []) for _ in documents
    ]
    for place, id, role, conversation_id, created_at in _beside(connection, documents):
        document = documents[place]
        if role in _SPEAKING and conversation_id == document.conversation_id:
            is_later = created_at > document.created_at
            beside[place][is_later].append((created_at, id))
    return {
        document.id: (max(before)[1] if before else None, min(after)[1] if after else None)
        for document, (before, after) in zip(documents, beside, strict=True)
    }


def _beside(
    connection: Connection, documents: Sequence[Document]
) -> Iterator[tuple[int, str, str, str | None, datetime]]:
    if connection.dialect.name == "sqlite":
        # As the driver of SQLAlchemy writes moments.
        moments = [
            [each.owner_id, each.created_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")]
            for each in documents
        ]
        statement = _BESIDE_SQLITE.format(aside=_ASIDE)
        for row in connection.exec_driver_sql(statement, (json.encode_text(moments),)):
            at = datetime.fromisoformat(row[4]).replace(tzinfo=UTC)
            yield int(row[0]), row[1], row[2], row[3], at
        return
    values = {
        "agents": [each.owner_id for each in documents],
        "moments": [each.created_at for each in documents],
    }
    for row in connection.execute(text(_BESIDE_POSTGRES.format(aside=_ASIDE)), values):
        yield int(row[0]), row[1], row[2], row[3], row[4]


def load_models(connection: Connection, owner_ids: Sequence[str]) -> dict[str, EmbeddingConfig | None]:
    rows = connection.execute(
        select(AgentRow.id, AgentRow.embedding_config).where(
            AgentRow.id.in_(owner_ids), AgentRow.is_deleted.is_(False)
        )
    )
    return {row.id: row.embedding_config for row in rows}


def list_newest(connection: Connection, query: SearchQuery) -> list[Document]:
    """The newest that pass the filters; those that say nothing are passed over."""
    found: list[Document] = []
    before: tuple[datetime, str] | None = None
    size = 2 * query.limit + 10
    for _ in range(_MAX_PAGES):
        statement = _visible(query).where(*_dates(query))
        if before is not None:
            earlier = and_(MessageRow.created_at == before[0], MessageRow.id < before[1])
            statement = statement.where(or_(MessageRow.created_at < before[0], earlier))
        rows = connection.execute(
            statement.order_by(MessageRow.created_at.desc(), MessageRow.id.desc()).limit(size)
        ).all()
        found += [each for each in _documents(rows) if each.id not in query.exclude_ids]
        if len(rows) < size or len(found) >= query.limit:
            break
        before = (rows[-1].created_at, rows[-1].id)
        size = _LATER_PAGES
    return found[: query.limit]


def _visible(query: SearchQuery) -> Select[Any]:
    statement = (
        select(*_COLUMNS)
        .join(AgentRow, AgentRow.id == MessageRow.agent_id)
        .where(
            MessageRow.organization_id == query.organization_id,
            MessageRow.is_err.is_not(True),
            AgentRow.is_deleted.is_(False),
        )
    )
    if query.owner_ids is not None:
        statement = statement.where(MessageRow.agent_id.in_(query.owner_ids))
    if query.roles is not None:
        stored = [name for role in query.roles for name in _STORED_ROLES.get(role, ())]
        statement = statement.where(MessageRow.role.in_(stored))
    if query.conversation_id == "default":
        statement = statement.where(MessageRow.conversation_id.is_(None))
    elif query.conversation_id is not None:
        statement = statement.where(MessageRow.conversation_id == query.conversation_id)
    return statement


def _dates(query: SearchQuery) -> list[ColumnElement[bool]]:
    bounds: list[ColumnElement[bool]] = []
    if query.start is not None:
        bounds.append(MessageRow.created_at >= query.start)
    if query.end is not None:
        bounds.append(MessageRow.created_at <= query.end)
    return bounds


def _documents(rows: Iterable[Row[Any]]) -> Iterator[Document]:
    return (document for row in rows if (document := _document(row)) is not None)


def _document(row: Row[Any]) -> Document | None:
    content: list[dict[str, Any]] = row.content or []
    if not row.tool_calls and not row.tool_returns and all(part["type"] == "text" for part in content):
        # Most are plain words, and a search reads many: a message need not be made of each.
        words = said_plainly(row.role, "".join(part["text"] for part in content))
        return _said(words, row, row.role) if words else None
    message = Message.model_validate(
        {
            "id": row.id,
            "agent_id": row.agent_id,
            "role": row.role,
            "content": row.content or (),
            "created_at": row.created_at,
            "name": row.name,
            "tool_calls": row.tool_calls or (),
            "tool_returns": row.tool_returns or (),
            "conversation_id": row.conversation_id,
        }
    )
    return message_document(message, row.organization_id)
