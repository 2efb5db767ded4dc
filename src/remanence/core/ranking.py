"""Ranking what a search found. Pure and deterministic, and the same for every engine.

Engines say which documents have which words; how good a match is, is worked out here from the texts.
Scores of different kinds are normalised and summed, not fused by rank: how much better a hit is carries
information. The figures here were chosen with `evals/search.py`.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
"""The two constants of BM25, at their usual values."""
MEANING_WEIGHT = 0.5
_SURE_LIKENESS = 0.55
"""A cosine that leaves no doubt; where the best is less, none counts in full."""
NAMED_SPEAKER = 1.25
"""For what was said by whom the question names."""
ASKED_DATE = 1.3
"""For what was said when the question says."""
SAID_THEN = 0.1
"""At least, for what was said on the very day that is asked for."""
SIDE_WORD = 0.3
"""For words that say when and by whom: most who said it did not say that."""
_PARTLY = 1.5
"""The power to which the share of words found is taken: a text with one of three says little by it."""
REPEATED = 0.5
"""For what a better hit says in the same words, and once more for each further one."""
_USUAL_SHARE = 10
_DIGITS = 6
"""Differences beyond this are noise and must not decide an order."""


def rarities(frequencies: Sequence[int]) -> list[float]:
    """How much each word says, from the number of documents that have it.

    How many documents there are in all would take a count of all; that the most frequent word sought stands
    in every tenth is near enough, since stop words are not sought.
    """
    total = _USUAL_SHARE * max(frequencies, default=0)
    return [math.log(1 + total / frequency) if frequency else 0.0 for frequency in frequencies]


def choose_candidates(masks: Mapping[int, int], rarity: Sequence[float], count: int) -> dict[int, int]:
    """Those worth reading: the keys whose words say most, of equals the higher (later) keys.

    `masks` has a bit for each word that a document has; so has what is returned.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for key, mask in masks.items():
        groups[mask].append(key)
    worth = {mask: sum(value for number, value in enumerate(rarity) if mask >> number & 1) for mask in groups}
    chosen: dict[int, int] = {}
    for mask in sorted(groups, key=lambda mask: (-worth[mask], mask)):
        for key in sorted(groups[mask], reverse=True)[: count - len(chosen)]:
            chosen[key] = mask
        if len(chosen) >= count:
            break
    return chosen


def bm25(
    counts: Mapping[str, Sequence[int]], lengths: Mapping[str, int], rarity: Sequence[float]
) -> dict[str, float]:
    """Scores from how often each word stands in each document and how long the documents are."""
    usual = statistics.median(lengths.values()) if lengths else 0
    scores: dict[str, float] = {}
    for id, occurrences in counts.items():
        relative = lengths[id] / usual if usual else 1.0
        drag = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative)
        scores[id] = sum(
            value * occurred * (SATURATION + 1) / (occurred + drag)
            for value, occurred in zip(rarity, occurrences, strict=True)
        )
    return scores


def ideal_bm25(rarity: Sequence[float]) -> float:
    """What a text of usual length would get that has each word once."""
    return sum(rarity)


def fuse(words: Mapping[str, float], meanings: Mapping[str, float], *, ideal: float) -> dict[str, float]:
    """Words and meaning as one score from 0 to about 1."""
    return {id: sum(parts) for id, parts in weigh(words, meanings, ideal=ideal).items()}


def weigh(
    words: Mapping[str, float], meanings: Mapping[str, float], *, ideal: float
) -> dict[str, tuple[float, float]]:
    """What words and what meaning bring to the score of each.

    Words are measured against a text that has all of them, not against the best that was found: one
    frequent word of five must not outweigh what is meant. Without vectors words decide alone.
    """
    most = max([_SURE_LIKENESS, *meanings.values()])
    share = MEANING_WEIGHT if meanings else 0.0
    if not words:
        share = 1.0
    parts: dict[str, tuple[float, float]] = {}
    for id in {**words, **meanings}:
        by_words = (words.get(id, 0.0) / ideal) ** _PARTLY if ideal > 0 else 0.0
        parts[id] = (1 - share) * by_words, share * meanings.get(id, 0.0) / most
    return parts


def length_prior(text: str) -> float:
    """Turns of a word or two seldom answer anything."""
    return min(1.0, 0.55 + len(text) / 90)


def share_of_previous(previous: str, text: str) -> float:
    """How much of the score of the turn before counts for a turn: most where a short one answers a question."""
    brevity = min(1.0, 160 / max(1, len(text)))
    return (0.75 if previous.rstrip().endswith("?") else 0.3) * brevity


def share_of_next(text: str) -> float:
    return 0.15 * min(1.0, 160 / max(1, len(text)))


@dataclass(frozen=True, slots=True)
class Ranked:
    id: str
    score: float
    """From 0 to 1."""


def rank(scores: Mapping[str, float], moments: Mapping[str, datetime]) -> list[Ranked]:
    """Best first; of equals the newer, then by id."""
    rounded = [(round(min(1.0, max(0.0, score)), _DIGITS), score, id) for id, score in scores.items()]
    rounded.sort(key=lambda each: (-round(each[1], _DIGITS), -moments[each[2]].timestamp(), each[2]))
    return [Ranked(id, score) for score, _, id in rounded]


def positions(scores: Mapping[str, float]) -> dict[str, int]:
    """The place of each id in a list by itself, from 1; equals share a place."""
    place: dict[float, int] = {}
    for number, score in enumerate(sorted(scores.values(), reverse=True), start=1):
        place.setdefault(score, number)
    return {id: place[score] for id, score in scores.items()}
