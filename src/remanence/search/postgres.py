"""Search on PostgreSQL: a tsvector with a GIN index that says which documents have a word, and pgvector.

Texts come folded and parted by spaces, so its parser, which has its own mind about addresses, paths and
tags, is passed by: words go to the stemmer one by one.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from remanence.core.llm import EmbeddingConfig
from remanence.core.search_text import TextQuery, is_unspaced, prepare
from remanence.core.vector import Vector
from remanence.kit import json
from remanence.search import backlog
from remanence.search.finding import MAX_MATCHES, Engine, Found, find, find_speakers
from remanence.search.ports import ROLES, Document, Hit, Kind, SearchQuery
from remanence.search.postgres_filters import filters_of, tag_word, tags_of, uuid_of
from remanence.search.postgres_vectors import PostgresVectors

_KINDS: dict[Kind, int] = {"message": 1, "passage": 2, "chunk": 3}

# One statement for any number of rows: one round trip, prepared once.
_ADD = text("""
WITH waiting AS (
  INSERT INTO embedding_backlog (document_id, owner_id)
  SELECT * FROM unnest(CAST(:waiting AS text[]), CAST(:waiting_owner AS text[]))
  ON CONFLICT (document_id) DO UPDATE SET worker = NULL, alive_until = NULL, tries = 0
)
INSERT INTO search_documents (created_at, id, organization, owner, conversation, kind, role, words)
SELECT g.created_at, g.id, g.organization, g.owner, g.conversation, g.kind, g.role, array_to_tsvector(ARRAY(
  SELECT stem FROM unnest(string_to_array(g.words, ' ')) AS w (word), unnest(ts_lexize('search_stem', word)) AS stem
) || string_to_array(g.tags, ' '))
FROM unnest(
  CAST(:created_at AS timestamptz[]), CAST(:id AS uuid[]), CAST(:organization AS uuid[]), CAST(:owner AS uuid[]),
  CAST(:conversation AS uuid[]), CAST(:kind AS smallint[]), CAST(:role AS smallint[]), CAST(:words AS text[]), CAST(:tags AS text[])
) AS g (created_at, id, organization, owner, conversation, kind, role, words, tags)
ON CONFLICT (id) DO UPDATE SET
  created_at = excluded.created_at, organization = excluded.organization, owner = excluded.owner,
  conversation = excluded.conversation, kind = excluded.kind, role = excluded.role, words = excluded.words
""")
_DELETE = text("DELETE FROM search_documents WHERE id = ANY(CAST(:ids AS uuid[]))")
_FORGET = text("DELETE FROM search_documents WHERE owner = CAST(:owner AS uuid)")

# The latest matches of each term; of all of them those whose words say most (as `ranking.rarities` has it).
_MATCHES = """
WITH terms AS MATERIALIZED (
  SELECT number, (
    SELECT string_agg(quote_literal((ts_lexize('search_stem', trim(trailing '*' from word)))[1])
      || CASE WHEN right(word, 1) = '*' THEN ':*' ELSE '' END, ' & ')
    FROM unnest(string_to_array(term, ' ')) AS w (word)
  )::tsquery AS sought
  FROM unnest(CAST(:terms AS text[])) WITH ORDINALITY AS t (term, number)
), matches AS MATERIALIZED (
  SELECT t.number, m.id, m.created_at FROM terms AS t CROSS JOIN LATERAL (
    SELECT d.id, d.created_at FROM search_documents AS d WHERE d.words @@ t.sought AND {filters}
    ORDER BY d.created_at DESC LIMIT :most
  ) AS m
), frequencies AS (
  SELECT number, count(*) AS frequency FROM matches GROUP BY number
), rarities AS (
  SELECT number, ln(1 + 10.0 * max(frequency) OVER () / frequency) AS rarity FROM frequencies
)
SELECT m.id::text, sum(1::bigint << (number - 1)::int)::bigint AS mask,
  (SELECT json_object_agg(number, frequency)::text FROM frequencies) AS frequencies
