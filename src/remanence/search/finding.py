"""From a query to hits, the same for both engines: parse, look up, read, score, cut snippets.

An engine only says which documents have which of the words. Whether quoted words stand in a row, and how
well a document fits, shows in the text itself, which is read for the best few.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from remanence.core.ranking import (
    NAMED_SPEAKER,
    bm25,
    fuse,
    ideal_bm25,
    length_prior,
    positions,
    rank,
    rarities,
    share_of_next,
    share_of_previous,
)
from remanence.core.search_text import (
    STOP_WORDS,
    Match,
    Term,
    TextQuery,
    cut_snippet,
    find_terms,
    parse_query,
    prepare,
    root,
)
from remanence.search.ports import Document, Hit, Kind, SearchQuery
from remanence.search.shelves import shelf

MAX_MATCHES = 2_000
"""That an engine looks at for one word, the latest first. It bounds the cost of a frequent word in a
long history; a rarer word beside it still finds what is older."""
_HEARD = 24
"""Of the best, whose neighbours are listened to."""
_LEAST_LIKENESS: dict[Kind, float] = {"message": 0.0, "passage": -1.1}
"""The cosine that a hit without any of the words must have. Who asks an archive for the best five gets
five; a conversation is full of words about nothing."""
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][^\W\d_]+")
_MAX_NAMES = 4
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


def find_speakers(connection: Connection, query: SearchQuery, engine: Engine) -> set[str]:
    """Those words of a question that name somebody who speaks in what is searched.

    They say by whom, not about what: every word of that person would be alike to the question.
    """
    names: set[str] = set()
    if not shelf(query.kind).has_order or not _names_something(query):
        return names
    for word in dict.fromkeys(_CAPITALISED.findall(query.text)[:_MAX_NAMES]):
        (plain, *_) = [*prepare(word).split(), ""]
        if plain and plain not in STOP_WORDS:
            found = engine.look_up(connection, TextQuery(optional=(Term((plain,)),)), query, 3)
            ids = list(found.masks)[:3]
            shown = shelf(query.kind).load_visible(connection, query, ids) if ids else {}
            if any(plain in prepare(each.speaker or "").split() for each in shown.values()):
                names.add(word)
    return names


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
    pool = Pool(query, sought, found, near, texts)
    pool.weigh(engine, connection)
    if shelf(query.kind).has_order:
        pool.hear_neighbours(engine, connection)
    return pool.hits()


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


class Pool:
    """The documents that one of them may be the answer, with all that speaks for each."""

    def __init__(
        self,
        query: SearchQuery,
        sought: TextQuery,
        found: Found,
        near: dict[str, float],
        texts: dict[str, tuple[Document, list[Match]]],
    ) -> None:
        self._query = query
        self._sought = sought
        self._found = found
        self._near = near
        self._texts = texts
        self._rarities = rarities(found.frequencies)
        self._asked = set(prepare(query.text).split())
        self._is_about = len(sought.terms) > 1
        """There is more asked than who spoke."""
        self._words: dict[str, float] = {}
        self._scores: dict[str, float] = {}

    def weigh(self, engine: Engine, connection: Connection) -> None:
        """Works the scores out from the texts themselves."""
        unknown = [id for id in self._texts if id not in self._near]
        if self._query.vectors and unknown:
            self._near |= engine.similarities(connection, self._query, unknown)
        counts = {id: self._count(id) for id in self._texts}
        lengths = {id: len(document.text) for id, (document, _) in self._texts.items()}
        self._words = bm25(counts, lengths, self._rarities) if self._query.uses_words else {}
        least = _LEAST_LIKENESS[self._query.kind]
        meanings = {id: self._near[id] for id in self._texts if self._near.get(id, -2) > least}
        merged = fuse(self._words, meanings, ideal=ideal_bm25(self._rarities))
        self._scores = {
            id: score * self._prior(id) for id, score in merged.items() if score > 0 or id in meanings
        }

    def hear_neighbours(self, engine: Engine, connection: Connection) -> None:
        """What was said before and after speaks for a short turn; most of all a question for its answer."""
        best = sorted(self._scores, key=lambda id: -self._scores[id])[:_HEARD]
        documents = [self._texts[id][0] for id in best]
        beside = shelf(self._query.kind).load_neighbours(connection, documents)
        ids = {id for before, after in beside.values() for id in (before, after) if id}
        fresh = [id for id in ids if id not in self._texts and id not in self._query.exclude_ids]
        if fresh:
            self._texts |= _read(connection, self._query, self._sought, fresh)
            self.weigh(engine, connection)
        own = dict(self._scores)
        pairs = {(before, id) for id, (before, _) in beside.items() if before}
        pairs |= {(id, after) for id, (_, after) in beside.items() if after}
        for before, after in pairs:
            if before not in self._texts or after not in self._texts:
                continue
            earlier, later = self._texts[before][0], self._texts[after][0]
            # Only an answer is a hit by its neighbour alone.
            if own.get(before) and (after in own or earlier.text.rstrip().endswith("?")):
                share = share_of_previous(earlier.text, later.text)
                self._scores[after] = self._scores.get(after, 0.0) + share * own[before]
            if own.get(after) and before in own:
                self._scores[before] += share_of_next(earlier.text) * own[after]

    def hits(self) -> list[Hit]:
        by_words = positions({id: score for id, score in self._words.items() if score > 0})
        by_meaning = positions({id: self._near[id] for id in self._texts if id in self._near})
        shown = {id: score for id, score in self._scores.items() if id in self._texts}
        moments = {id: self._texts[id][0].created_at for id in shown}
        hits: list[Hit] = []
        for each in rank(shown, moments)[: self._query.limit]:
            document, matches = self._texts[each.id]
            snippet = cut_snippet(document.text, matches)
            hits.append(
                Hit(each.id, each.score, by_words.get(each.id), by_meaning.get(each.id), snippet, document)
            )
        return hits

    def _count(self, id: str) -> list[int]:
        """How often each term stands in a text. Who speaks is no part of what is said."""
        document, matches = self._texts[id]
        seen = Counter(match.term for match in matches)
        mask = self._found.masks.get(id, 0)
        speaker = prepare(document.speaker or "") if self._is_about else ""
        names = {root(word) for word in speaker.split()}
        return [
            # The engine may know a form of a word that is not seen here.
            max(seen[number], 0 if root(term.pieces[0]) in names else mask >> number & 1)
            for number, term in enumerate(self._sought.terms)
        ]

    def _prior(self, id: str) -> float:
        document = self._texts[id][0]
        if document.kind != "message":
            return 1.0
        is_named = bool(document.speaker) and not self._asked.isdisjoint(
            prepare(document.speaker or "").split()
        )
        return length_prior(document.text) * (NAMED_SPEAKER if is_named else 1.0)
