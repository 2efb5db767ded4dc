"""From a query to hits, the same for both engines: parse, look up, read, score, cut snippets.

An engine only says which documents have which of the words. Whether quoted words stand in a row, and how
well a document fits, shows in the text itself, which is read for the best few.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from remanence.core.ranking import Candidate, ScoreList, bm25, positions, rank, rarities
from remanence.core.search_text import Match, TextQuery, cut_snippet, find_terms, parse_query
from remanence.search.ports import Document, Hit, Kind, SearchQuery
from remanence.search.shelves import shelf

MAX_MATCHES = 2_000
"""That an engine looks at for one word, the latest first. It bounds the cost of a frequent word in a
long history; a rarer word beside it still finds what is older."""
_LEAST_LIKENESS: dict[Kind, float] = {"message": 0.0, "passage": -1.1}
"""The cosine that a hit without any of the words must have. Who asks an archive for the best five gets
five; a conversation is full of words about nothing."""
_UUID_END = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """An engine's answer: for each id the terms it has, as bits, and in how many documents each term is."""

    masks: dict[str, int]
    frequencies: list[int]


@dataclass(frozen=True, slots=True)
class Engine:
    """What differs between the databases."""

    look_up: Callable[[Connection, TextQuery, SearchQuery, int], Found]
    """Up to so many documents that pass the filters, have every word of the required terms, and one of any."""
    nearest: Callable[[Connection, SearchQuery, int], dict[str, float]]
    """Up to so many documents that pass the filters and are alike, by their cosines."""
    similarities: Callable[[Connection, SearchQuery, Sequence[str]], dict[str, float]]
    """The cosines of these documents, as far as they have vectors."""


def find(connection: Connection, query: SearchQuery, engine: Engine) -> list[Hit]:
    if query.limit < 1 or not _names_something(query):
        return []
    if not query.text.strip():
        newest = shelf(query.kind).list_newest(connection, query)
        return [Hit(each.id, 0.0, None, None, cut_snippet(each.text, ()), each) for each in newest]
    sought = parse_query(query.text)
    hits = _find_terms(connection, query, sought, engine)
    if not hits and sought.required:
        hits = _find_terms(connection, query, sought.relaxed(), engine)
    return hits


def _names_something(query: SearchQuery) -> bool:
    """False if no document can be meant: an engine would stumble over ids that are none."""
    named = [query.organization_id, *(query.owner_ids or ())]
    if query.conversation_id not in (None, "default"):
        named.append(query.conversation_id)
    return (query.owner_ids is None or len(query.owner_ids) > 0) and all(map(_UUID_END.search, named))


def _find_terms(connection: Connection, query: SearchQuery, sought: TextQuery, engine: Engine) -> list[Hit]:
    # More than are shown, because their texts have yet to speak. The index may also name some that are gone
    # or lack the quoted words in a row; if too few remain, more are fetched.
    count = 3 * query.limit + 20 + len(query.exclude_ids)
    while True:
        found = Found({}, [0] * len(sought.terms))
        if sought.terms and query.uses_words:
            found = engine.look_up(connection, sought, query, count)
        near = engine.nearest(connection, query, count) if query.vectors else {}
        wanted = [id for id in dict.fromkeys([*found.masks, *near]) if id not in query.exclude_ids]
        texts = _read(connection, query, sought, wanted)
        if len(texts) >= query.limit or max(len(found.masks), len(near)) < count:
            break
        count *= 4
    unknown = [id for id in texts if id not in near]
    if near and unknown:
        near |= engine.similarities(connection, query, unknown)
    return _rank(query, sought, found, near, texts)


def _read(
    connection: Connection, query: SearchQuery, sought: TextQuery, ids: list[str]
) -> dict[str, tuple[Document, list[Match]]]:
    texts: dict[str, tuple[Document, list[Match]]] = {}
    rows_of_words = {number for number, term in enumerate(sought.required) if len(term.words) > 1}
    for id, document in shelf(query.kind).load_visible(connection, query, ids).items():
        matches = find_terms(sought.terms, document.text)
        if rows_of_words <= {match.term for match in matches}:
            texts[id] = document, matches
    return texts


def _rank(
    query: SearchQuery,
    sought: TextQuery,
    found: Found,
    near: Mapping[str, float],
    texts: dict[str, tuple[Document, list[Match]]],
) -> list[Hit]:
    counts: dict[str, list[int]] = {}
    for id, (_, matches) in texts.items():
        seen = Counter(match.term for match in matches)
        mask = found.masks.get(id, 0)
        # The engine may know a form of a word that is not seen here.
        counts[id] = [max(seen[number], mask >> number & 1) for number in range(len(sought.terms))]
    lengths = {id: len(document.text) for id, (document, _) in texts.items()}
    words = bm25(counts, lengths, rarities(found.frequencies)) if query.uses_words else {}
    words = {id: score for id, score in words.items() if score > 0}
    meanings = {id: near[id] for id in texts if near.get(id, -2) > _LEAST_LIKENESS[query.kind]}
    by_words, by_meaning = positions(words), positions(meanings)
    candidates = [
        Candidate(id, document.created_at, _coverage(counts[id]) if not meanings else 1.0)
        for id, (document, _) in texts.items()
    ]
    hits: list[Hit] = []
    for each in rank(
        candidates, [ScoreList(words), ScoreList(meanings, floor=min([0.0, *meanings.values()]))]
    )[: query.limit]:
        document, matches = texts[each.id]
        snippet = cut_snippet(document.text, matches)
        hits.append(
            Hit(each.id, each.score, by_words.get(each.id), by_meaning.get(each.id), snippet, document)
        )
    return hits


def _coverage(counts: Sequence[int]) -> float:
    return sum(map(bool, counts)) / len(counts) if counts else 1.0
