"""Ranking what a search found. Pure and deterministic, and the same for every engine.

Engines say which documents have which words; how good a match is, is worked out here from the texts.
Scores of different kinds are normalised and summed, not fused by rank: how much better a hit is carries
information.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

COVERAGE_WEIGHT = 0.3
"""The part of its score that a hit loses when it has hardly any of the words asked for."""
SATURATION = 1.2
LENGTH_WEIGHT = 0.75
"""The two constants of BM25, at their usual values."""
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


@dataclass(frozen=True, slots=True)
class ScoreList:
    """What one search found: scores by id, any scale, more is better.

    `floor` is the least score the search could ever give (0 for BM25, -1 for a cosine), not the least
    it gave: the last hit of a good list is still a good one.
    """

    scores: Mapping[str, float]
    weight: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a hit besides its scores. `coverage`: the share of the query's words it has."""

    id: str
    created_at: datetime
    coverage: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    id: str
    score: float
    """From 0 to 1."""


def normalise(found: ScoreList) -> dict[str, float]:
    """Scores from 0 (the floor) to 1 (the best of the list)."""
    span = max(found.scores.values(), default=found.floor) - found.floor
    if span <= 0:
        return dict.fromkeys(found.scores, 0.0)
    return {id: min(1.0, max(0.0, (score - found.floor) / span)) for id, score in found.scores.items()}


def merge(lists: Sequence[ScoreList]) -> dict[str, float]:
    """The weighted mean of the normalised scores. A list that found nothing has no vote; one that found
    something says 0 of what it did not find."""
    voting = [found for found in lists if found.scores and found.weight > 0]
    total = sum(found.weight for found in voting)
    merged: dict[str, float] = {}
    for found in voting:
        for id, score in normalise(found).items():
            merged[id] = merged.get(id, 0.0) + score * found.weight / total
    return merged


def rank(candidates: Sequence[Candidate], lists: Sequence[ScoreList]) -> list[Ranked]:
    """Best first; of equals the newer, then by id. Candidates that no list knows are left out."""
    merged = merge(lists)
    scored = [
        (round(merged[each.id] * (1 - COVERAGE_WEIGHT * (1 - each.coverage)), _DIGITS), each)
        for each in candidates
        if each.id in merged
    ]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].created_at.timestamp(), pair[1].id))
    return [Ranked(each.id, score) for score, each in scored]


def positions(scores: Mapping[str, float]) -> dict[str, int]:
    """The place of each id in a list by itself, from 1; equals share a place."""
    place: dict[float, int] = {}
    for number, score in enumerate(sorted(scores.values(), reverse=True), start=1):
        place.setdefault(score, number)
    return {id: place[score] for id, score in scores.items()}