FROM matches AS m JOIN rarities USING (number)
GROUP BY m.id, m.created_at ORDER BY sum(rarity) DESC, m.created_at DESC, m.id LIMIT :count
"""


class PostgresIndex:
    def __init__(self) -> None:
        self._vectors = PostgresVectors()
        self._engine = Engine(_look_up, self._vectors.nearest, self._vectors.similarities)

    def open(self, connection: Connection) -> None:
        self._vectors.open(connection)

    def index(self, connection: Connection, documents: Sequence[Document]) -> None:
        latest = list({document.id: document for document in documents}.values())
        if not latest:
            return
        has_vectors = self._vectors.is_there(connection)
        waiting = [each for each in latest if each.embedding is None and has_vectors]
        connection.execute(
            _ADD,
            {
                "created_at": [each.created_at for each in latest],
                "id": [uuid_of(each.id) for each in latest],
                "organization": [uuid_of(each.organization_id) for each in latest],
                "owner": [uuid_of(each.owner_id) for each in latest],
                "conversation": [each.conversation_id and uuid_of(each.conversation_id) for each in latest],
                "kind": [_KINDS[each.kind] for each in latest],
                "role": [ROLES.get(each.role, 0) for each in latest],
                "words": [f"{prepare(each.text)} {prepare(each.speaker or '')}".strip() for each in latest],
                "tags": [" ".join(map(tag_word, each.tags)) for each in latest],
                "waiting": [each.id for each in waiting],
                "waiting_owner": [each.owner_id for each in waiting],
            },
        )
        with_vectors = [each for each in latest if each.embedding is not None]
        if with_vectors and has_vectors:
            self._vectors.add(connection, with_vectors)

    def embed(self, connection: Connection, documents: Sequence[Document]) -> None:
        if documents and self._vectors.is_there(connection):
            self._vectors.add(connection, documents)

    def delete(self, connection: Connection, ids: Sequence[str]) -> None:
        if ids:
            connection.execute(_DELETE, {"ids": [uuid_of(id) for id in ids]})
            backlog.drop(connection, ids)
            if self._vectors.is_there(connection):
                self._vectors.delete(connection, ids)

    def forget(self, connection: Connection, owner_id: str) -> None:
        connection.execute(_FORGET, {"owner": uuid_of(owner_id)})
        backlog.drop_owner(connection, owner_id)
        if self._vectors.is_there(connection):
            self._vectors.forget(connection, owner_id)

    def vectors_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, Vector]:
        return self._vectors.vectors_of(connection, ids) if self._vectors.is_there(connection) else {}

    def models_for(self, connection: Connection, query: SearchQuery) -> dict[int, EmbeddingConfig]:
        return self._vectors.models_for(connection, query)

    def speakers_in(self, connection: Connection, query: SearchQuery) -> set[str]:
        return find_speakers(connection, query, self._engine)

    def query(self, connection: Connection, query: SearchQuery) -> list[Hit]:
        return find(connection, query, self._engine)


def _look_up(connection: Connection, sought: TextQuery, query: SearchQuery, count: int) -> Found:
    required = [_sought(word) for term in sought.required for word in term.words]
    terms = [" ".join(required)] * len(sought.required)
    terms += [" ".join([*required, _sought(term.words[0])]) for term in sought.optional]
    filters, values = filters_of(query, "d")
    filters += ["d.organization = CAST(:organization AS uuid)", "d.kind = :kind"]
    values |= {"organization": uuid_of(query.organization_id), "kind": _KINDS[query.kind]}
    if query.tags:
        filters.append("d.words @@ CAST(:tags AS tsquery)")
        values["tags"] = tags_of(query)
    statement = text(_MATCHES.format(filters=" AND ".join(filters)))
    most = max(count, MAX_MATCHES)
    rows = connection.execute(statement, {"terms": terms, "most": most, "count": count, **values}).all()
    frequencies = [0] * len(terms)
    for number, frequency in json.decode(rows[0].frequencies).items() if rows else ():
        frequencies[int(number) - 1] = frequency
    return Found({f"{query.kind}-{row.id}": row.mask for row in rows}, frequencies)


def _sought(word: str) -> str:
    return f"{word}*" if len(word) == 1 and is_unspaced(word) else word
