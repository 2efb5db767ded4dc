"""Messages as documents: from a message to be indexed, and back from its row to be shown."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, or_, select, text

from remanence.core.llm import EmbeddingConfig
from remanence.core.message import Message
from remanence.core.search_text import message_words, said_plainly
from remanence.db.dialect import as_list, as_moment, written_moment
from remanence.db.tables import AgentRow, MessageRow
from remanence.kit import json
from remanence.search.ports import Document, SearchQuery

_STORED_ROLES = {"user": ("user",), "assistant": ("assistant", "approval"), "tool": ("tool",)}
_LATER_PAGES = 200
_MAX_PAGES = 20
"""Of the newest messages, when most of them say nothing."""

_NEEDED = (
    *("id", "organization_id", "agent_id", "conversation_id", "role", "name"),
    *("created_at", "content", "tool_calls", "tool_returns"),
)
_COLUMNS = [MessageRow.__table__.c[name] for name in _NEEDED]
# A search reads a hundred rows: SQLAlchemy would take longer for them than the database.
_BY_ID = f"""
SELECT a.is_deleted, m.is_err, {", ".join(f"m.{name}" for name in _NEEDED)}
FROM messages AS m JOIN agents AS a ON a.id = m.agent_id WHERE m.id
"""
_BY_ID_SQLITE = f"{_BY_ID} IN (SELECT value FROM json_each(?))"
_BY_ID_POSTGRES = text(f"{_BY_ID} = ANY(CAST(:ids AS text[]))")


def message_document(message: Message, organization_id: str) -> Document | None:
    """None for messages that are not to be found: prompts, summaries, notices, bare tool calls."""
    words = message_words(message)
    if not words:
        return None
    return Document(
        kind="message",
        id=message.id,
        owner_id=message.agent_id,
        organization_id=organization_id,
        text=words,
        created_at=message.created_at,
        conversation_id=message.conversation_id,
        role="assistant" if message.role == "approval" else message.role,
        speaker=message.name if message.role != "tool" else None,
    )


def message_documents(messages: Iterable[Message], organization_id: str) -> list[Document]:
    found = (message_document(message, organization_id) for message in messages)
    return [document for document in found if document is not None]


def load_documents(connection: Connection, ids: Sequence[str]) -> dict[str, Document]:
    rows = (row[2:] for row in _rows(connection, ids))
    return {document.id: document for document in _documents(rows)}


def _rows(connection: Connection, ids: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Whether its agent is deleted, whether it failed, and the columns of each."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(_BY_ID_SQLITE, (json.encode_text(list(ids)),)).all()
    else:
        rows = connection.execute(_BY_ID_POSTGRES, {"ids": list(ids)}).all()
    for *known, moment, content, calls, returns in map(tuple, rows):
        yield *known, as_moment(moment), *map(as_list, (content, calls, returns))


def load_visible(connection: Connection, query: SearchQuery, ids: Sequence[str]) -> dict[str, Document]:
    # The filters are checked here: in SQL they would tempt SQLite away from the primary key.
    shown = (row[2:] for row in _rows(connection, ids) if not row[0] and not row[1])
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
_BESIDE_SQLITE = f"""
SELECT c.key AS place, m.created_at > c.value ->> 1, m.created_at, m.id, m.role, m.conversation_id
FROM json_each(?) AS c, messages AS m
WHERE m.id IN (
  SELECT id FROM (SELECT id FROM messages WHERE agent_id = c.value ->> 0 AND created_at < c.value ->> 1
    ORDER BY created_at DESC LIMIT {_ASIDE})
  UNION ALL
  SELECT id FROM (SELECT id FROM messages WHERE agent_id = c.value ->> 0 AND created_at > c.value ->> 1
    ORDER BY created_at LIMIT {_ASIDE})
)
"""
_BESIDE_POSTGRES = f"""
SELECT c.place - 1 AS place, m.created_at > c.moment, m.created_at, m.id, m.role, m.conversation_id
FROM unnest(CAST(:agents AS text[]), CAST(:moments AS timestamptz[])) WITH ORDINALITY AS c (agent, moment, place)
CROSS JOIN LATERAL (
  (SELECT * FROM messages WHERE agent_id = c.agent AND created_at < c.moment ORDER BY created_at DESC LIMIT {_ASIDE})
  UNION ALL
  (SELECT * FROM messages WHERE agent_id = c.agent AND created_at > c.moment ORDER BY created_at LIMIT {_ASIDE})
) AS m
"""
_SPEAKING = {"user", "assistant"}


def load_neighbours(
    connection: Connection, documents: Sequence[Document]
) -> dict[str, tuple[str | None, str | None]]:
    if not documents:
        return {}
    beside: list[tuple[list[tuple[Any, str]], list[tuple[Any, str]]]] = [([], []) for _ in documents]
    for place, is_later, moment, id, role, conversation_id in _beside(connection, documents):
        if role in _SPEAKING and conversation_id == documents[int(place)].conversation_id:
            beside[int(place)][bool(is_later)].append((moment, id))
    return {
        document.id: (max(before)[1] if before else None, min(after)[1] if after else None)
        for document, (before, after) in zip(documents, beside, strict=True)
    }


def _beside(connection: Connection, documents: Sequence[Document]) -> Sequence[Row[*tuple[Any, ...]]]:
    if connection.dialect.name == "sqlite":
        places = [[each.owner_id, written_moment(each.created_at)] for each in documents]
        return connection.exec_driver_sql(_BESIDE_SQLITE, (json.encode_text(places),)).all()
    values = {
        "agents": [each.owner_id for each in documents],
        "moments": [each.created_at for each in documents],
    }
    return connection.execute(text(_BESIDE_POSTGRES), values).all()


def note_settled(connection: Connection, ids: Sequence[str]) -> None:
    """Nobody waits for the vectors of a message."""


def note_silence(connection: Connection, ids: Sequence[str], config: EmbeddingConfig) -> None:
    """Words are enough."""


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


def _documents(rows: Iterable[Sequence[Any]]) -> Iterator[Document]:
    return (document for row in rows if (document := _document(*row)) is not None)


def _document(
    id: str,
    organization_id: str,
    agent_id: str,
    conversation_id: str | None,
    role: str,
    name: str | None,
    created_at: datetime,
    content: list[dict[str, Any]] | None,
    tool_calls: list[dict[str, Any]] | None,
    tool_returns: list[dict[str, Any]] | None,
) -> Document | None:
    if not tool_calls and not tool_returns and all(part["type"] == "text" for part in content or ()):
        # Most are plain words, and a search reads many: a message need not be made of each.
        words = said_plainly(role, "".join(part["text"] for part in content or ()))
        if not words:
            return None
        shown = "assistant" if role == "approval" else role
        return Document(
            *("message", id, agent_id, organization_id, words, created_at, conversation_id, shown),
            speaker=name if role != "tool" else None,
        )
    message = Message.model_validate(
        {
            "id": id,
            "agent_id": agent_id,
            "role": role,
            "content": content or (),
            "created_at": created_at,
            "name": name,
            "tool_calls": tool_calls or (),
            "tool_returns": tool_returns or (),
            "conversation_id": conversation_id,
        }
    )
    return message_document(message, organization_id)
