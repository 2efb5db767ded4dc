"""From a query to hits, the same for both engines: parse, look up, read, score, cut snippets.

An engine only says which documents have which of the words. Whether quoted words stand in a row, and how
well a document fits, shows in the text itself, which is read for the best few.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlalchemy import Connection

from remanence.core.asked_dates import find_dates
from remanence.core.ranking import (
    ASKED_DATE,
    NAMED_SPEAKER,
    REPEATED,
    SAID_THEN,
    SIDE_WORD,
    bm25,
    ideal_bm25,
    length_prior,
    positions,
    rank,
    rarities,
    share_of_next,
    share_of_previous,
    weigh,
)
from remanence.core.search_text import (
    ROLE_NAMES,
    STOP_WORDS,
    Match,
    Term,
    TextQuery,
    asked_roles,
    cut_snippet,
    find_terms,
    parse_query,
    prepare,
    root,
)
from remanence.kit.clock import utc_now
from remanence.search.ports import Document, Hit, Kind, SearchQuery
from remanence.search.shelves import shelf

MAX_MATCHES = 2_000
"""That an engine looks at for one word, the latest first. It bounds the cost of a frequent word in a
long history; a rarer word beside it still finds what is older."""
_PER_HIT, _MORE = 2, 15
"""Candidates by words, and as many by meaning."""
_HEARD = 16
"""Of the best, whose neighbours are listened to."""
_LEAST_LIKENESS: dict[Kind, float] = {"message": 0.0, "passage": -1.1, "chunk": -1.1}
"""The cosine that a hit without any of the words must have. Who asks an archive for the best five gets
five; a conversation is full of words about nothing."""
_CAPITALISED = re.compile(r"\b[^\W\d_a-z][^\W\d_]+")
_MAX_NAMES = 4
_MAX_DATES = 2
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
    hits = _find_hits(connection, query, engine)
    return _with_neighbours(connection, query, hits) if query.shows_neighbours and hits else hits


def _find_hits(connection: Connection, query: SearchQuery, engine: Engine) -> list[Hit]:
    if not query.text.strip():
        newest = shelf(query.kind).list_newest(connection, query)
        return [Hit(each.id, 0.0, None, None, cut_snippet(each.text, ()), each) for each in newest]
    sought = parse_query(query.text)
    hits = _find_terms(connection, query, sought, engine)
    if not hits and sought.required:
        hits = _find_terms(connection, query, sought.relaxed(), engine)
    return hits


def _with_neighbours(connection: Connection, query: SearchQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Whoever said it and whenever that was: what stands beside a hit need not pass the filters."""
    beside = shelf(query.kind).load_neighbours(connection, [hit.document for hit in hits])
    ids = {id for both in beside.values() for id in both if id}
    anyone = replace(query, roles=None, start=None, end=None)
    texts = shelf(query.kind).load_visible(connection, anyone, list(ids))
    nobody = (None, None)
    found = [(hit, beside.get(hit.id, nobody)) for hit in hits]
    return [replace(hit, before=texts.get(a or ""), after=texts.get(b or "")) for hit, (a, b) in found]


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
            if any(plain in _names_in(each.speaker) for each in shown.values()):
                names.add(word)
    return names


@lru_cache(maxsize=1_000)
def _names_in(speaker: str | None) -> tuple[str, ...]:
    return tuple(prepare(speaker).split()) if speaker else ()


def _names_something(query: SearchQuery) -> bool:
    """False if no document can be meant: an engine would stumble over ids that are none."""
    named = [query.organization_id, *(query.owner_ids or ())]
    if query.conversation_id not in (None, "default"):
        named.append(query.conversation_id)
    return (query.owner_ids is None or len(query.owner_ids) > 0) and all(map(_UUID_END.search, named))


def _find_terms(connection: Connection, query: SearchQuery, sought: TextQuery, engine: Engine) -> list[Hit]:
    # More than are shown, because their texts have yet to speak. The index may also name some that are gone
    # or lack the quoted words in a row; if too few remain, more are fetched.
    count = _PER_HIT * query.limit + _MORE + len(query.exclude_ids)
    while True:
        found = Found({}, [0] * len(sought.terms))
        if sought.terms and query.uses_words:
            found = engine.look_up(connection, sought, query, count)
        near = engine.nearest(connection, query, count) if query.vectors else {}
        then = _said_then(connection, query, count)
        wanted = [id for id in dict.fromkeys([*found.masks, *near, *then]) if id not in query.exclude_ids]
        texts = _read(connection, query, sought, wanted)
        if len(texts) >= query.limit or max(len(found.masks), len(near)) < count:
            break
        count *= 4
    pool = Pool(query, sought, found, near, texts, frozenset(then))
    pool.weigh(engine, connection)
    if shelf(query.kind).has_order:
        pool.hear_neighbours(engine, connection)
    return pool.hits()


