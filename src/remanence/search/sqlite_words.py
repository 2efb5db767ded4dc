"""Words on SQLite: FTS5 that stores neither text nor places, only which documents have a word.

The scope of a document (organisation, owner, role) is one of its words, which keeps a small agent's search
fast in a large table; so are its tags. Postings without a row in `search_documents` are never shown; a
document indexed anew leaves such behind, because FTS5 takes words out only if it is told which.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from remanence.core.ranking import choose_candidates, rarities
from remanence.core.search_text import TextQuery, is_unspaced, prepare
from remanence.kit import json
from remanence.search.finding import MAX_MATCHES, Found
from remanence.search.ports import ROLES, Document, Kind, SearchQuery
from remanence.search.shelves import shelf_of

_KINDS: dict[Kind, str] = {"message": "m", "passage": "p", "chunk": "c"}
_ANY_OWNER = "0" * 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BATCH = 500

_LAST_KEY = "SELECT seq FROM sqlite_sequence WHERE name = 'search_documents'"
_ADD_DOCUMENT = """
INSERT INTO search_documents (key, id, created_at, conversation) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  key = excluded.key, created_at = excluded.created_at, conversation = excluded.conversation
"""
_ADD_WORDS = "INSERT INTO search_words (rowid, words) VALUES (?, ?)"
_REMOVE_WORDS = "INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', ?, ?)"
_KEYS = "SELECT key, id FROM search_documents WHERE id IN ({marks})"
_IDS = "SELECT key, id FROM search_documents WHERE key IN (SELECT value FROM json_each(?))"
# The keys come as one JSON text: thousands of rows would cost more to fetch than to find.
_MATCHES = """
SELECT json_group_array(rowid) FROM (
  SELECT rowid FROM search_words WHERE search_words MATCH ? ORDER BY rowid DESC LIMIT ?
)
"""
_FILTERED_MATCHES = """
SELECT json_group_array(rowid) FROM (
  SELECT f.rowid FROM search_words AS f CROSS JOIN search_documents AS d ON d.key = f.rowid
  WHERE f.search_words MATCH ? AND {filters} ORDER BY f.rowid DESC LIMIT ?
)
"""
_TAGGED = """
SELECT d.id FROM search_words AS f CROSS JOIN search_documents AS d ON d.key = f.rowid
WHERE f.search_words MATCH ?
"""


def add_words(connection: Connection, documents: Sequence[Document]) -> None:
    # Keys ascend and are never used twice: FTS5 is quick at appending, and may hold old postings.
    last: int = connection.exec_driver_sql(_LAST_KEY).scalar() or 0
    rows: list[tuple[int, bytes, int, bytes | None]] = []
    words: list[tuple[int, str]] = []
    for key, document in enumerate(documents, start=last + 1):
        conversation = document.conversation_id
        rows.append(
            (
                key,
                packed(document.id),
                micros(document.created_at),
                packed(conversation) if conversation else None,
            )
        )
        words.append((key, _words(document)))
    connection.exec_driver_sql(_ADD_DOCUMENT, rows)
    connection.exec_driver_sql(_ADD_WORDS, words)


def delete_words(connection: Connection, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        shelf = shelf_of(batch[0])
        documents = {packed(id): document for id, document in shelf.load_documents(connection, batch).items()}
        statement = _KEYS.format(marks=", ".join("?" * len(batch)))
        keys = connection.exec_driver_sql(statement, tuple(map(packed, batch))).all()
        words = [(key, _words(documents[id])) for key, id in keys if id in documents]
        if words:
            connection.exec_driver_sql(_REMOVE_WORDS, words)
        if keys:
            connection.exec_driver_sql(
                "DELETE FROM search_documents WHERE key = ?", [(key,) for key, _ in keys]
            )


def look_up(connection: Connection, sought: TextQuery, query: SearchQuery, count: int) -> Found:
    filters, values = _filters(query)
    statement = _FILTERED_MATCHES.format(filters=" AND ".join(filters)) if filters else _MATCHES

    def matches(words: list[str]) -> list[int]:
        expression = " AND ".join([*scope, *words])
        found = connection.exec_driver_sql(statement, (expression, *values, max(count, MAX_MATCHES)))
        return json.decode(found.scalar_one())

    scope = [_scope(query), *_tag_words(query)]
    required = [_sought(word) for term in sought.required for word in term.words]
    keys = [matches(required)] * len(sought.required) if required else []
    keys += [matches([*required, _sought(term.words[0])]) for term in sought.optional]
    frequencies = [len(each) for each in keys]
    masks: dict[int, int] = {}
    for number, each in enumerate(keys):
        for key in each:
            masks[key] = masks.get(key, 0) | 1 << number
    chosen = choose_candidates(masks, rarities(frequencies), count)
    rows = connection.exec_driver_sql(_IDS, (json.encode_text(list(chosen)),))
    return Found({f"{query.kind}-{UUID(bytes=id)}": chosen[key] for key, id in rows}, frequencies)


def tagged_documents(connection: Connection, query: SearchQuery) -> list[bytes]:
    """Those that have the tags asked for, in the scope of the query."""
    expression = " AND ".join([_scope(query), *_tag_words(query)])
    return [row[0] for row in connection.exec_driver_sql(_TAGGED, (expression,))]


def packed(id: str) -> bytes:
    return bytes.fromhex(id[-36:].replace("-", ""))


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _scope(query: SearchQuery) -> str:
    roles = ROLES if query.roles is None else query.roles
    owners = [_ANY_OWNER] if query.owner_ids is None else query.owner_ids
    words = [
        _scope_word(query.kind, query.organization_id, role, owner)
        for owner in owners
        for role in roles
        if role in ROLES
    ]
    return f"({' OR '.join(words or [_ANY_OWNER])})"


def _tag_words(query: SearchQuery) -> list[str]:
    words = [_tag_word(tag) for tag in dict.fromkeys(query.tags)]
    return words if query.needs_all_tags or not words else [f"({' OR '.join(words)})"]


def _sought(word: str) -> str:
    # Within quotes FTS5 knows no operators, and words hold nothing but letters and digits.
    return f'"{word}" *' if len(word) == 1 and is_unspaced(word) else f'"{word}"'


def _filters(query: SearchQuery) -> tuple[list[str], list[object]]:
    filters: list[str] = []
    values: list[object] = []
    if query.start is not None:
        filters.append("d.created_at >= ?")
        values.append(micros(query.start))
    if query.end is not None:
        filters.append("d.created_at <= ?")
        values.append(micros(query.end))
    if query.conversation_id == "default":
        filters.append("d.conversation IS NULL")
    elif query.conversation_id is not None:
        filters.append("d.conversation = ?")
        values.append(packed(query.conversation_id))
    return filters, values


def _words(document: Document) -> str:
    """All that FTS5 is given. To take a document out it wants the very same."""
    kind, organization_id, role = document.kind, document.organization_id, document.role
    scope = _scope_word(kind, organization_id, role, document.owner_id)
    wide_scope = _scope_word(kind, organization_id, role, _ANY_OWNER)
    tags = "".join(f" {_tag_word(tag)}" for tag in document.tags)
    return f"{prepare(document.text)} {prepare(document.speaker or '')} {scope} {wide_scope}{tags}"


def _scope_word(kind: Kind, organization_id: str, role: str | None, owner_id: str) -> str:
    """Longer than the words of texts are cut to, so that none of them can pass for one; and the stemmer
    leaves alone what ends in a digit."""
    bare = f"{organization_id[-36:]}{owner_id[-36:]}".replace("-", "")
    return f"{_KINDS[kind]}{ROLES.get(role, 0)}{bare}0"


def _tag_word(tag: str) -> str:
    """Of the same kind: nobody can write it."""
    return f"t{hashlib.sha256(tag.encode()).hexdigest()}0"