def _said_then(connection: Connection, query: SearchQuery, count: int) -> list[str]:
    """What was said on a day that the question names, whatever its words."""
    ids: list[str] = []
    for date in find_dates(query.text)[:_MAX_DATES]:
        span = date.span(utc_now())
        if span is not None:
            start, end = max(span[0], query.start or span[0]), min(span[1], query.end or span[1])
            day = replace(query, start=start, end=end, limit=count)
            ids += [each.id for each in shelf(query.kind).list_newest(connection, day)]
    return ids


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
        then: frozenset[str],
    ) -> None:
        self._then = then
        self._query = query
        self._sought = sought
        self._found = found
        self._near = near
        self._texts = texts
        self._roots = [root(term.pieces[0]) for term in sought.terms]
        self._counts: dict[str, list[int]] = {}
        self._asked = set(prepare(query.text).split())
        self._dates = find_dates(query.text)
        dated = set(prepare(" ".join(each.text for each in self._dates)).split())
        self._roles = asked_roles(self._asked)
        pairs = zip(sought.terms, rarities(found.frequencies), strict=True)
        beside = dated | ROLE_NAMES
        self._rarities = [each * (SIDE_WORD if term.pieces[0] in beside else 1) for term, each in pairs]
        self._is_about = len(sought.terms) > 1
        """There is more asked than who spoke."""
        self._words: dict[str, float] = {}
        self._scores: dict[str, float] = {}
        self._parts: dict[str, tuple[float, float]] = {}

    def weigh(self, engine: Engine, connection: Connection) -> None:
        """Works the scores out from the texts themselves."""
        unknown = [id for id in self._texts if id not in self._near]
        if self._query.vectors and unknown:
            self._near |= engine.similarities(connection, self._query, unknown)
        self._counts |= {id: self._count(id) for id in self._texts if id not in self._counts}
        lengths = {id: len(document.text) for id, (document, _) in self._texts.items()}
        self._words = bm25(self._counts, lengths, self._rarities) if self._query.uses_words else {}
        least = _LEAST_LIKENESS[self._query.kind]
        meanings = {id: self._near[id] for id in self._texts if self._near.get(id, -2) > least}
        self._parts = weigh(self._words, meanings, ideal=ideal_bm25(self._rarities))
        merged = {id: sum(parts) for id, parts in self._parts.items()}
        self._scores = {
            id: (max(score, SAID_THEN) if id in self._then else score) * self._prior(id)
            for id, score in merged.items()
            if score > 0 or id in meanings or id in self._then
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
        times: Counter[tuple[str, str | None, str]] = Counter()
        for each in rank(shown, moments):
            said = self._texts[each.id][0]
            same = (said.owner_id, said.role, said.text)
            shown[each.id] *= REPEATED ** times[same]
            times[same] += 1
        hits: list[Hit] = []
        for each in rank(shown, moments)[: self._query.limit]:
            document, matches = self._texts[each.id]
            snippet = cut_snippet(document.text, matches)
            places = by_words.get(each.id), by_meaning.get(each.id)
            hits.append(Hit(each.id, each.score, *places, snippet, document, self._word_share(each.id)))
        return hits

    def _word_share(self, id: str) -> float | None:
        by_words, by_meaning = (max(0.0, part) for part in self._parts.get(id, (0.0, 0.0)))
        return round(by_words / (by_words + by_meaning), 3) if by_words + by_meaning else None

    def _count(self, id: str) -> list[int]:
        """How often each term stands in a text. Who speaks is no part of what is said."""
        document, matches = self._texts[id]
        seen = Counter(match.term for match in matches)
        mask = self._found.masks.get(id, 0)
        names = {root(word) for word in _names_in(document.speaker)} if self._is_about else ()
        return [
            # The engine may know a form of a word that is not seen here.
            max(seen[number], 0 if wanted in names else mask >> number & 1)
            for number, wanted in enumerate(self._roots)
        ]

    def _prior(self, id: str) -> float:
        document = self._texts[id][0]
        if document.kind != "message":
            return 1.0
        is_then = any(date.fits(document.created_at) for date in self._dates)
        names = _names_in(document.speaker)
        is_named = document.role in self._roles or not self._asked.isdisjoint(names)
        prior = length_prior(document.text) * (NAMED_SPEAKER if is_named else 1.0)
        return prior * ASKED_DATE if is_then else prior
